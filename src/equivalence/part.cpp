#include "src/equivalence/part.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "src/equivalence/fractions.h"
#include "src/equivalence/part_instance.h"
#include "src/verifier/proof/proof.h"

namespace xflow::equivalence {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr int kMostCuts = 12;
constexpr std::size_t kMostOperations = 40;  // on either side
constexpr std::chrono::milliseconds kFractionsTime{250};

bool is_operation(const ir::Arena& arena, ValueId value) {
  return arena.node(value).kind == ir::NodeKind::operation && !arena.node(value).is_constant;
}

}  // namespace

std::vector<NodeId> PartProver::above(ValueId value, const std::function<bool(ValueId)>& stops, std::vector<ValueId>& leaves) const {
  std::vector<NodeId> operations;
  std::unordered_set<NodeId> seen;
  std::unordered_set<ValueId> given(leaves.begin(), leaves.end());
  std::vector<ValueId> stack{value};
  while (!stack.empty()) {
    const ValueId next = stack.back();
    stack.pop_back();
    if (arena_.is_constant(next)) continue;
    if (!is_operation(arena_, next) || stops(next)) {
      if (given.insert(next).second) leaves.push_back(next);
      continue;
    }
    if (!seen.insert(next.node).second) continue;
    operations.push_back(next.node);
    if (operations.size() > kMostOperations) break;
    const auto& operands = arena_.node(next).operands;
    stack.insert(stack.end(), operands.begin(), operands.end());
  }
  std::ranges::sort(operations);
  return operations;
}

bool PartProver::is_closed(ValueId value) const {
  std::vector<NodeId> stack;
  const auto known = [&](ValueId v) -> std::optional<bool> {
    if (!is_operation(arena_, v)) return arena_.is_constant(v);
    const auto found = closed_.find(v.node);
    return found == closed_.end() ? std::nullopt : std::optional(found->second);
  };
  if (!known(value)) stack.push_back(value.node);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    const std::size_t before = stack.size();
    bool closed = true;
    for (const ValueId operand : arena_.node(id).operands) {
      const std::optional<bool> of_operand = known(operand);
      if (!of_operand) stack.push_back(operand.node);
      closed = closed && of_operand.value_or(false);
    }
    if (stack.size() > before) continue;
    closed_.insert_or_assign(id, closed);
    stack.pop_back();
  }
  return *known(value);
}

PartProver::Cut PartProver::cut_at(ValueId a, ValueId b, const std::unordered_set<ValueId>& opened) const {
  Cut cut;
  cut.of_b = above(
      b, [&](ValueId v) { return known_.contains(v.node) && !opened.contains(v); }, cut.values);
  const std::unordered_set<ValueId> given(cut.values.begin(), cut.values.end());
  // The operations of A from the cut and `a`. Operands have lower numbers than their users.
  NodeId lowest = a.node;
  for (const ValueId value : cut.values) lowest = std::min(lowest, value.node);
  std::vector<NodeId> middle;
  std::unordered_set<NodeId> seen;
  std::vector<ValueId> stack{a};
  while (!stack.empty()) {
    const ValueId next = stack.back();
    stack.pop_back();
    if (given.contains(next) || next.node < lowest || !is_operation(arena_, next) || !seen.insert(next.node).second) continue;
    middle.push_back(next.node);
    const auto& operands = arena_.node(next).operands;
    stack.insert(stack.end(), operands.begin(), operands.end());
  }
  std::ranges::sort(middle);
  std::unordered_set<NodeId> depends;
  for (const NodeId id : middle) {
    const auto& operands = arena_.node(id).operands;
    if (std::ranges::any_of(operands, [&](ValueId v) { return given.contains(v) || depends.contains(v.node); })) depends.insert(id);
  }
  cut.of_a = above(
      a, [&](ValueId v) { return given.contains(v) || (!depends.contains(v.node) && !is_closed(v)); }, cut.values);
  // The values of B's side that A's side does not read.
  std::unordered_set<ValueId> read{a};
  for (const NodeId id : cut.of_a) read.insert(arena_.node(id).operands.begin(), arena_.node(id).operands.end());
  for (const ValueId value : given)
    if (!read.contains(value) && is_operation(arena_, value)) cut.unread.push_back(value);
  std::ranges::sort(cut.unread);
  return cut;
}

bool PartProver::has_expressions(const Cut& cut) const {
  const auto reads = [&](NodeId id) {
    return std::ranges::any_of(arena_.node(id).operands, [&](ValueId v) { return constants_.expression(v).has_value(); });
  };
  return std::ranges::any_of(cut.of_a, reads) || std::ranges::any_of(cut.of_b, reads);
}

