// Kernels of oneDNN. No type of oneDNN is visible outside the folder dnnl, whose dnnl_library.cpp and
// dnnl_build.cpp catch its exceptions. A build without oneDNN uses the folder no_dnnl instead.
#pragma once

#include <xflow/error.h>

#include <memory>
#include <string>
#include <vector>

#include "src/devices/cpu/cpu_kernel.h"

namespace xflow::cost::cpu {

// oneDNN's engine and stream. oneDNN uses OpenMP; OpenMP's number of threads belongs to the calling thread.
class DnnlLibrary {
 public:
  // Error::unsupported if oneDNN cannot be set up.
  static Result<std::unique_ptr<DnnlLibrary>> open(int threads);
  virtual ~DnnlLibrary() = default;

  virtual const std::string& version() const = 0;          // "oneDNN 2.6.3"
  virtual const std::string& instruction_set() const = 0;  // "avx512_core"

  // Builds the kernel with operands in `layout` (Layout::any: oneDNN chooses), once for each variant that
  // oneDNN has: a residual may be added to the result in place, and a product with constant weights may use
  // the inner-product primitive. Error::unsupported, "cannot run ... here: ...", if oneDNN has no kernel, or
  // only its reference implementation where the loops are better.
  virtual Result<std::vector<std::unique_ptr<CpuKernel>>> build(const ops::KernelSpec& spec, Layout layout) = 0;

  // Sets the number of threads for oneDNN calls of the calling thread.
  virtual void use_threads() const = 0;
};

// Whether oneDNN can apply this step to a float running value within the launch of another kernel.
bool dnnl_has_step(const ops::StepFunction& step, std::size_t position);
// Whether oneDNN's resampling computes this "copy:resize/..." kernel.
bool dnnl_resamples(const ops::KernelSpec& spec);

}  // namespace xflow::cost::cpu
