#include "src/verifier/proof/witness.h"

#include <algorithm>
#include <cstdlib>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::SymbolId;
using ir::SymbolKind;
using ops::Atom;
using ops::Relation;

namespace {

constexpr int kMoves = 24;
constexpr std::int64_t kLargest = 64;

}  // namespace

// Dimensions start with room for a window, indices and attributes with the smallest likely value.
std::int64_t Witness::value(SymbolId symbol) const {
  if (const auto found = values_.find(symbol); found != values_.end()) return found->second;
  const SymbolKind kind = symbols_.info(symbol).kind;
  const std::int64_t usual = kind == SymbolKind::dimension ? 3 : kind == SymbolKind::parameter ? 1 : 0;
  if (start_ == 0) return usual;
  const std::uint64_t mixed = (static_cast<std::uint64_t>(symbol) * 6 + start_) * 6364136223846793005ULL + 1442695040888963407ULL;
  return std::max<std::int64_t>(kind == SymbolKind::dimension ? 1 : 0, usual - 1 + static_cast<std::int64_t>((mixed >> 33U) % 4));
}

// The linear congruential generator of Knuth's MMIX; only the high bits are used.
std::uint64_t Witness::next_random() {
  state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return state_ >> 33U;
}

// `distance`: the value of the polynomial.
bool Witness::holds(const Atom& atom, std::int64_t& distance) const {
  const auto v = symbols_.evaluate(atom.poly, [&](SymbolId s) { return std::optional(value(s)); });
  if (!v) {
    distance = 0;
    return false;
  }
  distance = *v;
  return atom.relation == Relation::at_least_zero ? *v >= 0 : atom.relation == Relation::zero ? *v == 0 : *v != 0;
}

// Assigns one symbol of the atom the value closest to its current one at which the atom holds, if the atom
// is linear in that symbol.
bool Witness::move(const Atom& atom, std::int64_t distance) {
  std::vector<std::pair<SymbolId, std::int64_t>> choices;
  for (const SymbolId s : atom.poly.symbols()) {
    const SymbolKind kind = symbols_.info(s).kind;
    if (kind == SymbolKind::floor_div || kind == SymbolKind::maximum) continue;
    const auto linear = atom.poly.linear_in(s);
    if (!linear) continue;
    const auto c = symbols_.evaluate(linear->first, [&](SymbolId x) { return std::optional(value(x)); });
    if (!c || *c == 0 || (atom.relation == Relation::zero && distance % *c != 0)) continue;
    std::int64_t by = 1;
    if (atom.relation == Relation::zero) by = -distance / *c;
    if (atom.relation == Relation::at_least_zero) {
      const std::int64_t size = std::abs(*c);
      by = (-distance + size - 1) / size * (*c > 0 ? 1 : -1);
    }
    const std::int64_t next = value(s) + by;
    const std::int64_t least = kind == SymbolKind::dimension ? 1 : kind == SymbolKind::index ? 0 : -kLargest;
    if (next >= least && next <= kLargest) choices.emplace_back(s, next);
  }
  if (choices.empty()) return false;
  const auto& [s, next] = choices[next_random() % choices.size()];
  values_[s] = next;
  return true;
}

std::optional<bool> Witness::holds(std::span<const Atom> condition) const {
  for (const Atom& a : condition) {
    const auto v = symbols_.evaluate(a.poly, [&](SymbolId s) { return std::optional(value(s)); });
    if (!v) return std::nullopt;
    if (!(a.relation == Relation::at_least_zero ? *v >= 0 : a.relation == Relation::zero ? *v == 0 : *v != 0)) return false;
  }
  return true;
}

bool Witness::exists(std::span<const Atom> facts, std::span<const Atom> condition, int attempts) {
  bool found = attempt(facts, condition);
  for (int k = 1; k < attempts && !found; ++k) {
    values_.clear();
    start_ = static_cast<std::uint64_t>(k);
    found = attempt(facts, condition);
  }
  if (start_ != 0 && !found) {
    values_.clear();
    start_ = 0;
  }
  return found;
}

bool Witness::attempt(std::span<const Atom> facts, std::span<const Atom> condition) {
  for (int k = 0; k < kMoves; ++k) {
    bool all = true;
    for (const auto& list : {facts, condition}) {
      for (const Atom& a : list) {
        std::int64_t distance = 0;
        if (holds(a, distance)) continue;
        if (!move(a, distance)) return false;
        all = false;
      }
    }
    if (all || broken(Fault::witness_of_anything)) return true;
  }
  return false;
}

}  // namespace xflow::verifier