std::set<double> PartProver::fractions_of(const std::vector<NodeId>& operations) const {
  std::set<double> numbers;
  for (const NodeId id : operations) {
    const ir::Node& node = arena_.node(id);
    for (const ir::Attribute& attribute : node.attributes.list())
      if (rounded_fraction(attribute.value)) numbers.insert(std::get<ir::Real>(attribute.value).to_double());
    for (const ValueId operand : node.operands) {
      if (arena_.node(operand).kind != ir::NodeKind::constant || arena_.is_absent(operand)) continue;
      const auto elements = constants_.elements(operand);
      if (!elements || elements->empty() || !rounded_fraction(elements->front(), arena_.type(operand).data_type)) continue;
      if (std::ranges::all_of(*elements, [&](double x) { return x == elements->front(); })) numbers.insert(elements->front());
    }
  }
  return numbers;
}

PartDecision PartProver::attempt(ValueId a, ValueId b, const Cut& cut, Reading reading, const verifier::Deadline& deadline) {
  PartDecision decision;
  decision.operations_a = cut.of_a.size();
  decision.operations_b = cut.of_b.size();
  auto instance = part_instance(arena_, {a, b, cut.values, cut.of_a, cut.of_b, reading.computed, reading.fractions}, constants_);
  if (!instance) {
    decision.open = instance.error().text();
    return decision;
  }
  verifier::Options options;
  options.deadline = deadline;
  std::optional<Rounding> rounding = instance->rounding;
  // A fraction and a number beside it must not sum to 0 up to rounding.
  if (!reading.fractions)
    options.vanishes = [&](const std::vector<verifier::NormalTerm>& rest, const verifier::Condition& context) {
      const auto found = rounding_of_rest(instance->rule.arena->symbols(), rest, context, instance->known, deadline);
      if (found && (!rounding || found->difference > rounding->difference)) rounding = found;
      return found.has_value();
    };
  verifier::Proof proof(instance->rule, options);
  if (const auto divisor = proof.unguarded_division()) {
    decision.open = divisor->reason;
  } else if (const auto failed = proof.failed_obligation()) {
    decision.open = instance->rule.obligations[*failed].reason;
  } else if (proof.run()) {
    decision.verdict = Verdict::proved;
    if (rounding && rounding->difference > 0) decision.rounding = rounding;
  } else {
    decision.open = proof.open();
  }
  if (decision.verdict != Verdict::proved && deadline.is_over()) {
    decision.verdict = Verdict::timeout;
    decision.open = "the time limit was reached";
  }
  return decision;
}

PartDecision PartProver::attempt_all(ValueId a, ValueId b, const Cut& cut, const verifier::Deadline& deadline) {
  const auto within = [&](std::chrono::milliseconds time) {
    return verifier::Deadline(
        std::min(std::chrono::steady_clock::now() + time, deadline.moment()), [deadline] { return deadline.is_over(); }, false);
  };
  const bool has_computed = has_expressions(cut);
  // Most proofs take less, and an attempt with given constants can be long where it fails.
  PartDecision decision = attempt(a, b, cut, {}, has_computed ? within(std::chrono::seconds(1)) : deadline);
  if (decision.verdict == Verdict::proved || deadline.is_over()) return decision;
  if (fractions_of(cut.of_a) != fractions_of(cut.of_b)) {
    // Larger cuts must have their time, too.
    for (const bool computed : {false, true}) {
      if (computed && !has_computed) break;
      PartDecision found = attempt(a, b, cut, {.computed = computed, .fractions = true}, within(kFractionsTime));
      if (found.verdict == Verdict::proved) return found;
    }
  }
  return has_computed ? attempt(a, b, cut, {.computed = true}, deadline) : decision;
}

PartDecision PartProver::prove(ValueId a, ValueId b, const verifier::Deadline& deadline) {
  std::unordered_set<ValueId> opened;
  PartDecision last;
  last.open = "no cut was found";
  for (int round = 0; round < kMostCuts && !deadline.is_over(); ++round) {
    const Cut cut = cut_at(a, b, opened);
    if (cut.of_a.size() > kMostOperations || cut.of_b.size() > kMostOperations) break;
    std::vector<ValueId> next = cut.unread;
    if (next.empty()) {
      last = attempt_all(a, b, cut, deadline);
      if (last.verdict == Verdict::proved || last.verdict == Verdict::timeout) break;
      std::ranges::copy_if(cut.values, std::back_inserter(next), [&](ValueId v) { return is_operation(arena_, v); });
    }
    if (next.empty()) break;
    for (const ValueId value : next) opened.insert(value);
  }
  return last;
}

}  // namespace xflow::equivalence
