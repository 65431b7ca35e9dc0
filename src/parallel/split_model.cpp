#include "src/parallel/split_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "src/kernels/node_launch.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"
#include "src/parallel/kernel_times.h"
#include "src/parallel/model_tasks.h"
#include "src/partition/part.h"
#include "src/partition/split_axes.h"
#include "src/partition/split_proof.h"
#include "src/verifier/proof/proof.h"

namespace xflow::parallel {
namespace {

using ir::NodeId;
using ir::Poly;
using ir::ValueId;

bool is_product(const ir::Node& node) {
  return node.kind == ir::NodeKind::operation && (node.op == ops::id_of(ops::Op::Matmul) || node.op == ops::id_of(ops::Op::Conv));
}

// The hull of two boxes.
void widen(Box& box, const Box& other) {
  for (std::size_t k = 0; k < box.size(); ++k) {
    box[k].begin = std::min(box[k].begin, other[k].begin);
    box[k].end = std::max(box[k].end, other[k].end);
  }
}

bool is_proved(Result<rules::RuleInstance> claim) {
  if (!claim) return false;
  // No time limit: the limits on steps alone end a proof, so that its result is the same in every run.
  verifier::Proof proof(*claim, verifier::Options{});
  return !proof.unguarded_division() && !proof.failed_obligation() && proof.run();
}

}  // namespace

double elements(const Box& box) {
  double product = 1;
  for (const Interval& own : box) product *= static_cast<double>(own.size());
  return product;
}

bool contains(const Box& whole, const Box& part) {
  for (std::size_t k = 0; k < whole.size(); ++k)
    if (part[k].begin < whole[k].begin || part[k].end > whole[k].end) return false;
  return true;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box box(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    box[k] = {std::max(a[k].begin, b[k].begin), std::min(a[k].end, b[k].end)};
    if (box[k].size() <= 0) return std::nullopt;
  }
  return box;
}

// The splits of single operations.
struct SplitModel::Analysis {
  Analysis(ir::Arena& of, const ir::Symbols::Valuation& at) : arena(of), sizes(at) {}

  ir::Arena& arena;
  const ir::Symbols::Valuation& sizes;
  std::map<std::pair<NodeId, std::uint32_t>, std::vector<partition::SplitAxis>> axes_of;
  std::map<std::tuple<NodeId, std::uint32_t, std::size_t>, bool> decided;
  std::size_t claims = 0;
  std::size_t proved = 0;
  std::unordered_map<ValueId, std::uint32_t> values;

  const std::vector<partition::SplitAxis>& axes(ValueId value) {
    const auto [found, is_new] = axes_of.try_emplace({value.node, value.output});
    if (is_new) found->second = partition::split_axes(arena, value.node, static_cast<int>(value.output));
    return found->second;
  }
  std::optional<std::int64_t> number(const Poly& poly) const { return arena.symbols().evaluate(poly, sizes); }

  // Why the axis of the operation that makes `value` is no split; empty if its splits are proved.
  std::string obstacle(ValueId value, std::size_t axis) {
    const partition::SplitAxis& own = axes(value)[axis];
    if (own.obstacle) return *own.obstacle;
    if (!number(own.block) || !number(own.blocks)) return "its size is not known";
    const auto [found, is_new] = decided.try_emplace({value.node, value.output, axis}, false);
    if (is_new) found->second = decide(value, axis);
    return found->second ? "" : "the verifier does not prove the split";
  }
  bool decide(ValueId value, std::size_t axis) {
    const auto output = static_cast<int>(value.output);
    const auto& all = axes(value);
    const auto claim = [&](Result<rules::RuleInstance> instance) {
      ++claims;
      const bool holds = is_proved(std::move(instance));
      proved += holds ? 1 : 0;
      return holds;
    };
    if (all[axis].is_reduction()) return claim(partition::reduction_claim(arena, value.node, output, all, axis));
    for (const auto position : {partition::PartPosition::first, partition::PartPosition::middle, partition::PartPosition::last}) {
      const bool has_middle = number(all[axis].blocks).value_or(0) > 2;
      if (position == partition::PartPosition::middle && !has_middle) continue;
      const std::vector<partition::PlacedAxis> placed = {{axis, position}};
      if (!claim(partition::part_claim(arena, value.node, output, all, placed))) return false;
    }
    return true;
  }
};

SplitModel::SplitModel(ir::Arena& arena, ir::Symbols::Valuation sizes)
    : arena_(arena), sizes_(std::move(sizes)), analysis_(std::make_unique<Analysis>(arena, sizes_)) {}
SplitModel::~SplitModel() = default;

class SplitModel::Builder {
 public:
  Builder(const onnx_io::Document& document, const onnx_io::LiftedModel& model, SplitModel& into)
      : document_(document), model_(model), into_(into), arena_(into.arena_), tasks_(tasks_of(document, model, into.arena_)) {}

