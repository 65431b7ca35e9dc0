#include "src/parallel/split_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "src/kernels/node_launch.h"
#include "src/onnx/lower/lower.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"
#include "src/parallel/kernel_times.h"
#include "src/parallel/part_kernels.h"
#include "src/partition/split_axes.h"

namespace xflow::parallel {
namespace {

using ir::NodeId;
using ir::Poly;
using ir::ValueId;

bool is_product(const ir::Node& node) {
  return node.kind == ir::NodeKind::operation && (node.op == ops::id_of(ops::Op::Matmul) || node.op == ops::id_of(ops::Op::Conv));
}

// Whether the gradients of an operation do not depend on its operands.
bool is_linear(const ir::Arena& arena, const ir::Node& node) {
  static constexpr std::array kLinear = {
      ops::Op::Add,     ops::Op::AveragePool, ops::Op::Cast,     ops::Op::Concat, ops::Op::Cumsum,    ops::Op::DepthToSpace,
      ops::Op::Dropout, ops::Op::Expand,      ops::Op::Identity, ops::Op::Neg,    ops::Op::Pad,       ops::Op::ReduceMean,
      ops::Op::Reshape, ops::Op::ReduceSum,   ops::Op::Resize,   ops::Op::Slice,  ops::Op::Split,     ops::Op::SpaceToDepth,
      ops::Op::ShapeOf, ops::Op::Sub,         ops::Op::Tile,     ops::Op::Trilu,  ops::Op::Transpose, ops::Op::Gather};
  if (node.kind != ir::NodeKind::operation) return false;
  const auto is_number = [&](ValueId operand) {
    return !arena.is_absent(operand) && arena.node(operand).kind == ir::NodeKind::constant && arena.node(operand).constant.elements() == 1;
  };
  if (node.op == ops::id_of(ops::Op::Mul)) return std::ranges::any_of(node.operands, is_number);
  if (node.op == ops::id_of(ops::Op::Div)) return is_number(node.operands[1]);
  return std::ranges::any_of(kLinear, [&](ops::Op op) { return node.op == ops::id_of(op); });
}

}  // namespace

SplitModel::SplitModel(ir::Arena& arena, ir::Symbols::Valuation sizes, std::shared_ptr<PartPrograms> programs)
    : arena_(arena), sizes_(std::move(sizes)), programs_(std::move(programs)) {
  if (programs_ == nullptr) programs_ = std::make_shared<PartPrograms>(arena, sizes_);
}

class SplitModel::Builder {
 public:
  Builder(SplitModel& into, const ir::Graph& graph, std::vector<OperatorSource> sources)
      : into_(into), arena_(into.arena_), sources_(std::move(sources)), outputs_(graph.outputs.begin(), graph.outputs.end()) {
    for (std::uint32_t op = 0; op < sources_.size(); ++op)
      for (const NodeId id : sources_[op].operations) maker_.emplace(id, op);
  }

  Result<void> run() {
    add_operators();
    std::map<std::string, std::uint32_t> kinds;
    for (std::uint32_t op = 0; op < into_.operators_.size(); ++op) {
      const std::string text = text_of(into_.operators_[op]) + (sources_[op].is_kept ? "|kept" : "");
      const auto [found, is_new] = kinds.emplace(text, static_cast<std::uint32_t>(kinds.size()));
      into_.operators_[op].kind = found->second;
      if (!is_new) continue;
      into_.kinds_.emplace_back().first = op;
    }
    for (OperatorKind& kind : into_.kinds_) XFLOW_CHECK(analyse(kind));
    return {};
  }

 private:
  std::uint32_t value(ValueId id) {
    const auto [found, is_new] = into_.numbers_.emplace(id, static_cast<std::uint32_t>(into_.values_.size()));
    if (!is_new) return found->second;
    SplitValue made;
    made.id = id;
    made.is_constant = arena_.is_constant(id);
    made.is_output = outputs_.contains(id);
    made.is_floating = ir::is_floating(arena_.type(id).data_type);
    if (const auto maker = maker_.find(id.node); maker != maker_.end()) made.maker = maker->second;
    if (const auto tensor = cost::tensor_of(arena_, id, into_.sizes_)) {
      for (const std::int64_t dim : tensor->dims) made.whole.push_back({0, dim});
      made.is_sized = true;
      constexpr std::uint64_t kMany = 8;  // types of less than a byte
      made.element_bytes = static_cast<double>(ir::storage_bytes(tensor->data_type, kMany)) / static_cast<double>(kMany);
    }
    into_.values_.push_back(std::move(made));
    return found->second;
  }

