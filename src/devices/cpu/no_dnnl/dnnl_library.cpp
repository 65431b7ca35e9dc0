// For builds without oneDNN, in which the CPU is not a device.
#include "src/devices/cpu/dnnl_library.h"

namespace xflow::cost::cpu {

Result<std::unique_ptr<DnnlLibrary>> DnnlLibrary::open(int /*threads*/) {
  return fail(ErrorCode::unsupported, "this xflow was built without oneDNN");
}

bool dnnl_has_step(const ops::StepFunction& /*step*/, std::size_t /*position*/) { return false; }
bool dnnl_resamples(const ops::KernelSpec& /*spec*/) { return false; }

}  // namespace xflow::cost::cpu
