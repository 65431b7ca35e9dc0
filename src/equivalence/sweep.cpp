#include "src/equivalence/sweep.h"

#include <algorithm>
#include <chrono>

#include "src/ops/operator.h"

namespace xflow::equivalence {
namespace {

using ir::NodeId;
using ir::ValueId;

// A value of A corresponds to one of B if no element differs by more than this share of the largest one.
constexpr double kClose = 1e-5;
// Proofs are tried with so many values of A.
constexpr int kMostCandidates = 3;

using Clock = std::chrono::steady_clock;

verifier::Deadline earlier(const verifier::Deadline& deadline, double seconds) {
  const auto moment = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  return verifier::Deadline(
      std::min(moment, deadline.moment()), [deadline] { return deadline.is_over(); }, false);
}

}  // namespace

Sweep::Sweep(ir::Arena& arena, const ir::Graph& first, Constants& constants, Values& values, const SameFunction& same_function,
             SweepOptions options)
    : Rebuild(arena),
      constants_(constants),
      values_(values),
      same_function_(same_function),
      options_(std::move(options)),
      order_(ir::topological_order(arena, first)),
      prover_(arena, known_, constants) {
  std::unordered_set<ValueId> seen;
  const auto note = [&](ValueId value) {
    if (arena.is_constant(value) && !arena.is_absent(value) && seen.insert(value).second) constants_of_a_.push_back(value);
  };
  for (const NodeId id : order_) {
    const ir::Node& node = arena.node(id);
    if (node.is_constant) continue;
    known_.insert(id);
    std::ranges::for_each(node.operands, note);
  }
  std::ranges::for_each(first.outputs, note);
}

Result<ValueId> Sweep::constant(ValueId value) {
  if (options_.deadline.is_over()) return value;
  XFLOW_TRY(const ValueId folded, constants_.folded(value));
  if (std::ranges::find(constants_of_a_, folded) != constants_of_a_.end()) return folded;
  for (const ValueId candidate : constants_of_a_) {
    XFLOW_TRY(const ValueId reshaped, with_shape_of(folded, candidate));
    XFLOW_TRY(const std::optional<Rounding> rounding, constants_.rounding(reshaped, folded));
    if (!rounding) continue;
    if (rounding->difference > 0) rounded_.push_back({candidate, value, *rounding});
    return reshaped;
  }
  return folded;
}

// A constant expression of A with the shape of another constant; itself if it has another number of
// elements.
Result<ValueId> Sweep::with_shape_of(ValueId other, ValueId constant) {
  const ir::Constant& from = arena().node(constant).constant;
  const ir::Constant& to = arena().node(other).constant;
  const auto expression = constants_.expression(constant);
  if (!expression || from.dims == to.dims || from.elements() != to.elements() || from.data_type != to.data_type) return constant;
  XFLOW_TRY(const ValueId reshaped, ops::apply(arena(), "reshape", {*expression}, {{"shape", ir::polys(to.dims)}}));
  return constants_.folded(reshaped);
}

Result<NodeId> Sweep::opaque(NodeId id, std::vector<ValueId> operands) {
  const ir::Node& node = arena().node(id);
  for (const NodeId of_a : order_) {
    const ir::Node& candidate = arena().node(of_a);
    if (candidate.kind != ir::NodeKind::opaque || candidate.outputs.size() < node.outputs.size()) continue;
    if (options_.deadline.is_over() || !same_function_({candidate.serial, candidate.operands}, {node.serial, operands})) continue;
    assumed_.push_back(candidate.serial);
    return of_a;
  }
  return Rebuild::opaque(id, std::move(operands));
}

// Equates the outputs with those of an operation of the first model that has the operands in the other
// order.
bool Sweep::swapped(NodeId id, NodeId now) {
  const ir::Node& node = arena().node(now);
  if (node.kind != ir::NodeKind::operation || node.operands.size() != 2 || !ops::get(node.op).signature.commutative) return false;
  const auto other = ops::apply(arena(), ops::get(node.op).signature.name, {node.operands[1], node.operands[0]}, node.attributes);
  if (!other || !is_known(*other)) return false;
  equate({id, 0}, *other);
  return true;
}

const ValueIndex& Sweep::index() {
  if (indexed_) return index_;
  indexed_ = true;
  for (const NodeId id : order_) {
    const ir::Node& node = arena().node(id);
    if (node.is_constant) continue;
    for (std::uint32_t k = 0; k < node.outputs.size() && !options_.deadline.is_over(); ++k)
      if (const eval::Tensor* tensor = values_.at({id, k})) index_.add({id, k}, *tensor);
  }
  return index_;
}

// Values of A that are this tensor in the run, then those reshaped, then ranges of values of A.
std::vector<ValueId> Sweep::candidates_for(ValueId value, const eval::Tensor& tensor, const ValueIndex& known) {
  const ir::Shape shape = arena().type(value).shape;
  std::vector<ValueId> candidates;
  std::vector<ValueId> reshaped;
  for (const ValueId candidate : known.near(tensor)) {
    const eval::Tensor& other = *values_.at(candidate);
    if (!arena().type(candidate).ranked || !Values::are_close(other, tensor, kClose)) continue;
    if (other.dims == tensor.dims) {
      candidates.push_back(candidate);
    } else if (const auto made = ops::apply(arena(), "reshape", {candidate}, {{"shape", shape}})) {
      reshaped.push_back(*made);
    }
  }
  candidates.insert(candidates.end(), reshaped.begin(), reshaped.end());
  for (auto id = order_.rbegin(); id != order_.rend() && candidates.empty(); ++id) {
    for (std::uint32_t k = 0; k < arena().node(*id).outputs.size(); ++k) {
      const ValueId whole{*id, k};
      const eval::Tensor* other = arena().is_constant(whole) ? nullptr : values_.at(whole);
      const auto range = other == nullptr ? std::nullopt : find_range(tensor, *other, kClose);
      if (!range) continue;
      if (const auto made = range_of(whole, *range, shape)) candidates.push_back(*made);
    }
  }
  return candidates;
}

// The range of a value of A, with this shape.
Result<ValueId> Sweep::range_of(ValueId whole, const Range& range, const ir::Shape& shape) {
  ir::Shape sizes = arena().type(whole).shape;
  sizes[range.axis] = range.lacks_axis ? ir::Poly(1) : shape[range.axis];
  std::vector<ir::Poly> starts(sizes.size(), ir::Poly(0));
  starts[range.axis] = ir::Poly(range.start);
  const std::vector<ir::Poly> steps(sizes.size(), ir::Poly(1));
  XFLOW_TRY(const ValueId part, ops::apply(arena(), "slice", {whole}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}}));
  if (!range.lacks_axis) return part;
  return ops::apply(arena(), "reshape", {part}, {{"shape", shape}});
}

