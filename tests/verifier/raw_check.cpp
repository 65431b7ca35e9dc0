#include "tests/verifier/raw_check.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include "src/rules/evaluate.h"

namespace xflow::verifier {

namespace {

constexpr std::uint64_t kWork = 30'000;  // scalar operations of one evaluation
constexpr std::size_t kBox = 3000;       // assignments that are all tried
constexpr int kDraws = 2000;
constexpr std::size_t kMostShapes = 100;  // of which some are too large to be evaluated

bool about_elements(const ir::Symbols& symbols, const ops::Atom& atom) {
  const auto all = symbols.all_symbols(atom.poly);
  return std::any_of(all.begin(), all.end(), [&](ir::SymbolId s) { return symbols.info(s).kind == ir::SymbolKind::element; });
}

using Admits = std::function<bool(const Assignment&)>;

class Raw {
 public:
  Raw(rules::RuleInstance& instance, std::uint64_t seed)
      : instance_(instance), concrete_(instance), symbols_(concrete_.symbols()), random_(seed) {}

  // Every name of the rule is drawn, also those that a proof replaces by others.
  void draw_all_names() {
    const ir::Symbols& symbols = instance_.arena->symbols();
    for (std::size_t k = 0; k < symbols.size(); ++k) {
      const auto s = static_cast<ir::SymbolId>(k);
      const ir::SymbolInfo& info = symbols.info(s);
      if (info.kind != ir::SymbolKind::dimension && info.kind != ir::SymbolKind::parameter) continue;
      if (info.name.find_first_of("'?") == std::string::npos && std::find(symbols_.begin(), symbols_.end(), s) == symbols_.end())
        symbols_.push_back(s);
    }
  }

  RawCheck check(std::size_t wanted, const Admits* text = nullptr) {
    text_ = text;
    RawCheck result;
    std::vector<Assignment> found;
    result.complete = enumerate(found, wanted);
    for (const Assignment& a : found) {
      if (result.failure) break;
      compare(a, result);
    }
    for (int k = 0; k < kDraws && found.size() < kMostShapes && !result.complete && result.compared < wanted && !result.failure; ++k)
      if (add(found, drawn(k % 2 == 0 ? 3 : 5))) compare(found.back(), result);
    result.shapes = found.size();
    return result;
  }

 private:
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool is_dimension(ir::SymbolId s) const { return instance_.arena->symbols().info(s).kind == ir::SymbolKind::dimension; }

  bool satisfies(const Assignment& a) const {
    // Matching asks for that, whatever a rule says.
    for (const auto& [s, v] : a.integers)
      if (is_dimension(s) && v < 1) return false;
    if (text_ != nullptr) return (*text_)(a);
    return std::all_of(instance_.facts.begin(), instance_.facts.end(), [&](const rules::Fact& f) {
      return about_elements(instance_.arena->symbols(), f.atom) || concrete_.holds(f.atom, a).value_or(false);
    });
  }

  bool add(std::vector<Assignment>& found, Assignment a) {
    const bool known = std::any_of(found.begin(), found.end(), [&](const Assignment& b) { return a.integers == b.integers; });
    if (known || !satisfies(a)) return false;
    found.push_back(std::move(a));
    return true;
  }

  void draw_reals(Assignment& a) {
    for (const std::string& name : concrete_.reals()) a.reals[name] = *ir::Rational::make(draw(1, 5), draw(1, 3));
  }

  // All assignments of sizes 1 to 4 and integers 0 to 3; false where there are too many.
  bool enumerate(std::vector<Assignment>& found, std::size_t wanted) {
    std::size_t count = 1;
    for (std::size_t k = 0; k < symbols_.size(); ++k) count = count > kBox ? count : count * 4;
    if (count > kBox) return false;
    std::vector<Assignment> all;
    for (std::size_t n = 0; n < count; ++n) {
      Assignment a;
      std::size_t rest = n;
      for (const ir::SymbolId s : symbols_) {
        a.integers[s] = static_cast<std::int64_t>(rest % 4) + (is_dimension(s) ? 1 : 0);
        rest /= 4;
      }
      draw_reals(a);
      if (satisfies(a)) all.push_back(std::move(a));  // each is a new one
    }
    // Small and large ones.
    const std::size_t step = std::max<std::size_t>(1, all.size() / wanted);
    for (std::size_t k = 0; k < all.size() && found.size() < wanted; k += step) found.push_back(all[k]);
    return true;
  }

