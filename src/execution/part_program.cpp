#include "src/execution/part_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/cost/cost_model.h"
#include "src/devices/cpu/footprint.h"
#include "src/onnx/document/fixed_inputs.h"
#include "src/search/run_limits.h"
#include "src/support/printable.h"

namespace xflow::execution {

using onnx_io::Document;

ir::Symbols::Valuation no_open_sizes() {
  return [](ir::SymbolId) { return std::optional<std::int64_t>(); };
}

Result<std::unique_ptr<PartProgram>> PartProgram::open(const std::string& path, const std::vector<std::string>& allow_external) {
  std::unique_ptr<PartProgram> part(new PartProgram());
  part->path_ = path;
  XFLOW_TRY(part->document_, Document::open(path, allow_external));
  return part;
}

Result<void> PartProgram::fix(std::span<const InputShape> inputs) {
  XFLOW_CHECK(onnx_io::fix_inputs(*document_, inputs));
  XFLOW_TRY(lifted_, onnx_io::lift(*document_, arena_, {.infer = true}));
  graph_.outputs.assign(lifted_.graph.outputs.begin(), lifted_.graph.outputs.begin() + static_cast<std::ptrdiff_t>(lifted_.output_count));
  for (const ir::NodeId id : ir::topological_order(arena_, graph_)) {
    const ir::Node& node = arena_.node(id);
    if (node.kind != ir::NodeKind::opaque) continue;
    if (node.serial >= document_->nodes().size())
      return fail(ErrorCode::unsupported, fmt::format("cannot run a constant of type {}", ir::name(node.outputs[0].data_type)), path_);
    const auto reason = std::ranges::find(lifted_.opaque, onnx_io::NodeId{node.serial}, &onnx_io::OpaqueNode::node);
    return fail(ErrorCode::unsupported,
                fmt::format("cannot run {}{}; if a shape is not known, split the model with option 'shapes'",
                            describe(*document_, onnx_io::NodeId{node.serial}),
                            reason == lifted_.opaque.end() ? "" : ": " + onnx_io::printable(reason->reason)),
                path_);
  }
  return check_sizes();
}

Result<void> PartProgram::check_sizes() {
  for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
    const ir::TensorType& type = arena_.type(graph_.outputs[k]);
    const auto dims = type.ranked ? ir::constant_shape(type.shape) : std::nullopt;
    const bool is_whole = ir::bits(type.data_type) >= 8;
    if (!dims || !is_whole)
      return fail(ErrorCode::unsupported,
                  fmt::format("output '{}' has the type {}, whose size is not known", onnx_io::printable(lifted_.output_names[k]),
                              ir::to_string(arena_.symbols(), type)),
                  path_);
    types_.push_back({type.data_type, *dims, false});
  }
  return {};
}

std::size_t PartProgram::bytes_of_run() const { return cost::cpu::bytes_of_run(arena_, graph_, no_open_sizes()); }

ops::TensorSpec PartProgram::type_of_input(std::string_view name) const {
  const auto position = std::ranges::find(lifted_.input_names, name) - lifted_.input_names.begin();
  const ir::TensorType& type = arena_.type(lifted_.inputs[static_cast<std::size_t>(position)]);
  return {type.data_type, ir::constant_shape(type.shape).value_or(std::vector<std::int64_t>()), false};
}

std::size_t PartProgram::position_of_output(std::string_view name) const {
  const auto& outputs = document_->main().outputs;
  return static_cast<std::size_t>(std::ranges::find(outputs, name, &onnx_io::ValueInfo::name) - outputs.begin());
}

Result<void> PartProgram::build(cost::cpu::CpuDevice& device, cost::Database& database) {
  const auto sizes = no_open_sizes();
  cost::CostModel costs(arena_, device, database, sizes);
  XFLOW_TRY(const std::vector<cost::CoveredLaunch> cover, costs.launches(graph_));
  cost::Plan plan = cost::make_plan(arena_, graph_, cover, sizes);
  if (!plan.refusals.empty()) return fail(ErrorCode::unsupported, "cannot run: " + plan.refusals[0], path_);
  cost::cpu::ProgramOptions options;
  options.most_bytes = static_cast<double>(api::machine_bytes());
  XFLOW_TRY(program_, cost::cpu::Program::build(device, arena_, std::move(plan), sizes, options));
  for (const onnx_io::ValueInfo& input : document_->main().inputs) {
    const onnx_io::Definition* definition = document_->find(document_->main().id, input.name);
    if (definition == nullptr || !definition->initializer) continue;
    XFLOW_TRY(ir::Constant value, document_->constant(document_->main().initializers[*definition->initializer].tensor));
    XFLOW_CHECK(write(input.name, eval::Tensor::of(std::move(value))));
  }
  return {};
}

Result<void> PartProgram::write(std::string_view input, const eval::Tensor& tensor) {
  const auto found = std::ranges::find(lifted_.input_names, input);
  if (found == lifted_.input_names.end()) return {};  // a constant of an old model
  const auto written = program_->write(lifted_.inputs[static_cast<std::size_t>(found - lifted_.input_names.begin())], tensor);
  if (written) return {};
  return fail(ErrorCode::unreadable, fmt::format("input '{}': {}", onnx_io::printable(input), written.error().message), path_);
}

std::vector<std::span<std::byte>> PartProgram::input_memory(std::string_view input) {
  const auto found = std::ranges::find(lifted_.input_names, input);
  if (found == lifted_.input_names.end()) return {};
  return program_->input_memory(lifted_.inputs[static_cast<std::size_t>(found - lifted_.input_names.begin())]);
}

}  // namespace xflow::execution
