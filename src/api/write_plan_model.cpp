#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "src/onnx/document/device_annotations.h"
#include "src/onnx/document/document.h"
#include "src/onnx/document/document_writer.h"
#include "src/parallel/placed_nodes.h"
#include "src/parallel/plan_check.h"
#include "src/support/exceptions.h"
#include "src/support/printable.h"
#include "xflow/simulate.h"

namespace xflow {
namespace {

// The devices of the nodes of the main graph. Errors: invalid_argument if the nodes are not those of the
// model.
Result<parallel::DeviceOfNode> devices_of(const onnx_io::Document& document, const SimulationResult& result) {
  parallel::DeviceOfNode devices;
  const auto nodes = document.nodes(document.main().id);
  for (const PlannedNode& planned : result.nodes) {
    const bool fits = planned.number < nodes.size() && nodes[planned.number].op_type == planned.operator_name &&
                      (planned.name.empty() || nodes[planned.number].name == planned.name) && planned.device < result.devices.size();
    if (!fits) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("the step is of another model: it has node {} ({})", planned.number, onnx_io::printable(planned.operator_name)),
          document.origin().name);
    }
    devices.emplace(nodes[planned.number].id, static_cast<std::uint32_t>(planned.device));
  }
  return devices;
}

Result<void> write_plan(const std::string& model, const SimulationResult& result, const std::string& out,
                        const std::vector<std::string>& allow_external) {
  if (result.divided)
    return fail(ErrorCode::invalid_argument, "the plan divides nodes; it is that of the model, which has it already", model);
  XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(model, allow_external));
  XFLOW_TRY(const parallel::DeviceOfNode devices, devices_of(document, result));
  onnx_io::DeviceConfiguration configuration{result.cluster, static_cast<std::int64_t>(result.devices.size())};
  for (const SimulatedDevice& device : result.devices) configuration.devices.push_back(device.name);
  const auto annotations = parallel::placement_annotations(document, std::move(configuration), devices);
  XFLOW_TRY(const onnx_io::Document plan, parallel::annotated_document(document, annotations));
  XFLOW_CHECK(write_document(plan, {}, out));
  return {};
}

}  // namespace

Result<void> write_plan_model(const std::string& model, const SimulationResult& result, const std::string& out,
                              const std::vector<std::string>& allow_external) {
  return api::guarded<void>([&] { return write_plan(model, result, out, allow_external); });
}

}  // namespace xflow