  Assignment drawn(std::int64_t largest) {
    Assignment a;
    // With many symbols most are the smallest, so that tensors stay small.
    const bool many = symbols_.size() > 6;
    for (const ir::SymbolId s : symbols_) {
      const std::int64_t n = many && draw(0, 9) < 6 ? 0 : draw(0, largest - 1);
      a.integers[s] = is_dimension(s) ? n + 1 : n;
    }
    draw_reals(a);
    for (int round = 0; round < 12; ++round) {
      bool moved = false;
      for (const rules::Fact& f : instance_.facts) moved = move_towards(f.atom, a) || moved;
      if (!moved) break;
    }
    if (text_ != nullptr) adopt_shapes(a);
    return a;
  }

  // "x.1" mostly gets the size that x has there in the proof.
  void adopt_shapes(Assignment& a) {
    for (std::size_t k = 0; k < instance_.variables.size(); ++k) {
      const auto shape = concrete_.shape(instance_.variables[k], a);
      for (auto& [s, v] : a.integers)
        for (std::size_t d = 0; shape && d < shape->size(); ++d)
          if (instance_.arena->symbols().info(s).name == instance_.variable_names[k] + "." + std::to_string(d) && draw(0, 3) != 0)
            v = (*shape)[d];
    }
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
    for (const rules::Fact& f : instance_.facts) {
      if (about_elements(instance_.arena->symbols(), f.atom) || concrete_.holds(f.atom, a).value_or(false)) continue;
      result.failure = "the guards admit what the proof does not: " + f.reason;
      return;
    }
    std::string shapes;
    for (const ir::SymbolId s : symbols_)
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
  std::vector<ir::SymbolId> symbols_;
  std::mt19937_64 random_;
  const Admits* text_ = nullptr;
};

// The names of a rule at numbers: what stands in the text of a guard.
class Numbers : public rules::Scope {
 public:
  Numbers(const rules::Rule& rule, const rules::RuleInstance& instance, const Assignment& assignment) {
    const ir::Symbols& symbols = instance.arena->symbols();
    std::map<std::string, std::map<std::size_t, ir::Poly>> lists;
    for (const auto& [s, v] : assignment.integers) {
      const std::string& name = symbols.info(s).name;
      values_[name] = ir::Poly(v);
      const auto end = name.find_last_not_of("0123456789]") + 1;
      const std::string head = name.substr(0, name[end - 1] == '[' || name[end - 1] == '.' ? end - 1 : end);
      if (end < name.size()) lists[head][std::strtoull(name.c_str() + end, nullptr, 10)] = ir::Poly(v);
    }
    for (const auto& [name, kind] : rule.names) {
      if (kind != rules::NameKind::sequence && kind != rules::NameKind::integers) continue;
      std::vector<ir::Poly> list;
      for (const auto& [k, p] : lists[name]) list.push_back(p);
      values_[name] = std::move(list);
    }
    // "a = 1, p = [1, 0]": what the instance chose.
    for (std::size_t begin = 0; begin < instance.choice.size();) {
      const auto sign = instance.choice.find(" = ", begin);
      if (sign == std::string::npos) break;
      const auto start = instance.choice.rfind(", ", sign);
      const std::string name =
          instance.choice.substr(start == std::string::npos ? 0 : start + 2, sign - (start == std::string::npos ? 0 : start + 2));
      std::vector<ir::Poly> list;
      const char* at = instance.choice.c_str() + sign + 3;
      const bool is_list = *at == '[';
      do {
        if (*at == '[' || *at == ',') ++at;
        char* end = nullptr;
        const std::int64_t v = std::strtoll(at, &end, 10);
        if (end == at) break;
        list.emplace_back(v);
        at = end;
      } while (is_list && *at == ',');
      if (is_list) {
        values_[name] = std::move(list);
      } else if (!list.empty()) {
        values_[name] = list[0];
      }
      begin = sign + 3;
    }
    for (std::size_t k = 0; k < instance.variables.size(); ++k) {
      ir::TensorType type = instance.arena->type(instance.variables[k]);
      const std::string& name = instance.variable_names[k];
      ir::Shape own;
      for (const auto& [d, p] : lists[name]) own.push_back(p);
      if (rule.declaration(name) != nullptr) own = declared(*rule.declaration(name), *instance.arena);
      if (own.size() == type.rank()) type.shape = std::move(own);
      types_[name] = std::move(type);
    }
  }