  Result<void> run() {
    for (const onnx_io::OpaqueNode& node : model_.opaque) opaque_.emplace(node.node, node.reason);
    outputs_.insert(model_.graph.outputs.begin(), model_.graph.outputs.end());
    add_operators();
    std::map<std::string, std::uint32_t> kinds;
    for (std::uint32_t op = 0; op < into_.operators_.size(); ++op) {
      const auto [found, is_new] = kinds.emplace(text_of(into_.operators_[op]), static_cast<std::uint32_t>(kinds.size()));
      into_.operators_[op].kind = found->second;
      if (!is_new) continue;
      into_.kinds_.emplace_back().first = op;
    }
    for (OperatorKind& kind : into_.kinds_) XFLOW_CHECK(analyse(kind));
    into_.claims_ = into_.analysis_->claims;
    into_.proved_ = into_.analysis_->proved;
    return {};
  }

 private:
  std::uint32_t value(ValueId id) {
    const auto [found, is_new] = into_.analysis_->values.emplace(id, static_cast<std::uint32_t>(into_.values_.size()));
    if (!is_new) return found->second;
    SplitValue made;
    made.id = id;
    const auto name = model_.names.find(id);
    if (name != model_.names.end()) made.name = name->second;
    made.is_constant = arena_.is_constant(id);
    made.is_output = outputs_.contains(id);
    made.is_floating = ir::is_floating(arena_.type(id).data_type);
    if (const auto task = tasks_.task_of.find(id.node); task != tasks_.task_of.end()) made.maker = task->second;
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
    for (std::uint32_t task = 0; task < tasks_.nodes.size(); ++task) {
      SplitOperator op;
      op.task = task;
      op.node = tasks_.nodes[task];
      op.type = document_.node(op.node).op_type;
      into_.operators_.push_back(std::move(op));
    }
    for (const NodeId id : tasks_.order)
      if (const auto task = tasks_.task_of.find(id); task != tasks_.task_of.end()) into_.operators_[task->second].operations.push_back(id);
    // The values that operators read, then the outputs of the model that nobody reads.
    std::set<ValueId> read;
    for (SplitOperator& op : into_.operators_) {
      std::set<ValueId> known;
      for (const NodeId id : op.operations) {
        op.is_product = op.is_product || is_product(arena_.node(id));
        for (const ValueId operand : arena_.node(id).operands) {
          if (arena_.is_absent(operand) || is_own(op, operand) || !known.insert(operand).second) continue;
          op.reads.push_back(value(operand));
          read.insert(operand);
        }
      }
    }
    for (SplitOperator& op : into_.operators_) {
      for (const NodeId id : op.operations)
        for (std::uint32_t output = 0; output < arena_.node(id).outputs.size(); ++output)
          if (const ValueId own{id, output}; read.contains(own) || outputs_.contains(own)) op.outputs.push_back(value(own));
      // The last operation has the result of the node.
      std::ranges::reverse(op.outputs);
    }
  }
  bool is_own(const SplitOperator& op, ValueId operand) const {
    const auto task = tasks_.task_of.find(operand.node);
    return task != tasks_.task_of.end() && task->second == op.task;
  }

