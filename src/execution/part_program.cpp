#include "src/execution/part_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "src/cost/cost_model.h"
#include "src/devices/cpu/footprint.h"
#include "src/execution/cpu_part.h"
#include "src/execution/launch_order.h"
#include "src/execution/runner_part.h"
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

Result<void> PartProgram::fix(std::span<const InputShape> inputs, bool is_for_runner) {
  XFLOW_CHECK(onnx_io::fix_inputs(*document_, inputs));
  XFLOW_TRY(lifted_, onnx_io::lift(*document_, arena_, {.infer = true}));
  graph_.outputs.assign(lifted_.graph.outputs.begin(), lifted_.graph.outputs.begin() + static_cast<std::ptrdiff_t>(lifted_.output_count));
  if (!is_for_runner) XFLOW_CHECK(check_operators());
  return check_sizes();
}

Result<void> PartProgram::check_operators() const {
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
  return {};
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

Result<void> PartProgram::cover(cost::cpu::CpuDevice& device, cost::Database& database) {
  const auto sizes = no_open_sizes();
  cost::CostModel costs(arena_, device, database, sizes);
  XFLOW_TRY(cover_, costs.launches(graph_));
  plan_ = cost::make_plan(arena_, graph_, cover_, sizes);
  if (plan_.refusals.empty()) return {};
  return fail(ErrorCode::unsupported, "cannot run: " + plan_.refusals[0], path_);
}

Seconds PartProgram::complete_after(std::size_t output) const {
  Seconds time{};
  for (std::size_t launch = 0; launch < cost::complete_before(plan_, output); ++launch) time += plan_.launches[launch].predicted;
  return time;
}

Result<void> PartProgram::build(cost::cpu::CpuDevice& device, const Surroundings& surroundings) {
  cost::cpu::ProgramOptions options;
  options.most_bytes = static_cast<double>(api::machine_bytes());
  options.passing = surroundings.passing;
  std::unordered_map<ir::ValueId, std::size_t> arriving;
  for (std::size_t k = 0; k < lifted_.inputs.size(); ++k) {
    const auto arrival = surroundings.arrivals.find(lifted_.input_names[k]);
    if (arrival != surroundings.arrivals.end()) arriving.emplace(lifted_.inputs[k], arrival->second);
    const auto memory = surroundings.inputs.find(lifted_.input_names[k]);
    if (memory != surroundings.inputs.end()) options.inputs.emplace(lifted_.inputs[k], memory->second);
  }
  std::unordered_set<ir::ValueId> leaving;
  for (const std::string_view name : surroundings.sent) leaving.insert(graph_.outputs[position_of_output(name)]);
  order_launches(cover_, arriving, std::move(leaving));
  const auto sizes = no_open_sizes();
  plan_ = cost::make_plan(arena_, graph_, cover_, sizes);
  XFLOW_TRY(auto program, cost::cpu::Program::build(device, arena_, std::move(plan_), sizes, options));
  engine_ = cpu_part(std::move(program), lifted_, path_);
  for (const onnx_io::ValueInfo& input : document_->main().inputs) {
    const onnx_io::Definition* definition = document_->find(document_->main().id, input.name);
    if (definition == nullptr || !definition->initializer) continue;
    XFLOW_TRY(ir::Constant value, document_->constant(document_->main().initializers[*definition->initializer].tensor));
    XFLOW_CHECK(engine_->write(input.name, eval::Tensor::of(std::move(value))));
  }
  return {};
}

Result<void> PartProgram::load(cost::runner::Runner& runner, std::uint32_t number) {
  RunnerPartTypes types;
  for (std::size_t k = 0; k < lifted_.inputs.size(); ++k) {
    const ir::TensorType& type = arena_.type(lifted_.inputs[k]);
    const auto dims = type.ranked ? ir::constant_shape(type.shape) : std::nullopt;
    if (!dims || ir::bits(type.data_type) < 8)
      return fail(ErrorCode::unsupported,
                  fmt::format("input '{}' has the type {}, whose size is not known", onnx_io::printable(lifted_.input_names[k]),
                              ir::to_string(arena_.symbols(), type)),
                  path_);
    types.inputs.emplace_back(lifted_.input_names[k], ops::TensorSpec{type.data_type, *dims, false});
  }
  for (std::size_t k = 0; k < types_.size(); ++k) types.outputs.emplace_back(lifted_.output_names[k], types_[k]);
  XFLOW_TRY(engine_, runner_part(runner, number, path_, std::move(types)));
  return {};
}

}  // namespace xflow::execution
