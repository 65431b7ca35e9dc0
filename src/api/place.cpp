#include "xflow/place.h"

#include "src/parallel/instance.h"
#include "src/parallel/place.h"
#include "src/policy/policy_placement.h"
#include "src/support/exceptions.h"
#include "src/support/file.h"

namespace xflow {
namespace {

constexpr const char* kInstance = "instance";
constexpr const char* kSplit = "split";

Result<PlacementResult> place_text(std::string_view text, const PlaceOptions& options, const std::string& where) {
  XFLOW_TRY(const parallel::PlacementInstance instance, parallel::read_instance(text, where));
  return policy::place(instance, options, where);
}

Result<PlacementResult> evaluate_texts(std::string_view text, const std::string& where, std::string_view split,
                                       const std::string& split_where, PlacementObjective objective) {
  XFLOW_TRY(const parallel::PlacementInstance instance, parallel::read_instance(text, where));
  XFLOW_TRY(const parallel::NodeDevices devices, parallel::read_split(split, instance, split_where));
  return parallel::evaluate(instance, devices, objective, split_where);
}

}  // namespace

Result<PlacementResult> place(std::string_view instance, const PlaceOptions& options) {
  return api::guarded<PlacementResult>([&] { return place_text(instance, options, kInstance); });
}

Result<PlacementResult> place_file(const std::string& path, const PlaceOptions& options) {
  return api::guarded<PlacementResult>([&]() -> Result<PlacementResult> {
    XFLOW_TRY(const auto file, onnx_io::FileBytes::open(path));
    return place_text(file->bytes(), options, path);
  });
}

Result<PlacementResult> evaluate_split(std::string_view instance, std::string_view split, PlacementObjective objective) {
  return api::guarded<PlacementResult>([&] { return evaluate_texts(instance, kInstance, split, kSplit, objective); });
}

Result<PlacementResult> evaluate_split_files(const std::string& instance, const std::string& split, PlacementObjective objective) {
  return api::guarded<PlacementResult>([&]() -> Result<PlacementResult> {
    XFLOW_TRY(const auto file, onnx_io::FileBytes::open(instance));
    XFLOW_TRY(const auto split_file, onnx_io::FileBytes::open(split));
    return evaluate_texts(file->bytes(), instance, split_file->bytes(), split, objective);
  });
}

}  // namespace xflow