  std::string text_of(const SplitOperator& op) const {
    std::unordered_map<ValueId, std::string> names;
    std::string text = op.type;
    for (const std::uint32_t read : op.reads) {
      const SplitValue& own = into_.values_[read];
      names.emplace(own.id, fmt::format("r{}", names.size()));
      text += fmt::format("|{}{}", own.is_constant ? "c " : "", type_text(own.id));
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
      return fail(ErrorCode::unsupported, fmt::format("{} has no time on a device of the cluster", describe(document_, op.node)));
    const auto opaque = std::ranges::find_if(op.operations, [&](NodeId id) { return arena_.node(id).kind == ir::NodeKind::opaque; });
    for (std::size_t d = 0; d < result.whole.size(); ++d) {
      OperatorAxis axis;
      if (opaque != op.operations.end())
        axis.obstacle = "xflow does not know the operator";
      else
        find_axis(op, d, axis);
      kind.axes.push_back(std::move(axis));
    }
    if (opaque == op.operations.end()) find_reduction(op, kind);
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

  // The least multiple at which parts of a dimension of a value may begin; 0, with the reason, if there are
  // none.
  std::int64_t block_of(const SplitOperator& op, ValueId value, std::size_t dimension, std::string& why) {
    if (!is_own(op, value)) return 1;
    why = into_.analysis_->obstacle(value, dimension);
    if (!why.empty()) {
      why = fmt::format("{}: {}", ops::get(arena_.node(value).op).signature.name, why);
      return 0;
    }
    const partition::SplitAxis& axis = into_.analysis_->axes(value)[dimension];
    std::int64_t block = *into_.analysis_->number(axis.block);
    for (const partition::FollowedDimension& own : axis.followed) {
      const ValueId operand = arena_.node(value).operands[static_cast<std::size_t>(own.operand)];
      const std::int64_t inner = block_of(op, operand, static_cast<std::size_t>(own.dimension), why);
      const auto stride = into_.analysis_->number(own.stride);
      if (inner == 0 || !stride) return 0;
      if (inner == 1) continue;
      if (own.overlaps() || !own.low.is_zero()) {
        why = "parts of its operations do not meet";
        return 0;
      }
      block *= inner / std::gcd(inner, *stride);
    }
    return block;
  }
  void find_axis(const SplitOperator& op, std::size_t dimension, OperatorAxis& axis) {
    const SplitValue& result = into_.values_[op.outputs[0]];
    const std::int64_t block = block_of(op, result.id, dimension, axis.obstacle);
    if (block == 0) return;
    const std::int64_t size = result.whole[dimension].end;
    if (size % block != 0 || size / block < 2) {
      axis.obstacle = size < 2 ? "its size is 1" : "it is one block";
      return;
    }
    axis.block = block;
    axis.blocks = size / block;
  }

  // The reduction of the only product of the operator.
  void find_reduction(const SplitOperator& op, OperatorKind& kind) {
    const auto products = std::ranges::count_if(op.operations, [&](NodeId id) { return is_product(arena_.node(id)); });
    const auto found = std::ranges::find_if(op.operations, [&](NodeId id) { return is_product(arena_.node(id)); });
    if (products != 1) return;
    const auto& axes = into_.analysis_->axes({*found, 0});
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].kind != partition::AxisKind::sum || !into_.analysis_->obstacle({*found, 0}, a).empty()) continue;
      const std::int64_t terms = into_.analysis_->number(axes[a].blocks).value_or(0);
      if (terms < 2) continue;
      kind.reduction.blocks = terms;
      kind.reduced = static_cast<std::size_t>(found - op.operations.begin());
      return;
    }
  }

  const onnx_io::Document& document_;
  const onnx_io::LiftedModel& model_;
  SplitModel& into_;
  const ir::Arena& arena_;
  const ModelTasks tasks_;
  std::map<onnx_io::NodeId, std::string> opaque_;
  std::unordered_set<ValueId> outputs_;
};

