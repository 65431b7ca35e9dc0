#include "src/verifier/guards/guard_vocabulary.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "src/verifier/guards/features.h"
#include "src/verifier/guards/formula_translator.h"

namespace xflow::verifier {

using namespace formulas;
using ir::SymbolId;
using ir::SymbolKind;
using rules::Guard;
using rules::NameKind;

namespace {

// "strides[0]" for s[0], and for a in [a, b].
std::string role_of(const Formula& attribute, const std::map<std::string, std::string>& roles) {
  const bool element = attribute.kind == Formula::Kind::index;
  const auto found = roles.find(element ? attribute.arguments[0].name : attribute.name);
  const std::string role = found == roles.end() ? std::string() : found->second;
  return element ? fmt::format("{}[{}]", role, rules::print(attribute.arguments[1])) : role;
}

bool is_simple(const Guard& guard) {
  const std::string text = rules::print(guard);
  return text.size() <= 24 && text.find('(') == std::string::npos;
}

// Collects the guards of the vocabulary.
class Vocabulary {
 public:
  Vocabulary(const rules::Rule& rule, const rules::RuleInstance& instance, const Concrete& concrete)
      : rule_(rule), instance_(instance), translate_(rule, instance, Wording::elements) {
    const ir::Symbols& symbols = instance.arena->symbols();
    for (const SymbolId s : concrete.symbols())
      if (const auto e = translate_.symbol(s)) (symbols.info(s).kind == SymbolKind::dimension ? dims_ : attributes_).push_back(*e);
    for (const auto& [name, kind] : rule.names) {
      // An axis or a flag that is chosen. The symbols are already handled above.
      if (kind == NameKind::integer && is_chosen(named(name))) attributes_.push_back(named(name));
    }
    few_ = attributes_.size() <= 6;
  }

  std::vector<Guard> guards() && {
    std::vector<Guard> involved = add_simple_obligations();
    add_attributes();
    add_equal_dimensions();
    add_equal_outputs();
    add_divisibility();
    add_ranges();
    for (Guard& g : involved) add(std::move(g));
    return std::move(all_);
  }

 private:
  void add(Guard g) {
    if (known_.insert(rules::print(g)).second) all_.push_back(std::move(g));
  }

  // True for an axis or a flag that the instance fixes.
  bool is_chosen(const Formula& e) const { return !e.name.empty() && instance_.choice.find(e.name + " = ") != std::string::npos; }

  // Adds the simple obligations of typing. Returns the others, which come last.
  std::vector<Guard> add_simple_obligations() {
    std::vector<Guard> involved;
    for (const rules::Fact& o : instance_.obligations) {
      if (const auto g = translate_.atom(o.atom)) (is_simple(*g) ? all_ : involved).push_back(*g);
    }
    for (const Guard& g : all_) known_.insert(rules::print(g));
    return involved;
  }

  // If there are many attributes, compares only those with the same role in two operators.
  void add_attributes() {
    const std::map<std::string, std::string> roles = roles_of(rule_);
    for (std::size_t i = 0; i < attributes_.size(); ++i)
      for (std::size_t j = i + 1; j < attributes_.size(); ++j)
        if (few_ || role_of(attributes_[i], roles) == role_of(attributes_[j], roles)) add(equal(attributes_[i], attributes_[j]));
    for (std::size_t i = 0; i < attributes_.size(); ++i)
      for (std::size_t j = i + 1; j < attributes_.size(); ++j)
        if (is_chosen(attributes_[i]) && is_chosen(attributes_[j])) add(relation(Guard::Kind::not_equal, attributes_[i], attributes_[j]));
    for (const Formula& a : attributes_)
      for (const std::int64_t c : {1, 0, 2}) add(equal(a, formulas::number(c)));
  }

  void add_equal_dimensions() {
    for (std::size_t i = 0; i < dims_.size(); ++i)
      for (std::size_t j = i + 1; j < dims_.size(); ++j) add(equal(dims_[i], dims_[j]));
    for (const Formula& d : dims_) {
      add(equal(d, formulas::number(1)));
      for (const Formula& a : attributes_) add(equal(d, a));
    }
  }

  // Equal sizes of outputs.
  void add_equal_outputs() {
    const std::vector<std::string>& names = instance_.output_names;
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (std::size_t j = i + 1; j < names.size(); ++j) {
        const std::size_t rank = instance_.arena->type(instance_.source.outputs[i]).rank();
        if (instance_.arena->type(instance_.source.outputs[j]).rank() != rank) continue;
        for (std::size_t d = 0; d < rank; ++d) {
          const auto n = static_cast<std::int64_t>(d);
          add(equal(call("dim", {named(names[i]), formulas::number(n)}), call("dim", {named(names[j]), formulas::number(n)})));
        }
      }
    }
  }

  // Divisibility and parity.
  void add_divisibility() {
    for (const Formula& d : dims_) {
      add(equal(call("mod", {d, formulas::number(2)}), formulas::number(0)));
      add(equal(call("mod", {d, formulas::number(2)}), formulas::number(1)));
      for (const Formula& a : attributes_) add(equal(call("mod", {d, a}), formulas::number(0)));
      for (const Formula& e : dims_)
        if (rules::print(d) != rules::print(e)) add(equal(call("mod", {d, e}), formulas::number(0)));
    }
    for (std::size_t i = 0; i < dims_.size(); ++i)
      for (std::size_t j = i + 1; j < dims_.size(); ++j)
        add(equal(call("mod", {make(Formula::Kind::add, {dims_[i], dims_[j]}), formulas::number(2)}), formulas::number(0)));
  }