  void add_operators() {
    for (const OperatorSource& source : sources_) {
      SplitOperator op;
      op.type = source.type;
      op.operations = source.operations;
      into_.operators_.push_back(std::move(op));
    }
    // The values that operators read, then the outputs of the model that nobody reads.
    std::set<ValueId> read;
    for (SplitOperator& op : into_.operators_) {
      std::set<ValueId> known;
      for (const NodeId id : op.operations) {
        op.is_product = op.is_product || is_product(arena_.node(id));
        op.keeps_operands = op.keeps_operands || !is_linear(arena_, arena_.node(id));
        for (const ValueId operand : arena_.node(id).operands) {
          if (arena_.is_absent(operand) || is_own(op, operand) || !known.insert(operand).second) continue;
          op.reads.push_back(value(operand));
          read.insert(operand);
        }
      }
    }
    tie();
    for (SplitOperator& op : into_.operators_) {
      for (const NodeId id : op.operations)
        for (std::uint32_t output = 0; output < arena_.node(id).outputs.size(); ++output)
          if (const ValueId own{id, output}; read.contains(own) || outputs_.contains(own)) op.outputs.push_back(value(own));
      // The last operation has the result of the node.
      std::ranges::reverse(op.outputs);
    }
  }
  // Finds weights that several operators read. Numbers are no weights.
  void tie() {
    std::vector<std::vector<std::uint32_t>> readers(into_.values_.size());
    for (std::uint32_t op = 0; op < into_.operators_.size(); ++op)
      for (const std::uint32_t read : into_.operators_[op].reads) readers[read].push_back(op);
    for (std::uint32_t value = 0; value < readers.size(); ++value) {
      SplitValue& own = into_.values_[value];
      if (!own.is_weight() || readers[value].size() < 2 || elements(own.whole) <= 1) continue;
      own.tied = std::move(readers[value]);
      into_.tied_values_.push_back(value);
    }
  }

  static bool is_own(const SplitOperator& op, ValueId operand) {
    return std::ranges::find(op.operations, operand.node) != op.operations.end();
  }

  std::string text_of(const SplitOperator& op) const {
    std::unordered_map<ValueId, std::string> names;
    std::string text = op.type;
    for (const std::uint32_t read : op.reads) {
      const SplitValue& own = into_.values_[read];
      names.emplace(own.id, fmt::format("r{}", names.size()));
      text += fmt::format("|{}{}{}", own.is_constant ? "c " : "", own.tied.empty() ? "" : "tied ", type_text(own.id));
    }
    for (const NodeId id : op.operations) {
      const ir::Node& node = arena_.node(id);
      text += node.kind == ir::NodeKind::opaque ? fmt::format("|opaque {}", node.serial)
                                                : fmt::format("|{} {}", node.local, ops::get(node.op).signature.name);
      for (const ValueId operand : node.operands) {
        // Powers with known exponents have kernels of their own.
        const bool is_number = arena_.is_constant(operand) && !arena_.is_absent(operand) &&
                               arena_.node(operand).kind == ir::NodeKind::constant && arena_.node(operand).constant.elements() == 1;
        text += " " + (arena_.is_absent(operand) ? "-" : names.at(operand)) + (is_number ? fmt::format("={}", arena_.hash(operand)) : "");
      }
      for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
        names.emplace(ValueId{id, output}, fmt::format("v{}", names.size()));
        text += " " + type_text({id, output});
      }
    }
    for (const std::uint32_t output : op.outputs) text += "|" + names.at(into_.values_[output].id);
    return text;
  }
  std::string type_text(ValueId id) const { return ir::to_string(arena_.symbols(), arena_.type(id)); }

