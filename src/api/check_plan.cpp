#include "xflow/check_plan.h"

#include "src/onnx/document/device_annotations.h"
#include "src/onnx/document/document.h"
#include "src/parallel/plan_check.h"
#include "src/support/exceptions.h"

namespace xflow {

Result<PlanCheck> check_plan(const std::string& model, const CheckPlanOptions& options) {
  return api::guarded<PlanCheck>([&]() -> Result<PlanCheck> {
    XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(model, options.allow_external));
    XFLOW_TRY(const onnx_io::DeviceAnnotations annotations, read_device_annotations(document));
    return parallel::check_annotations(document, annotations);
  });
}

}  // namespace xflow
