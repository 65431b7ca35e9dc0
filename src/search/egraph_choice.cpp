#include "src/search/egraph_choice.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

namespace xflow::search {

using ir::NodeId;
using ir::ValueId;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNobody = 0xFFFFFFFFU;

bool has(const std::vector<std::uint64_t>& bits, std::uint32_t at) { return (bits[at / 64] >> (at % 64) & 1U) != 0; }

}  // namespace

EGraphChoice::EGraphChoice(const WindowEGraph& graph, const std::function<double(NodeId)>& price) : graph_(graph) {
  find_classes(price);
  find_needs();
  find_alone();
}

void EGraphChoice::find_classes(const std::function<double(NodeId)>& price) {
  const auto add = [&](ValueId value) {
    const ValueId representative = graph_.representative(value);
    const auto [at, is_new] = index_.emplace(representative, static_cast<Index>(classes_.size()));
    if (is_new) classes_.push_back(representative);
    return at->second;
  };
  const auto is_free = [&](ValueId value) { return graph_.arena().is_absent(value) || graph_.is_free(graph_.representative(value)); };
  for (const auto& [outside, value] : graph_.outputs())
    if (!is_free(value)) outputs_.push_back(add(value));
  std::ranges::sort(outputs_);
  outputs_.erase(std::unique(outputs_.begin(), outputs_.end()), outputs_.end());
  for (Index c = 0; c < classes_.size(); ++c) {
    members_.emplace_back();
    for (const ValueId member : graph_.members(classes_[c])) {
      const auto [at, is_new] = numbers_.emplace(member.node, static_cast<Index>(operations_.size()));
      if (is_new) {
        Operation operation{member.node, price(member.node), {}, {}};
        for (const ValueId operand : graph_.arena().node(member).operands)
          if (!is_free(operand)) operation.operands.push_back(add(operand));
        std::ranges::sort(operation.operands);
        operation.operands.erase(std::unique(operation.operands.begin(), operation.operands.end()), operation.operands.end());
        operations_.push_back(std::move(operation));
      }
      if (operations_[at->second].price == kInfinite || std::ranges::find(members_[c], at->second) != members_[c].end()) continue;
      operations_[at->second].outputs.emplace_back(c, member.output);
      members_[c].push_back(at->second);
    }
  }
  least_.assign(classes_.size(), kInfinite);
  for (Index c = 0; c < classes_.size(); ++c)
    for (const Index o : members_[c])
      least_[c] = std::min(least_[c], operations_[o].price / static_cast<double>(operations_[o].outputs.size()));
}

// The greatest solution of: a class needs itself, and what the operands of each of its operations need. By
// induction over the order of a choice no class needs more than the choice computes.
void EGraphChoice::find_needs() {
  const std::size_t words = (classes_.size() + 63) / 64;
  needs_.assign(classes_.size(), Bits(words, ~std::uint64_t{0}));
  for (bool changed = true; changed;) {
    changed = false;
    for (Index c = 0; c < classes_.size(); ++c) {
      Bits all(words, ~std::uint64_t{0});
      for (const Index o : members_[c]) {
        Bits one(words, 0);
        for (const Index operand : operations_[o].operands)
          for (std::size_t w = 0; w < words; ++w) one[w] |= needs_[operand][w];
        for (std::size_t w = 0; w < words; ++w) all[w] &= one[w];
      }
      all[c / 64] |= std::uint64_t{1} << (c % 64);
      changed = changed || all != needs_[c];
      needs_[c] = std::move(all);
    }
  }
}

void EGraphChoice::find_alone() {
  alone_.assign(classes_.size(), kInfinite);
  for (bool changed = true; changed;) {
    changed = false;
    for (Index c = 0; c < classes_.size(); ++c) {
      for (const Index o : members_[c]) {
        double sum = operations_[o].price;
        for (const Index operand : operations_[o].operands) sum += alone_[operand];
        if (sum < alone_[c]) {
          alone_[c] = sum;
          changed = true;
        }
      }
    }
  }
}

// --- Branch and bound -----------------------------------------------------------------------------------------------------------------

// A depth-first search over the classes that are still to be computed.
class EGraphChoice::Branching {
 public:
  Branching(const EGraphChoice& of, std::size_t most, std::size_t steps) : of_(of), most_(most), steps_(steps) {
    chosen_.assign(of.classes_.size(), kNobody);
    runs_.assign(of.operations_.size(), 0);
    made_.assign(of.classes_.size(), 0);
  }

  std::vector<std::vector<Index>> run() {
    branch(0);
    std::vector<std::vector<Index>> result;
    result.reserve(found_.size());
    for (auto& [sum, chosen] : found_) result.push_back(std::move(chosen));
    return result;
  }
  bool is_whole() const { return steps_ > 0; }

 private:
  // What the classes that are to be computed and all that they need cost at least.
  double rest(std::vector<Index>& open) const {
    Bits needed((of_.classes_.size() + 63) / 64, 0);
    Bits seen = needed;
    std::vector<Index> left = of_.outputs_;
    while (!left.empty()) {
      const Index c = left.back();
      left.pop_back();
      if (has(seen, c)) continue;
      seen[c / 64] |= std::uint64_t{1} << (c % 64);
      if (chosen_[c] != kNobody) {
        const auto& operands = of_.operations_[chosen_[c]].operands;
        left.insert(left.end(), operands.begin(), operands.end());
        continue;
      }
      open.push_back(c);
      for (std::size_t w = 0; w < needed.size(); ++w) needed[w] |= of_.needs_[c][w];
    }
    double sum = 0;
    for (std::size_t w = 0; w < needed.size(); ++w) {
      for (std::uint64_t bits = needed[w]; bits != 0; bits &= bits - 1) {
        const auto c = static_cast<Index>(64 * w + static_cast<std::size_t>(std::countr_zero(bits)));
        if (chosen_[c] == kNobody && made_[c] == 0) sum += of_.least_[c];
      }
    }
    return sum;
  }