  const ir::AttributeValue* attribute(std::string_view name) const override {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }
  const ir::TensorType* type(std::string_view name) const override {
    const auto found = types_.find(name);
    return found == types_.end() ? nullptr : &found->second;
  }
  std::vector<ir::TensorType> types(std::string_view) const override { return {}; }

 private:
  ir::Shape declared(const rules::Declaration& declaration, ir::Arena& arena) const {
    ir::Shape shape;
    for (const rules::Expression& dim : declaration.dims) {
      const auto v = rules::evaluate(dim, *this, arena.symbols());
      if (!v) return {};
      if (const auto* one = std::get_if<ir::Poly>(&*v)) shape.push_back(*one);
      if (const auto* list = std::get_if<std::vector<ir::Poly>>(&*v)) shape.insert(shape.end(), list->begin(), list->end());
    }
    return shape;
  }

  std::map<std::string, ir::AttributeValue, std::less<>> values_;
  std::map<std::string, ir::TensorType, std::less<>> types_;
};

bool holds(const rules::Guard& guard, const Numbers& numbers, ir::Symbols& symbols) {
  const auto a = rules::evaluate(guard.arguments[0], numbers, symbols);
  const auto b = rules::evaluate(guard.arguments[1], numbers, symbols);
  if (!a || !b) return false;
  const auto* p = std::get_if<std::vector<ir::Poly>>(&*a);
  const auto* q = std::get_if<std::vector<ir::Poly>>(&*b);
  if ((p == nullptr && !std::holds_alternative<ir::Poly>(*a)) || (q == nullptr && !std::holds_alternative<ir::Poly>(*b))) return *a == *b;
  if (p != nullptr && q != nullptr && p->size() != q->size()) return false;
  for (std::size_t k = 0; k < (p != nullptr ? p->size() : q != nullptr ? q->size() : 1); ++k) {
    const ir::Poly& x = p != nullptr ? (*p)[k] : std::get<ir::Poly>(*a);
    const ir::Poly& y = q != nullptr ? (*q)[k] : std::get<ir::Poly>(*b);
    if (!rules::holds(guard.kind, x, y, symbols).value_or(false)) return false;
  }
  return true;
}

}  // namespace

RawCheck check_raw_by_text(const rules::Rule& rule, rules::RuleInstance& instance, const std::vector<std::string>& guards,
                           std::size_t wanted, std::uint64_t seed) {
  std::string text = rules::print(rule);
  const auto where = text.rfind("\n  where");
  if (where != std::string::npos) text.resize(where + 1);
  for (std::size_t k = 0; k < guards.size(); ++k) text += (k == 0 ? "  where\n    " : "    ") + guards[k] + "\n";
  const auto parsed = rules::parse_rules(text, "emitted");
  RawCheck result;
  if (!parsed) {
    result.failure = parsed.error().text() + "\n" + text;
    return result;
  }
  // Sizes that the types of the proof do not have.
  Concrete concrete(instance);
  const Admits with_types = [&](const Assignment& a) {
    const Numbers numbers(rule, instance, a);
    const bool admitted = std::all_of(parsed->front().guards.begin(), parsed->front().guards.end(), [&](const rules::Guard& g) {
      return !g.value.empty() || holds(g, numbers, instance.arena->symbols());
    });
    if (!admitted) return false;
    for (std::size_t k = 0; k < instance.variables.size(); ++k) {
      const auto shape = concrete.shape(instance.variables[k], a);
      const ir::TensorType* own = numbers.type(instance.variable_names[k]);
      // Types with N? are cases of their own.
      const bool known =
          shape && own != nullptr && std::all_of(own->shape.begin(), own->shape.end(), [](const ir::Poly& p) { return p.is_constant(); });
      if (known && own->shape != ir::polys(*shape))
        result.failure = "the guards admit another size than the proof: " + ir::to_string(instance.arena->symbols(), *own);
    }
    return true;
  };
  Raw raw(instance, seed);
  raw.draw_all_names();
  RawCheck checked = raw.check(wanted, &with_types);
  if (result.failure) checked.failure = result.failure;
  return checked;
}

RawCheck check_raw(rules::RuleInstance& instance, std::size_t wanted, std::uint64_t seed) { return Raw(instance, seed).check(wanted); }

}  // namespace xflow::verifier