  void add_ranges() {
    for (const Formula& a : attributes_) {
      add(at_least(a, formulas::number(0)));
      add(at_least(a, formulas::number(1)));
      for (const Formula& d : dims_) {
        add(at_least(d, a));
        add(at_least(a, d));
        add(relation(Guard::Kind::greater, d, a));
      }
      for (const Formula& b : attributes_)
        if (few_ && rules::print(a) != rules::print(b)) add(at_least(a, b));
    }
    if (few_) {
      for (std::size_t i = 0; i < attributes_.size(); ++i)
        for (std::size_t j = i + 1; j < attributes_.size(); ++j)
          for (const Formula& d : dims_) add(at_least(d, make(Formula::Kind::add, {attributes_[i], attributes_[j]})));
    }
    for (std::size_t i = 0; i < dims_.size(); ++i)
      for (std::size_t j = 0; j < dims_.size(); ++j)
        if (i != j) add(at_least(dims_[i], dims_[j]));
  }

  const rules::Rule& rule_;
  const rules::RuleInstance& instance_;
  FormulaTranslator translate_;
  std::vector<Formula> attributes_;
  std::vector<Formula> dims_;
  bool few_ = false;  // few attributes
  std::vector<Guard> all_;
  std::set<std::string> known_;
};

}  // namespace

std::vector<Guard> vocabulary(const rules::Rule& rule, const rules::RuleInstance& instance, const Concrete& concrete) {
  return Vocabulary(rule, instance, concrete).guards();
}

std::vector<Guard> joined(const std::vector<Guard>& guards, const rules::Rule& rule, const rules::RuleInstance& instance) {
  // The number of elements of each list.
  std::map<std::string, std::size_t> lengths;
  const ir::Symbols& symbols = instance.arena->symbols();
  std::set<std::string> symbol_names;
  for (std::size_t s = 0; s < symbols.size(); ++s) symbol_names.insert(symbols.info(static_cast<SymbolId>(s)).name);
  for (const auto& [name, kind] : rule.names) {
    if (kind != NameKind::integers) continue;
    std::size_t& length = lengths[name];
    while (symbol_names.contains(fmt::format("{}[{}]", name, length))) ++length;
  }
  const auto element = [](const Formula& e) {
    return e.kind == Formula::Kind::index && e.arguments[0].kind == Formula::Kind::name ? e.arguments[0].name : std::string();
  };
  // Groups of elementwise equations "p[k] = q[k]" or "p[k] = c", keyed by p and q or c.
  std::map<std::string, std::map<std::int64_t, std::size_t>> groups;
  std::map<std::string, std::pair<std::string, Formula>> heads;
  for (std::size_t n = 0; n < guards.size(); ++n) {
    if (guards[n].kind != Guard::Kind::equal) continue;
    const Formula& a = guards[n].arguments[0];
    const Formula& b = guards[n].arguments[1];
    const std::string p = element(a);
    const bool constant = b.kind == Formula::Kind::number;
    const bool pair = !element(b).empty() && rules::print(a.arguments.back()) == rules::print(b.arguments.back());
    if (p.empty() || !(constant || pair)) continue;
    const auto k = value(a.arguments[1], {});
    const std::string key = p + " = " + (constant ? rules::print(b) : element(b));
    heads[key] = {p, constant ? b : b.arguments[0]};
    if (k) groups[key][*k] = n;
  }
  std::vector<Guard> result;
  std::set<std::size_t> replaced;
  for (const auto& group : groups) {
    const std::map<std::int64_t, std::size_t>& members = group.second;
    const std::string& p = heads[group.first].first;
    const Formula& right = heads[group.first].second;
    const std::size_t length = lengths[p];
    const auto has = [&](std::size_t from, std::size_t to) {
      for (std::size_t k = from; k < to; ++k)
        if (!members.contains(static_cast<std::int64_t>(k))) return false;
      return from < to;
    };
    const auto take = [&](std::size_t from, std::size_t to) {
      for (std::size_t k = from; k < to; ++k) replaced.insert(members.at(static_cast<std::int64_t>(k)));
    };
    const bool constant = right.kind == Formula::Kind::number;
    const auto half = [&](const char* function) { return equal(call(function, {named(p)}), constant ? right : call(function, {right})); };
    if (length >= 2 && has(0, length)) {
      result.push_back(equal(named(p), right));
      take(0, length);
    } else if (length >= 4 && length % 2 == 0 && has(0, length / 2)) {
      result.push_back(half("begins"));
      take(0, length / 2);
    } else if (length >= 4 && length % 2 == 0 && has(length / 2, length)) {
      result.push_back(half("ends"));
      take(length / 2, length);
    }
  }
  for (std::size_t n = 0; n < guards.size(); ++n)
    if (!replaced.contains(n)) result.push_back(guards[n]);
  return result;
}

}  // namespace xflow::verifier