  Result<void> analyse(OperatorKind& kind) {
    const SplitOperator& op = into_.operators_[kind.first];
    if (op.outputs.empty()) return {};
    const SplitValue& result = into_.values_[op.outputs[0]];
    if (into_.part(kind.first, result.whole, std::nullopt) == nullptr)
      return fail(ErrorCode::unsupported, fmt::format("{} has no time on a device of the cluster", sources_[kind.first].place));
    const bool is_opaque = std::ranges::any_of(op.operations, [&](NodeId id) { return arena_.node(id).kind == ir::NodeKind::opaque; });
    const bool is_kept = sources_[kind.first].is_kept;
    for (std::size_t d = 0; d < result.whole.size(); ++d) {
      OperatorAxis axis;
      if (is_opaque || is_kept)
        axis.obstacle = is_opaque ? "xflow does not know the operator" : "its sizes are known when it runs";
      else
        find_axis(op, d, axis);
      kind.axes.push_back(std::move(axis));
    }
    if (!is_opaque && !is_kept) find_reduction(op, kind);
    // What a part of an axis reads; an axis of which no part exists is none.
    for (std::size_t d = 0; d < kind.axes.size(); ++d) {
      OperatorAxis& axis = kind.axes[d];
      if (axis.blocks == 0) continue;
      Box box = result.whole;
      box[d].end = axis.block * (axis.blocks / 2);
      Box rest = result.whole;
      rest[d].begin = box[d].end;
      const PartWork* part = into_.part(kind.first, box, std::nullopt);
      if (part == nullptr || into_.part(kind.first, rest, std::nullopt) == nullptr) {
        axis = {};
        axis.obstacle = "parts do not fit their operands";
        continue;
      }
      note_followed(op, *part, axis);
    }
    if (kind.reduction.blocks > 0) {
      const Interval half{0, kind.reduction.blocks / 2};
      const PartWork* part = into_.part(kind.first, result.whole, half);
      if (part == nullptr)
        kind.reduction = {};
      else
        note_followed(op, *part, kind.reduction);
    }
    return {};
  }
  void note_followed(const SplitOperator& op, const PartWork& part, OperatorAxis& axis) const {
    for (std::uint32_t k = 0; k < op.reads.size(); ++k) {
      const Box& whole = into_.values_[op.reads[k]].whole;
      for (std::uint32_t d = 0; d < part.reads[k].size(); ++d)
        if (part.reads[k][d] != whole[d]) axis.follows.emplace_back(k, d);
    }
  }

  // The least multiple at which parts of a dimension of a value may begin; 0, with the obstacle, if there
  // are none.
  std::int64_t block_of(const SplitOperator& op, ValueId value, std::size_t dimension, OperatorAxis& of) {
    if (!is_own(op, value)) return 1;
    std::string& why = of.obstacle;
    why = into_.programs_->obstacle(value, dimension);
    if (!why.empty()) {
      why = fmt::format("{}: {}", ops::get(arena_.node(value).op).signature.name, why);
      return 0;
    }
    const partition::SplitAxis& axis = into_.programs_->axes(value)[dimension];
    std::int64_t block = *into_.programs_->number(axis.block);
    for (const partition::FollowedDimension& own : axis.followed) {
      const ValueId operand = arena_.node(value).operands[static_cast<std::size_t>(own.operand)];
      const std::int64_t inner = block_of(op, operand, static_cast<std::size_t>(own.dimension), of);
      const auto stride = into_.programs_->number(own.stride);
      if (inner == 0 || !stride) return 0;
      if (inner == 1) continue;
      if (own.overlaps() || !own.low.is_zero()) {
        why = "parts of its operations do not meet";
        return 0;
      }
      block *= inner / std::gcd(inner, *stride);
    }
    for (const partition::JoinedOperand& own : axis.joined) {
      of.is_joined = true;
      const ValueId operand = arena_.node(value).operands[static_cast<std::size_t>(own.operand)];
      const std::int64_t inner = block_of(op, operand, static_cast<std::size_t>(own.dimension), of);
      if (inner == 1) continue;
      if (inner > 1) why = "parts of its operations do not meet";
      return 0;
    }
    return block;
  }
  void find_axis(const SplitOperator& op, std::size_t dimension, OperatorAxis& axis) {
    const SplitValue& result = into_.values_[op.outputs[0]];
    const std::int64_t block = block_of(op, result.id, dimension, axis);
    if (block == 0) return;
    const std::int64_t size = result.whole[dimension].end;
    if (size % block != 0 || size / block < 2) {
      axis.obstacle = size < 2 ? "its size is 1" : "it is one block";
      return;
    }
    axis.block = block;
    axis.blocks = size / block;
  }

  // The reduction of the only product of the operator; without a product, that of the only operation that
  // has one, and whose result is as large as that of the operator.
  void find_reduction(const SplitOperator& op, OperatorKind& kind) {
    const auto products = std::ranges::count_if(op.operations, [&](NodeId id) { return is_product(arena_.node(id)); });
    if (products > 1) return;
    std::optional<OperatorKind> reduced;
    for (std::size_t position = 0; position < op.operations.size(); ++position) {
      const ir::Node& node = arena_.node(op.operations[position]);
      OperatorKind own = kind;
      if (node.outputs.size() != 1 || is_product(node) != (products == 1)) continue;
      if (!note_reduction({op.operations[position], 0}, position, own)) continue;
      if (reduced) return;
      reduced = std::move(own);
    }
    if (!reduced) return;
    const auto sum = into_.programs_->whole({op.operations[reduced->reduced], 0});
    if (products == 1 || (sum && elements(*sum) == elements(into_.values_[op.outputs[0]].whole))) kind = *std::move(reduced);
  }
  bool note_reduction(ValueId value, std::size_t position, OperatorKind& kind) const {
    const auto& axes = into_.programs_->axes(value);
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (!axes[a].is_reduction() || !into_.programs_->obstacle(value, a).empty()) continue;
      kind.reduction.blocks = into_.programs_->number(axes[a].blocks).value_or(0);
      if (kind.reduction.blocks < 2) continue;
      kind.reduced = position;
      kind.reduced_axis = a;
      kind.reduction_kind = axes[a].kind;
      return true;
    }
    return false;
  }

  SplitModel& into_;
  const ir::Arena& arena_;
  const std::vector<OperatorSource> sources_;
  std::unordered_map<NodeId, std::uint32_t> maker_;
  const std::unordered_set<ValueId> outputs_;
};