  void branch(double paid) {
    if (steps_ == 0) return;
    --steps_;
    std::vector<Index> open;
    const double bound = paid + rest(open);
    if (bound == kInfinite || (found_.size() == most_ && bound >= found_.back().first)) return;
    if (open.empty()) {
      const auto at = std::ranges::upper_bound(found_, paid, {}, [](const auto& f) { return f.first; });
      found_.emplace(at, paid, chosen_);
      if (found_.size() > most_) found_.pop_back();
      return;
    }
    const Index c = *std::ranges::min_element(open, {}, [&](Index k) { return std::pair(of_.members_[k].size(), k); });
    std::vector<std::pair<double, Index>> members;
    for (const Index o : of_.members_[c]) {
      double alone = runs_[o] > 0 ? 0 : of_.operations_[o].price;
      for (const Index operand : of_.operations_[o].operands)
        if (chosen_[operand] == kNobody) alone += of_.alone_[operand];
      members.emplace_back(alone, o);
    }
    std::ranges::sort(members);
    for (const auto& [alone, o] : members) {
      if (alone == kInfinite) continue;
      const auto& operands = of_.operations_[o].operands;
      if (std::ranges::any_of(operands, [&](Index operand) { return of_.reaches(chosen_, operand, c); })) continue;
      const double price = runs_[o] > 0 ? 0 : of_.operations_[o].price;
      chosen_[c] = o;
      run(o, 1);
      branch(paid + price);
      run(o, -1);
      chosen_[c] = kNobody;
    }
  }

  void run(Index operation, int more) {
    runs_[operation] += more;
    for (const auto& [c, output] : of_.operations_[operation].outputs) made_[c] += more;
  }

  const EGraphChoice& of_;
  std::size_t most_;
  std::size_t steps_;
  std::vector<Index> chosen_;                                 // by class: operation
  std::vector<int> runs_;                                     // by operation: classes that it computes
  std::vector<int> made_;                                     // by class: the same of all operations that have it as an output
  std::vector<std::pair<double, std::vector<Index>>> found_;  // cheapest first
};

bool EGraphChoice::reaches(const std::vector<Index>& chosen, Index from, Index to) const {
  std::vector<Index> left = {from};
  std::set<Index> seen;
  while (!left.empty()) {
    const Index c = left.back();
    left.pop_back();
    if (c == to) return true;
    if (chosen[c] == kNobody || !seen.insert(c).second) continue;
    const auto& operands = operations_[chosen[c]].operands;
    left.insert(left.end(), operands.begin(), operands.end());
  }
  return false;
}

std::vector<Chosen> EGraphChoice::cheapest(std::size_t most, std::size_t steps, bool& whole) const {
  Branching branching(*this, most, steps);
  std::vector<Chosen> result;
  for (const std::vector<Index>& chosen : branching.run()) result.push_back(described(chosen));
  whole = branching.is_whole();
  return result;
}

Chosen EGraphChoice::described(const std::vector<Index>& chosen) const {
  Chosen result;
  for (Index c = 0; c < classes_.size(); ++c) {
    if (chosen[c] == kNobody) continue;
    const Operation& operation = operations_[chosen[c]];
    const auto at = std::ranges::find(operation.outputs, c, [](const auto& output) { return output.first; });
    result.emplace(classes_[c], ValueId{operation.id, at->second});
  }
  return result;
}

// --- Changes of a choice --------------------------------------------------------------------------------------------------------------

std::optional<Chosen> EGraphChoice::with(const Chosen& chosen, ValueId member) const {
  std::vector<Index> by_class(classes_.size(), kNobody);
  for (const auto& [representative, value] : chosen) by_class[index_.at(representative)] = numbers_.at(value.node);
  const Index changed = numbers_.at(member.node);
  for (const auto& [c, output] : operations_[changed].outputs)
    if (by_class[c] != kNobody || classes_[c] == graph_.representative(member)) by_class[c] = changed;
  std::vector<Index> left = outputs_;
  std::vector<Index> result(classes_.size(), kNobody);
  while (!left.empty()) {
    const Index c = left.back();
    left.pop_back();
    if (result[c] != kNobody) continue;
    if (by_class[c] == kNobody) {
      double best = kInfinite;
      for (const Index o : members_[c]) {
        double sum = operations_[o].price;
        for (const Index operand : operations_[o].operands) sum += alone_[operand];
        if (sum >= best) continue;
        best = sum;
        by_class[c] = o;
      }
      if (by_class[c] == kNobody) return std::nullopt;
    }
    result[c] = by_class[c];
    const auto& operands = operations_[result[c]].operands;
    left.insert(left.end(), operands.begin(), operands.end());
  }
  for (Index c = 0; c < classes_.size(); ++c) {
    if (result[c] == kNobody) continue;
    for (const Index operand : operations_[result[c]].operands)
      if (reaches(result, operand, c)) return std::nullopt;
  }
  return described(result);
}

std::vector<NodeId> EGraphChoice::operations(const Chosen& chosen) const {
  std::set<NodeId> result;
  for (const auto& [representative, value] : chosen) result.insert(value.node);
  return {result.begin(), result.end()};
}

}  // namespace xflow::search