Result<std::unique_ptr<SplitModel>> SplitModel::of(const onnx_io::Document& document, const onnx_io::LiftedModel& model, ir::Arena& arena,
                                                   const ir::Symbols::Valuation& sizes, std::span<cost::KernelCosts* const> costs) {
  std::unique_ptr<SplitModel> made(new SplitModel(arena, sizes));
  for (cost::KernelCosts* own : costs) {
    auto found = std::ranges::find(made->sources_, own);
    made->source_of_.push_back(static_cast<std::uint32_t>(found - made->sources_.begin()));
    if (found == made->sources_.end()) made->sources_.push_back(own);
  }
  XFLOW_CHECK(Builder(document, model, *made).run());
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
    const std::pair noted(op, entry->ran.reason);
    if (std::ranges::find(estimated_, noted) == estimated_.end()) estimated_.push_back(noted);
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

namespace {

// A part of one operation: its kernel, and the kernels of its gradients.
class PartKernels {
 public:
  PartKernels(ir::Arena& arena, const ir::Symbols::Valuation& sizes, NodeId id)
      : arena_(arena), sizes_(sizes), node_(arena.node(id)), id_(id) {}

  // With operands of these sizes; nullptr: the whole operation.
  Result<ops::KernelSpec> forward(const partition::PartOperation* part, const std::vector<Box>& operands) {
    if (part == nullptr) {
      XFLOW_TRY(cost::NodeLaunch launch, cost::kernel_of(arena_, id_, sizes_));
      return std::move(launch.spec);
    }
    ir::Arena scratch(arena_.shared_symbols());
    std::vector<ValueId> made;
    for (std::size_t k = 0; k < node_.operands.size(); ++k) made.push_back(operand(scratch, k, operands[k]));
    ir::Attributes attributes;
    for (const ir::Attribute& attribute : part->attributes.list()) {
      ir::AttributeValue value = attribute.value;
      if (auto* poly = std::get_if<Poly>(&value)) {
        XFLOW_CHECK(evaluate(*poly));
      } else if (auto* list = std::get_if<std::vector<Poly>>(&value)) {
        for (Poly& own : *list) XFLOW_CHECK(evaluate(own));
      }
      attributes.set(attribute.name, std::move(value));
    }
    ops::Typing typing(scratch.symbols());
    XFLOW_TRY(const NodeId id, ops::apply(scratch, typing, node_.op, made, std::move(attributes)));
    XFLOW_TRY(cost::NodeLaunch launch, cost::kernel_of(scratch, id, sizes_));
    for (std::size_t k = 0; k < launch.operands.size(); ++k) {
      const auto at = std::ranges::find(made, launch.operands[k]) - made.begin();
      launch.spec.operands[k].constant = arena_.is_constant(node_.operands[static_cast<std::size_t>(at)]);
    }
    return std::move(launch.spec);
  }

  // The products with transposed operands of a matrix product a[.., M, K] b[.., K, N]: dy bT and aT dy.
  std::vector<ops::KernelSpec> transposed_products(const ops::KernelSpec& forward) const {
    const auto& a = forward.operands[0].dims;
    const auto& b = forward.operands[1].dims;
    const auto& y = forward.results[0].dims;
    std::vector<ops::KernelSpec> made;
    if (a.size() < 2 || b.size() < 2) return made;
    const std::int64_t m = a[a.size() - 2];
    const std::int64_t k = a.back();
    const std::int64_t n = b.back();
    const std::int64_t rows = std::accumulate(a.begin(), a.end() - 1, std::int64_t{1}, std::multiplies<>());
    const bool is_flat = b.size() == 2;
    const auto batched = [&](std::int64_t first, std::int64_t second) {
      std::vector<std::int64_t> dims(y.begin(), y.end() - 2);
      dims.insert(dims.end(), {first, second});
      return dims;
    };
    const ir::DataType type = forward.results[0].data_type;
    const auto add = [&](std::vector<std::int64_t> left, std::vector<std::int64_t> right) {
      ir::Arena scratch;
      const ValueId x = scratch.input({type, true, ir::polys(left)}, 0);
      const ValueId w = scratch.input({type, true, ir::polys(right)}, 1);
      const auto product = ops::apply(scratch, "matmul", {x, w});
      if (!product) return;
      if (auto launch = cost::kernel_of(scratch, product->node, [](ir::SymbolId) { return std::nullopt; }))
        made.push_back(std::move(launch->spec));
    };
    if (is_flat) {
      add({rows, n}, {n, k});
      add({k, rows}, {rows, n});
    } else {
      add(batched(m, n), batched(n, k));
      add(batched(k, m), batched(m, n));
    }
    return made;
  }

 private:
  ValueId operand(ir::Arena& scratch, std::size_t k, const Box& box) {
    const ValueId from = node_.operands[k];
    if (arena_.is_absent(from)) return scratch.absent();
    const ir::Node& maker = arena_.node(from);
    if (maker.kind == ir::NodeKind::constant && maker.constant.elements() == 1) return scratch.constant(maker.constant);
    ir::TensorType type = arena_.type(from);
    for (std::size_t d = 0; d < box.size(); ++d) type.shape[d] = box[d].size();
    return scratch.input(std::move(type), static_cast<std::uint32_t>(k));
  }
  Result<void> evaluate(Poly& poly) const {
    if (poly.is_constant()) return {};
    const auto known = arena_.symbols().evaluate(poly, sizes_);
    if (!known) return fail(ErrorCode::unsupported, "an attribute is not known");
    poly = *known;
    return {};
  }

  ir::Arena& arena_;
  const ir::Symbols::Valuation& sizes_;
  const ir::Node& node_;
  const NodeId id_;
};

// Finds what each operation of a part has to compute, from the result backwards.
class PartDemands {
 public:
  PartDemands(ir::Arena& arena, const ir::Symbols::Valuation& sizes) : arena_(arena), sizes_(sizes) {}

  void ask(ValueId value, const Box& box) {
    const auto [found, is_new] = boxes_.emplace(value, box);
    if (!is_new) widen(found->second, box);
  }
  const Box* find(ValueId value) const {
    const auto found = boxes_.find(value);
    return found == boxes_.end() ? nullptr : &found->second;
  }
  std::optional<Box> whole(ValueId value) const {
    const auto tensor = cost::tensor_of(arena_, value, sizes_);
    if (!tensor) return std::nullopt;
    Box box;
    for (const std::int64_t dim : tensor->dims) box.push_back({0, dim});
    return box;
  }

 private:
  ir::Arena& arena_;
  const ir::Symbols::Valuation& sizes_;
  std::unordered_map<ValueId, Box> boxes_;
};

}  // namespace

std::optional<PartWork> SplitModel::make_part(const SplitOperator& op, const Box& output, const std::optional<Interval>& terms) {
  PartDemands demands(arena_, sizes_);
  const Box& result = values_[op.outputs[0]].whole;
  for (const std::uint32_t number : op.outputs) {
    const SplitValue& own = values_[number];
    Box box = own.whole;
    for (std::size_t d = 0; d < result.size(); ++d) {
      if (output[d] == result[d]) continue;
      if (own.whole.size() != result.size() || own.whole[d] != result[d]) return std::nullopt;
      box[d] = output[d];
    }
    demands.ask(own.id, box);
  }
  PartWork work;
  work.seconds.assign(sources_.size(), 0);
  work.backward.assign(sources_.size(), 0);
  for (std::size_t position = op.operations.size(); position-- > 0;) {
    const NodeId id = op.operations[position];
    const ir::Node& node = arena_.node(id);
    const bool is_reduced = terms && position == kinds_[op.kind].reduced;
    std::optional<partition::PartOperation> part;
    bool is_asked = false;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId value{id, k};
      const Box* box = demands.find(value);
      if (box == nullptr) continue;
      const auto whole = demands.whole(value);
      std::vector<partition::AxisPart> parts;
      if (node.kind == ir::NodeKind::operation && whole) {
        const auto& axes = analysis_->axes(value);
        for (std::size_t d = 0; d < box->size(); ++d) {
          if ((*box)[d] == (*whole)[d]) continue;
          if (!analysis_->obstacle(value, d).empty()) return std::nullopt;
          const std::int64_t block = *analysis_->number(axes[d].block);
          if ((*box)[d].begin % block != 0 || (*box)[d].end % block != 0) return std::nullopt;
          parts.push_back(
              {d, Poly((*box)[d].begin / block), Poly((*box)[d].size() / block), (*box)[d].begin == 0, (*box)[d].end == (*whole)[d].end});
        }
        for (std::size_t a = box->size(); is_reduced && a < axes.size(); ++a) {
          if (axes[a].kind != partition::AxisKind::sum || axes[a].obstacle) continue;
          const bool is_last = terms->end == analysis_->number(axes[a].blocks);
          parts.push_back({a, Poly(terms->begin), Poly(terms->size()), terms->begin == 0, is_last});
          break;
        }
        if (!parts.empty()) {
          auto made = partition::part_operation(arena_, id, axes, parts);
          if (!made) return std::nullopt;
          const bool differs = is_asked && (!part || made->ranges != part->ranges || !(made->attributes == part->attributes));
          if (differs) return std::nullopt;
          part = *std::move(made);
        }
      }
      if (is_asked && parts.empty() && part) return std::nullopt;
      is_asked = true;
    }
    if (!is_asked) continue;
    // The ranges of the operands.
    std::vector<Box> operands(node.operands.size());
    double bytes = 0;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      if (arena_.is_absent(node.operands[k])) continue;
      auto whole = demands.whole(node.operands[k]);
      if (!whole) continue;
      operands[k] = *std::move(whole);
      for (const partition::OperandRange& range : part ? part->ranges : std::vector<partition::OperandRange>()) {
        if (range.operand != static_cast<int>(k)) continue;
        const auto start = analysis_->number(range.start);
        const auto size = analysis_->number(range.size);
        Interval& own = operands[k][static_cast<std::size_t>(range.dimension)];
        if (!start || !size || *start < 0 || *size < 1 || *start + *size > own.end) return std::nullopt;
        own = {*start, *start + *size};
      }
      demands.ask(node.operands[k], operands[k]);
      bytes += bytes_of(arena_, node.operands[k], sizes_).value_or(0);
    }
    PartKernels kernels(arena_, sizes_, id);
    Result<ops::KernelSpec> spec = node.kind == ir::NodeKind::opaque ? Result<ops::KernelSpec>(fail(ErrorCode::unsupported, "it is opaque"))
                                                                     : kernels.forward(part ? &*part : nullptr, operands);
    if (!spec && part) return std::nullopt;
    if (!spec) {
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) bytes += bytes_of(arena_, {id, k}, sizes_).value_or(0);
      const std::pair noted(kinds_[op.kind].first, spec.error().message);
      if (std::ranges::find(estimated_, noted) == estimated_.end()) estimated_.push_back(noted);
      spec = stand_in(bytes);
    }
    std::vector<ops::KernelSpec> gradients;
    if (spec->is(ops::KernelFamily::product) && spec->operands.size() == 2) gradients = kernels.transposed_products(*spec);
    const double repeats = is_product(node) ? 2 : 1;
    for (std::size_t source = 0; source < sources_.size(); ++source) {
      const double own = seconds_of(*sources_[source], *spec, kinds_[op.kind].first);
      if (own < 0) return std::nullopt;
      work.seconds[source] += own;
      if (gradients.size() == 2) {
        for (const ops::KernelSpec& gradient : gradients)
          work.backward[source] += std::max(0.0, seconds_of(*sources_[source], gradient, kinds_[op.kind].first));
      } else {
        work.backward[source] += repeats * own;
      }
    }
  }
  for (const std::uint32_t number : op.reads) {
    const Box* box = demands.find(values_[number].id);
    work.reads.push_back(box == nullptr ? Box() : *box);
  }
  for (const std::uint32_t number : op.outputs) work.outputs.push_back(*demands.find(values_[number].id));
  return work;
}

}  // namespace xflow::parallel