Result<std::unique_ptr<SplitModel>> SplitModel::of(ir::Arena& arena, const ir::Graph& graph, std::vector<OperatorSource> operators,
                                                   const ir::Symbols::Valuation& sizes, std::span<cost::KernelCosts* const> costs,
                                                   std::shared_ptr<PartPrograms> programs) {
  std::unique_ptr<SplitModel> made(new SplitModel(arena, sizes, std::move(programs)));
  for (cost::KernelCosts* own : costs) {
    auto found = std::ranges::find(made->sources_, own);
    made->source_of_.push_back(static_cast<std::uint32_t>(found - made->sources_.begin()));
    if (found == made->sources_.end()) made->sources_.push_back(own);
  }
  XFLOW_CHECK(Builder(*made, graph, std::move(operators)).run());
  return made;
}

const PartWork* SplitModel::part(std::uint32_t number, const Box& output, const std::optional<Interval>& terms) {
  const SplitOperator& op = operators_[kinds_[operators_[number].kind].first];
  std::vector<std::int64_t> key = {static_cast<std::int64_t>(op.kind), terms ? terms->begin : -1, terms ? terms->end : -1};
  for (const Interval& own : output) {
    key.push_back(own.begin);
    key.push_back(own.end);
  }
  auto found = parts_.find(key);
  if (found == parts_.end()) found = parts_.emplace(std::move(key), make_part(op, output, terms)).first;
  return found->second ? &*found->second : nullptr;
}

double SplitModel::seconds_of(cost::KernelCosts& costs, const ops::KernelSpec& spec, std::uint32_t op) {
  if (spec.is(ops::KernelFamily::none)) return 0;
  const cost::DatabaseEntry* entry = &cost_of(costs, spec);
  if (!entry->ran) {
    note_estimate(op, entry->ran.reason);
    double bytes = 0;
    for (const auto* tensors : {&spec.operands, &spec.results})
      for (const ops::TensorSpec& tensor : *tensors) {
        std::uint64_t count = 1;
        for (const std::int64_t dim : tensor.dims) count *= static_cast<std::uint64_t>(dim);
        bytes += static_cast<double>(ir::storage_bytes(tensor.data_type, count));
      }
    entry = &cost_of(costs, stand_in(bytes));
  }
  return entry->ran ? entry->cost.median.count() / kNanosecondsPerSecond : -1;
}

double SplitModel::update_seconds(std::uint32_t source, double count) {
  const auto rounded = static_cast<std::int64_t>(count);
  const auto [found, is_new] = updates_.try_emplace({source, rounded}, 0);
  if (is_new) {
    const ops::TensorSpec tensor{ir::DataType::float32, {std::max<std::int64_t>(1, rounded)}, false};
    found->second = std::max(0.0, seconds_of(*sources_[source], ops::pointwise_spec(ops::Op::Sub, {tensor, tensor}, tensor), 0));
  }
  return found->second;
}

std::optional<PartProgram> SplitModel::program(std::uint32_t number, const Box& output, const std::optional<Interval>& terms) {
  const SplitOperator& op = operators_[number];
  const Box& result = values_[op.outputs[0]].whole;
  std::vector<std::pair<ValueId, Box>> results;
  for (const std::uint32_t other : op.outputs) {
    const SplitValue& own = values_[other];
    Box box = own.whole;
    for (std::size_t d = 0; d < result.size(); ++d) {
      if (output[d] == result[d]) continue;
      // Other results are split along the same dimension.
      if (own.whole.size() != result.size() || own.whole[d] != result[d]) return std::nullopt;
      box[d] = output[d];
    }
    results.emplace_back(own.id, std::move(box));
  }
  std::optional<PartTerms> reduced;
  if (terms) reduced = PartTerms{kinds_[op.kind].reduced, kinds_[op.kind].reduced_axis, *terms};
  return programs_->program(op.operations, results, reduced);
}

