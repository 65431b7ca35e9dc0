#include "tests/verifier/raw_check.h"

#include <algorithm>
#include <random>

namespace xflow::verifier {

namespace {

constexpr std::uint64_t kWork = 30'000;  // scalar operations of one evaluation
constexpr std::size_t kBox = 3000;       // assignments that are all tried
constexpr int kDraws = 2000;

bool about_elements(const ir::Symbols& symbols, const ops::Atom& atom) {
  const auto all = symbols.all_symbols(atom.poly);
  return std::any_of(all.begin(), all.end(), [&](ir::SymbolId s) { return symbols.info(s).kind == ir::SymbolKind::element; });
}

class Raw {
 public:
  Raw(rules::RuleInstance& instance, std::uint64_t seed) : instance_(instance), concrete_(instance), random_(seed) {}

  RawCheck check(std::size_t wanted) {
    RawCheck result;
    std::vector<Assignment> found;
    result.complete = enumerate(found, wanted);
    if (!result.complete || found.size() < wanted) {
      for (int k = 0; k < kDraws && found.size() < wanted; ++k) add(found, drawn(k % 2 == 0 ? 3 : 5));
    }
    result.shapes = found.size();
    for (const Assignment& a : found) {
      if (result.failure) break;
      compare(a, result);
    }
    return result;
  }

 private:
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool is_dimension(ir::SymbolId s) const { return instance_.arena->symbols().info(s).kind == ir::SymbolKind::dimension; }

  bool satisfies(const Assignment& a) const {
    for (const auto& [s, v] : a.integers)
      if (is_dimension(s) && v < 1) return false;
    return std::all_of(instance_.facts.begin(), instance_.facts.end(), [&](const rules::Fact& f) {
      return about_elements(instance_.arena->symbols(), f.atom) || concrete_.holds(f.atom, a).value_or(false);
    });
  }

  void add(std::vector<Assignment>& found, Assignment a) {
    const bool known = std::any_of(found.begin(), found.end(), [&](const Assignment& b) { return a.integers == b.integers; });
    if (!known && satisfies(a)) found.push_back(std::move(a));
  }

  void draw_reals(Assignment& a) {
    for (const std::string& name : concrete_.reals()) a.reals[name] = *ir::Rational::make(draw(1, 5), draw(1, 3));
  }

  // All assignments of sizes 1 to 4 and integers 0 to 3; false where there are too many.
  bool enumerate(std::vector<Assignment>& found, std::size_t wanted) {
    std::size_t count = 1;
    for (std::size_t k = 0; k < concrete_.symbols().size(); ++k) count = count > kBox ? count : count * 4;
    if (count > kBox) return false;
    std::vector<Assignment> all;
    for (std::size_t n = 0; n < count; ++n) {
      Assignment a;
      std::size_t rest = n;
      for (const ir::SymbolId s : concrete_.symbols()) {
        a.integers[s] = static_cast<std::int64_t>(rest % 4) + (is_dimension(s) ? 1 : 0);
        rest /= 4;
      }
      draw_reals(a);
      add(all, std::move(a));
    }
    // Small and large ones.
    const std::size_t step = std::max<std::size_t>(1, all.size() / wanted);
    for (std::size_t k = 0; k < all.size() && found.size() < wanted; k += step) found.push_back(all[k]);
    return true;
  }

  Assignment drawn(std::int64_t largest) {
    Assignment a;
    // With many symbols most are the smallest, so that tensors stay small.
    const bool many = concrete_.symbols().size() > 6;
    for (const ir::SymbolId s : concrete_.symbols()) {
      const std::int64_t n = many && draw(0, 9) < 6 ? 0 : draw(0, largest - 1);
      a.integers[s] = is_dimension(s) ? n + 1 : n;
    }
    draw_reals(a);
    for (int round = 0; round < 12; ++round) {
      bool moved = false;
      for (const rules::Fact& f : instance_.facts) moved = move_towards(f.atom, a) || moved;
      if (!moved) break;
    }
    return a;
  }

  // An equation or inequality in which a symbol stands alone is given the value that is missing.
  bool move_towards(const ops::Atom& atom, Assignment& a) {
    const ir::Symbols& symbols = instance_.arena->symbols();
    if (about_elements(symbols, atom) || concrete_.holds(atom, a).value_or(true)) return false;
    const auto value = symbols.evaluate(atom.poly, [&](ir::SymbolId s) { return std::optional(a.integers[s]); });
    if (!value) return false;
    std::vector<std::pair<ir::SymbolId, std::int64_t>> alone;
    for (const auto& [s, v] : a.integers) {
      const auto linear = atom.poly.linear_in(s);
      if (!linear || symbols.occurs(linear->second, s)) continue;
      const auto c = symbols.evaluate(linear->first, [&](ir::SymbolId x) { return std::optional(a.integers[x]); });
      if (c && *c != 0 && *value % *c == 0) alone.emplace_back(s, *c);
    }
    if (alone.empty()) return false;
    const auto& [s, c] = alone[random_() % alone.size()];
    a.integers[s] -= atom.relation == ops::Relation::not_zero ? -1 : *value / c;
    return true;
  }

  void compare(const Assignment& a, RawCheck& result) {
    std::string shapes;
    for (const ir::SymbolId s : concrete_.symbols())
      shapes += (shapes.empty() ? "" : ", ") + instance_.arena->symbols().info(s).name + " = " + std::to_string(a.integers.at(s));
    for (const rules::Fact& o : instance_.obligations) {
      if (about_elements(instance_.arena->symbols(), o.atom) || concrete_.holds(o.atom, a).value_or(false)) continue;
      result.failure = shapes + ": the target asks for " + o.reason;
      return;
    }
    using Entry = Concrete::Entry;
    bool equal = false;
    for (const Entry kind : {Entry::small, Entry::halves}) {
      const auto inputs = concrete_.draw(a, random_(), kind);
      if (!inputs) continue;
      Concrete::Difference where;
      const Concrete::Agreement agreement = concrete_.compare(a, *inputs, kWork, &where);
      equal = equal || agreement == Concrete::Agreement::equal;
      if (agreement != Concrete::Agreement::different) continue;
      result.failure = shapes + ": " + where.source + " != " + where.target;
      return;
    }
    if (equal) ++result.compared;
  }

  rules::RuleInstance& instance_;
  Concrete concrete_;
  std::mt19937_64 random_;
};

}  // namespace

RawCheck check_raw(rules::RuleInstance& instance, std::size_t wanted, std::uint64_t seed) { return Raw(instance, seed).check(wanted); }

}  // namespace xflow::verifier