void Sweep::prove(ValueId from, ValueId value) {
  const ValueIndex& known = index();
  const eval::Tensor* tensor = values_.at(value);
  if (tensor == nullptr) return;
  const std::vector<ValueId> candidates = candidates_for(value, *tensor, known);
  std::optional<SweptPart> failed;
  for (std::size_t k = 0; k < candidates.size() && k < kMostCandidates && !options_.deadline.is_over(); ++k) {
    const auto start = Clock::now();
    SweptPart part{candidates[k], from, prover_.prove(candidates[k], value, earlier(options_.deadline, options_.part_seconds))};
    part.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (part.decision.verdict == Verdict::proved) {
      equate(from, candidates[k]);
      known_.insert(candidates[k].node);
      if (part.decision.rounding) rounded_.push_back({candidates[k], from, *part.decision.rounding});
      parts_.push_back(std::move(part));
      return;
    }
    if (!failed) failed = std::move(part);
  }
  if (failed) parts_.push_back(*std::move(failed));
}

Result<void> Sweep::rebuilt(NodeId id, NodeId now) {
  ++visited_;
  if (options_.progress) options_.progress(visited_);
  if (known_.contains(now) || options_.deadline.is_over() || swapped(id, now)) return {};
  if (arena().node(now).kind != ir::NodeKind::operation) return {};
  if (!may_be_equal_) may_be_equal_ = !options_.may_be_equal || options_.may_be_equal();
  if (!*may_be_equal_) return {};
  for (std::uint32_t k = 0; k < arena().node(now).outputs.size(); ++k) prove({id, k}, {now, k});
  return {};
}

}  // namespace xflow::equivalence
