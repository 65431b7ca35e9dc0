#include "src/rules/instance_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/rules/instance_builders.h"
#include "src/rules/instance_typing.h"

namespace xflow::rules {
namespace {

bool is_defined(ir::SymbolKind kind) {
  return kind == ir::SymbolKind::floor_div || kind == ir::SymbolKind::maximum || kind == ir::SymbolKind::element;
}

}  // namespace

Result<std::optional<RuleInstance>> InstanceRun::build(std::string& reason) {
  constexpr int kMaxRestarts = 200;
  for (int round = 0; round < kMaxRestarts; ++round) {
    const Stop stop = build_source(reason);
    if (stop == Stop::rejected) return std::optional<RuleInstance>();
    if (stop == Stop::restart) continue;
    auto instance = finish();
    // Matching requires the types of the source. If the target has no type for other floating types, the
    // rule is not applied to them.
    if (!instance && instance.error().code == ErrorCode::ill_typed && has_other_types_) {
      reason = instance.error().message;
      return std::optional<RuleInstance>();
    }
    if (!instance) return fail(std::move(instance).error());
    return std::optional<RuleInstance>(*std::move(instance));
  }
  return fail(ErrorCode::limit, "solving the dimensions of the source takes too many rounds; simplify its types");
}

InstanceRun::Stop InstanceRun::reject(std::string& reason, std::string why) {
  reason = std::move(why);
  return Stop::rejected;
}

InstanceRun::Stop InstanceRun::build_source(std::string& reason) {
  environment_.attributes.clear();
  environment_.values.clear();
  environment_.lists.clear();
  chosen_.clear();
  value_facts_.clear();
  has_other_types_ = false;
  if (auto made = make_variables(); !made) return reject(reason, made.error().message);
  guard_facts_.clear();
  if (!guards(true, reason)) return Stop::rejected;

  SourceTyping typing(symbols(), choices_, assumed_);
  typing.refine = [&] {
    guard_facts_.clear();
    std::string ignored;
    return guards(true, ignored) && extend_substitution(guard_facts_);
  };
  SourceBuilder builder(*arena_, typing, environment_, choices_, substitution_, chosen_);
  for (const Statement& statement : rule_.source) {
    auto outputs = builder.build(statement.term, ir::DataType::float32);
    if (!outputs && typing.restart) {
      extend_substitution(assumed_);
      return Stop::restart;
    }
    if (!outputs) return reject(reason, outputs.error().message);
    if (outputs->size() != statement.outputs.size()) {
      return reject(reason,
                    fmt::format("expected {} outputs of {}, found {}", statement.outputs.size(), statement.term.name, outputs->size()));
    }
    for (std::size_t k = 0; k < outputs->size(); ++k) environment_.values[statement.outputs[k]] = (*outputs)[k];
  }
  guard_facts_.clear();
  if (!guards(false, reason)) return Stop::rejected;
  typing_facts_ = std::move(typing.facts);
  if (extend_substitution(typing_facts_) || extend_substitution(guard_facts_)) return Stop::restart;
  return Stop::none;
}

const Guard* InstanceRun::guard_of(std::string_view variable, Guard::Kind kind) const {
  for (const Guard& guard : rule_.guards) {
    if (guard.value == variable && guard.kind == kind) return &guard;
  }
  return nullptr;
}

bool InstanceRun::guards(bool early, std::string& reason) {
  for (const Guard& guard : rule_.guards) {
    if (!guard.value.empty()) continue;
    const auto a = evaluate(guard.arguments[0], environment_, symbols());
    const auto b = evaluate(guard.arguments[1], environment_, symbols());
    if (!a || !b) {
      if (early) continue;
      reason = (!a ? a : b).error().message;
      return false;
    }
    if (!relation(guard, *a, *b)) {
      reason = fmt::format("guard {} is false", print(guard));
      return false;
    }
  }
  return true;
}

bool InstanceRun::relation(const Guard& guard, const ir::AttributeValue& a, const ir::AttributeValue& b) {
  const auto* p = std::get_if<ir::Poly>(&a);
  const auto* q = std::get_if<ir::Poly>(&b);
  const auto* ps = std::get_if<std::vector<ir::Poly>>(&a);
  const auto* qs = std::get_if<std::vector<ir::Poly>>(&b);
  if (p != nullptr && q != nullptr) return relation(guard, *p, *q);
  if (ps == nullptr && p == nullptr) return a == b && guard.kind == Guard::Kind::equal;
  if (qs == nullptr && q == nullptr) return false;
  if (ps != nullptr && qs != nullptr && ps->size() != qs->size()) return false;
  for (std::size_t k = 0; k < (ps != nullptr ? ps : qs)->size(); ++k) {
    if (!relation(guard, ps != nullptr ? (*ps)[k] : *p, qs != nullptr ? (*qs)[k] : *q)) return false;
  }
  return true;
}

bool InstanceRun::relation(const Guard& guard, const ir::Poly& a, const ir::Poly& b) {
  if (const auto known = holds(guard.kind, a, b, symbols())) return *known;
  ops::Atom atom = ops::equal(a, b);
  if (guard.kind == Guard::Kind::not_equal) atom = ops::different(a, b);
  if (guard.kind == Guard::Kind::at_least) atom = ops::at_least(a, b);
  if (guard.kind == Guard::Kind::greater) atom = ops::less_than(b, a);
  guard_facts_.push_back({atom, "guard " + print(guard)});
  return true;
}

bool InstanceRun::extend_substitution(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    if (fact.atom.relation != ops::Relation::zero) continue;
    const ir::Poly p = symbols().substitute(fact.atom.poly, substitution_);
    if (p.is_constant() || p.is_poisoned()) continue;
    for (const ir::SymbolId symbol : p.symbols()) {
      const auto linear = p.linear_in(symbol);
      if (!linear) continue;
      const auto coefficient = linear->first.constant();
      if (!coefficient || (*coefficient != 1 && *coefficient != -1)) continue;
      const ir::Poly value = *coefficient == 1 ? -linear->second : linear->second;
      if (is_defined(symbols().info(symbol).kind) || symbols().occurs(value, symbol)) continue;
      if (symbols().info(symbol).kind == ir::SymbolKind::dimension) {
        const auto low = symbols().lower_bound(value);
        if (!low || *low < 1)
          dimension_facts_.push_back({ops::at_least(value, 1), fmt::format("dimension {} is at least 1", symbols().info(symbol).name)});
      }
      for (auto& [other, old] : substitution_) old = symbols().substitute(old, {{symbol, value}});
      substitution_.emplace(symbol, value);
      return true;
    }
  }
  return false;
}