void SplitModel::note_estimate(std::uint32_t op, const std::string& reason) {
  const std::pair noted(op, reason);
  if (std::ranges::find(estimated_, noted) == estimated_.end()) estimated_.push_back(noted);
}

bool SplitModel::add_times(const SplitOperator& op, const PartStep& step, PartWork& work) {
  const ir::Node& node = arena_.node(step.node);
  const std::uint32_t first = kinds_[op.kind].first;
  auto kernels = node.kind == ir::NodeKind::opaque ? Result<std::vector<ops::KernelSpec>>(fail(ErrorCode::unsupported, "it is opaque"))
                                                   : part_kernels(arena_, sizes_, step, opset_);
  if (!kernels && step.part) return false;
  if (!kernels) {
    note_estimate(first, kernels.error().message);
    double bytes = 0;
    for (const ValueId operand : node.operands)
      if (!arena_.is_absent(operand)) bytes += bytes_of(arena_, operand, sizes_).value_or(0);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) bytes += bytes_of(arena_, {step.node, k}, sizes_).value_or(0);
    kernels = std::vector<ops::KernelSpec>{stand_in(bytes)};
  }
  return std::ranges::all_of(*kernels, [&](const ops::KernelSpec& spec) { return add_time(first, spec, is_product(node), work); });
}

bool SplitModel::add_time(std::uint32_t first, const ops::KernelSpec& spec, bool is_product, PartWork& work) {
  if (!spec.is(ops::KernelFamily::none)) ++work.kernels;
  std::vector<ops::KernelSpec> gradients;
  if (spec.is(ops::KernelFamily::product) && spec.operands.size() == 2) gradients = gradient_products(spec);
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    const double own = seconds_of(*sources_[source], spec, first);
    if (own < 0) return false;
    work.seconds[source] += own;
    // The gradients of a convolution are those of its operands, each a convolution of about the same work.
    if (gradients.empty()) work.backward[source] += (is_product ? 2 : 1) * own;
    for (const ops::KernelSpec& gradient : gradients)
      work.backward[source] += std::max(0.0, seconds_of(*sources_[source], gradient, first));
  }
  return true;
}

bool SplitModel::can_combine(const SplitOperator& op) const {
  if (!opset_) return true;
  const OperatorKind& kind = kinds_[op.kind];
  ir::Arena scratch(arena_.shared_symbols());
  const ValueId part = scratch.input(arena_.type({op.operations[kind.reduced], 0}), 0);
  const auto made = ops::apply(scratch, partition::combining_operator(kind.reduction_kind), {part, part});
  return made && onnx_io::can_export(scratch, made->node, *opset_);
}

// Divides the seconds of terms of a reduction into those up to the sum and those of what follows it.
bool SplitModel::divide_times(const SplitOperator& op, const PartProgram& program, PartWork& work) {
  const SummedProgram divided = divided_at_sum(arena_, program, op.operations[kinds_[op.kind].reduced]);
  if (divided.after.steps.empty()) return true;
  const auto seconds_of_steps = [&](const PartProgram& own) {
    PartWork made;
    made.seconds.assign(sources_.size(), 0);
    made.backward.assign(sources_.size(), 0);
    for (const PartStep& step : own.steps)
      if (!add_times(op, step, made)) return std::vector<double>();
    return made.seconds;
  };
  work.seconds = seconds_of_steps(divided.terms);
  work.after = seconds_of_steps(divided.after);
  return !work.seconds.empty() && !work.after.empty();
}

std::optional<PartWork> SplitModel::make_part(const SplitOperator& op, const Box& output, const std::optional<Interval>& terms) {
  const auto made = program(kinds_[op.kind].first, output, terms);
  if (!made || (terms && !can_combine(op))) return std::nullopt;
  PartWork work;
  work.seconds.assign(sources_.size(), 0);
  work.backward.assign(sources_.size(), 0);
  for (const PartStep& step : made->steps)
    if (!add_times(op, step, work)) return std::nullopt;
  work.after.assign(sources_.size(), 0);
  if (terms && !divide_times(op, *made, work)) return std::nullopt;
  for (const std::uint32_t number : op.reads) {
    const auto box = made->boxes.find(values_[number].id);
    work.reads.push_back(box == made->boxes.end() ? Box() : box->second);
  }
  for (const std::uint32_t number : op.outputs) work.outputs.push_back(made->boxes.at(values_[number].id));
  return work;
}

}  // namespace xflow::parallel
