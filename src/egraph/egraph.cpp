#include "src/egraph/egraph.h"

#include <algorithm>
#include <cassert>
#include <deque>

#include "src/egraph/numbers.h"

namespace xflow::generator {

std::size_t EGraph::Hash::operator()(const EqTerm& t) const {
  std::uint64_t h = mix(t.op) + t.output;
  for (std::size_t k = 0; k < t.count; ++k) h = (h ^ t.operands[k]) * 0x9E3779B97F4A7C15ULL + (h >> 29);
  return h;
}

EqTerm EGraph::canonical(EqTerm term) const {
  if (term.op == EqTerm::kInput) return term;
  for (std::size_t k = 0; k < term.count; ++k) term.operands[k] = find(term.operands[k]);
  if (vocabulary_.is_commutative(static_cast<OpRef>(term.op)) && term.count == 2 && term.operands[1] < term.operands[0])
    std::swap(term.operands[0], term.operands[1]);
  return term;
}

TermId EGraph::add_input(std::size_t number, TypeRef type) {
  EqTerm term;
  term.operands[0] = static_cast<TermId>(number);
  term.count = 1;
  const auto id = static_cast<TermId>(terms_.size());
  terms_.push_back(term);
  types_.push_back(type);
  parents_.push_back(id);
  members_.emplace_back(std::size_t{1}, id);
  users_.emplace_back();
  numbers_.push_back(nullptr);
  return id;
}

TermId EGraph::add(OpRef op, std::uint32_t output, std::span<const TermId> operands, TypeRef type) {
  assert(operands.size() <= EqTerm::kOperands);
  EqTerm term;
  term.op = static_cast<std::uint32_t>(op);
  term.output = static_cast<std::uint8_t>(output);
  term.count = static_cast<std::uint8_t>(operands.size());
  std::copy(operands.begin(), operands.end(), term.operands.begin());
  if (vocabulary_.is_commutative(op) && term.count == 2 && term.operands[1] < term.operands[0])
    std::swap(term.operands[0], term.operands[1]);
  if (const auto found = exact_.find(term); found != exact_.end()) return found->second;
  const auto id = static_cast<TermId>(terms_.size());
  exact_.emplace(term, id);
  terms_.push_back(term);
  types_.push_back(type);
  parents_.push_back(id);
  members_.emplace_back(std::size_t{1}, id);
  users_.emplace_back();
  const auto& number = vocabulary_.fills(op);
  numbers_.push_back(number ? &*number : nullptr);
  for (std::size_t k = 0; k < term.count; ++k) users_[find(term.operands[k])].push_back(id);
  const auto [same, added] = canonical_.try_emplace(canonical(term), id);
  if (!added && find(same->second) != id) merge(same->second, id, Equality::kCongruence);
  return id;
}

std::optional<TermId> EGraph::lookup(std::uint32_t op, std::uint8_t output, std::span<const TermId> operands) const {
  EqTerm term;
  term.op = op;
  term.output = output;
  term.count = static_cast<std::uint8_t>(operands.size());
  std::copy(operands.begin(), operands.end(), term.operands.begin());
  const auto found = canonical_.find(canonical(term));
  return found == canonical_.end() ? std::nullopt : std::optional(found->second);
}

void EGraph::merge(TermId a, TermId b, std::int32_t reason, std::span<const std::pair<TermId, TermId>> premises) {
  if (!premises.empty() && !equal(a, b)) premises_[equalities_.size()].assign(premises.begin(), premises.end());
  std::pmr::vector<Equality> open({{a, b, reason}}, terms_.get_allocator());
  while (!open.empty()) {
    const Equality e = open.back();
    open.pop_back();
    TermId x = find(e.a);
    TermId y = find(e.b);
    if (x == y) continue;
    equalities_.push_back(e);
    if (users_[x].size() + members_[x].size() < users_[y].size() + members_[y].size()) std::swap(x, y);
    // Merge class y into class x.
    parents_[y] = x;
    if (numbers_[x] == nullptr) numbers_[x] = numbers_[y];
    members_[x].insert(members_[x].end(), members_[y].begin(), members_[y].end());
    members_[y].clear();
    const std::pmr::vector<TermId> users = std::move(users_[y]);
    users_[y].clear();
    for (const TermId u : users) {
      const auto [same, added] = canonical_.try_emplace(canonical(terms_[u]), u);
      if (!added && find(same->second) != find(u)) open.push_back({same->second, u, Equality::kCongruence});
    }
    users_[x].insert(users_[x].end(), users.begin(), users.end());
  }
}

std::vector<Equality> EGraph::explain(TermId a, TermId b) const {
  std::vector<Equality> steps;
  std::vector<std::pair<TermId, TermId>> open;
  explain(a, b, steps, open);
  return steps;
}

void EGraph::explain(TermId a, TermId b, std::vector<Equality>& steps, std::vector<std::pair<TermId, TermId>>& open) const {
  if (a == b || std::find(open.begin(), open.end(), std::pair(a, b)) != open.end()) return;
  open.emplace_back(a, b);
  // Each equality joined two classes, so exactly one path of equalities leads from a to b.
  std::unordered_map<TermId, std::vector<std::size_t>> at;
  for (std::size_t k = 0; k < equalities_.size(); ++k) {
    at[equalities_[k].a].push_back(k);
    at[equalities_[k].b].push_back(k);
  }
  std::unordered_map<TermId, std::size_t> from;
  std::deque<TermId> queue = {a};
  while (!queue.empty() && !from.contains(b)) {
    const TermId t = queue.front();
    queue.pop_front();
    for (const std::size_t k : at[t]) {
      const TermId next = equalities_[k].a == t ? equalities_[k].b : equalities_[k].a;
      if (next != a && from.try_emplace(next, k).second) queue.push_back(next);
    }
  }
  std::vector<std::pair<std::size_t, Equality>> path;
  for (TermId t = b; t != a;) {
    const std::size_t number = from.at(t);
    const Equality& e = equalities_[number];
    const TermId before = e.a == t ? e.b : e.a;
    path.push_back({number, {before, t, e.reason}});
    t = before;
  }
  std::reverse(path.begin(), path.end());
  for (const auto& [number, e] : path) {
    if (const auto needed = premises_.find(number); needed != premises_.end())
      for (const auto& [x, y] : needed->second) explain(x, y, steps, open);
    if (e.reason == Equality::kCongruence) {
      const EqTerm& x = terms_[e.a];
      const EqTerm& y = terms_[e.b];
      bool straight = true;
      for (std::size_t k = 0; k < x.count; ++k) straight = straight && equal(x.operands[k], y.operands[k]);
      for (std::size_t k = 0; k < x.count; ++k) explain(x.operands[k], y.operands[straight ? k : 1 - k], steps, open);
    }
    steps.push_back(e);
  }
}

}  // namespace xflow::generator