std::string InstanceRun::undeclared() const {
  const auto found = std::find_if(rule_.variables.begin(), rule_.variables.end(), [&](const std::string& v) {
    return rule_.declaration(v) == nullptr && guard_of(v, Guard::Kind::is_scalar) == nullptr && rule_.names.at(v) == NameKind::value;
  });
  return rule_.pointwise || found == rule_.variables.end() ? std::string() : *found;
}

Result<RuleInstance> InstanceRun::finish() {
  RuleInstance instance;
  instance.variables = variables_;
  instance.variable_names = variable_names_;
  instance.output_names = rule_.outputs;
  for (const std::string& output : rule_.outputs) instance.source.outputs.push_back(environment_.values.at(output));
  for (const auto* facts : {&dimension_facts_, &assumed_, &typing_facts_, &guard_facts_}) {
    for (const Fact& fact : *facts) add_fact(instance.facts, fact);
  }
  instance.value_facts = value_facts_;
  instance.replaced.assign(substitution_.begin(), substitution_.end());
  for (const Guard& guard : rule_.guards) {
    if (guard.kind != Guard::Kind::is_in_range) continue;
    XFLOW_TRY(const ir::Poly low, evaluate_integer(guard.arguments[0], environment_, symbols()));
    XFLOW_TRY(const ir::Poly end, evaluate_integer(guard.arguments[1], environment_, symbols()));
    // Dimensions are at least 1, so the tensor has an element and the range is not empty.
    add_fact(instance.facts, {ops::less_than(low, end), "guard " + print(guard)});
    instance.value_facts.push_back({environment_.values.at(guard.value), ValueFact::Kind::in_range,
                                    symbols().substitute(low, substitution_), symbols().substitute(end, substitution_)});
  }
  for (const auto& [name, text] : chosen_) instance.choice += (instance.choice.empty() ? "" : ", ") + text;

  std::string at = instance.choice.empty() ? "" : fmt::format(" (for {})", instance.choice);
  if (!undeclared().empty())
    at += fmt::format("; other ranks are left out by a type under 'with' or a guard such as rank({}) = 2", undeclared());
  TargetTyping typing(symbols(), instance.facts);
  Environment target = environment_;
  for (const std::string& output : rule_.outputs) target.values.erase(output);
  for (const Statement& statement : rule_.target) {
    TargetBuilder builder(*arena_, typing, target);
    auto outputs = builder.build(statement.term, ir::DataType::float32);
    if (!outputs) return fail(ErrorCode::ill_typed, fmt::format("target: {}{}", outputs.error().message, at));
    if (outputs->size() != statement.outputs.size()) {
      return fail(ErrorCode::ill_typed,
                  fmt::format("target: expected {} outputs, found {}{}", statement.outputs.size(), outputs->size(), at));
    }
    for (std::size_t k = 0; k < outputs->size(); ++k) target.values[statement.outputs[k]] = (*outputs)[k];
  }
  for (const Fact& obligation : typing.obligations) {
    const bool given = std::any_of(instance.facts.begin(), instance.facts.end(), [&](const Fact& fact) {
      return fact.atom.relation == obligation.atom.relation && fact.atom.poly == obligation.atom.poly;
    });
    if (!given) add_fact(instance.obligations, obligation);
  }
  for (std::size_t k = 0; k < rule_.outputs.size(); ++k) {
    const ir::ValueId value = target.values.at(rule_.outputs[k]);
    const ir::TensorType& from = arena_->type(instance.source.outputs[k]);
    const ir::TensorType& to = arena_->type(value);
    if (from.data_type != to.data_type || from.rank() != to.rank()) {
      return fail(ErrorCode::ill_typed, fmt::format("output {}: source {}, target {}{}", rule_.outputs[k], ir::to_string(symbols(), from),
                                                    ir::to_string(symbols(), to), at));
    }
    for (std::size_t d = 0; d < from.rank(); ++d) {
      if (from.shape[d] == to.shape[d]) continue;
      instance.obligations.push_back({ops::equal(from.shape[d], to.shape[d]),
                                      fmt::format("dimension {} of output {} is {} in the source, {} in the target", d, rule_.outputs[k],
                                                  symbols().to_string(from.shape[d]), symbols().to_string(to.shape[d]))});
    }
    instance.target.outputs.push_back(value);
  }
  instance.arena = std::move(arena_);
  return instance;
}

void InstanceRun::add_fact(std::vector<Fact>& facts, const Fact& fact) {
  Fact current = fact;
  current.atom.poly = symbols().substitute(fact.atom.poly, substitution_);
  if (current.atom.relation == ops::Relation::zero && current.atom.poly.is_zero()) return;
  for (const Fact& other : facts) {
    if (other.atom.relation == current.atom.relation && other.atom.poly == current.atom.poly) return;
  }
  facts.push_back(std::move(current));
}

}  // namespace xflow::rules
