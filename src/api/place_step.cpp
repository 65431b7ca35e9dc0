#include "xflow/place_step.h"

#include "src/parallel/instance.h"
#include "src/policy/step_planning.h"
#include "src/support/exceptions.h"
#include "src/support/file.h"

namespace xflow {
namespace {

Result<PlacedStep> place_step_text(std::string_view text, const PlaceStepOptions& options, const std::string& where) {
  XFLOW_TRY(const parallel::PlacementInstance instance, parallel::read_instance(text, where));
  return policy::place_step(instance, options, where);
}

}  // namespace

Result<PlacedStep> place_step(std::string_view instance, const PlaceStepOptions& options) {
  return api::guarded<PlacedStep>([&] { return place_step_text(instance, options, "instance"); });
}

Result<PlacedStep> place_step_file(const std::string& path, const PlaceStepOptions& options) {
  return api::guarded<PlacedStep>([&]() -> Result<PlacedStep> {
    XFLOW_TRY(const auto file, onnx_io::FileBytes::open(path));
    return place_step_text(file->bytes(), options, path);
  });
}

}  // namespace xflow
