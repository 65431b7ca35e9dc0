#include "src/generator/rules/rule_goal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_set>

#include "src/ops/operator.h"
#include "src/rules/instantiate.h"
#include "src/verifier/algebra/facts.h"
#include "src/verifier/counterexample/concrete.h"
#include "src/verifier/counterexample/sample.h"
#include "src/verifier/proof/assumptions.h"

namespace xflow::generator {
namespace {

using ir::Poly;
using ir::SymbolId;
using ir::SymbolKind;
using verifier::Assignment;

// Chooses sizes for one instance, first those with the fewest accidental equalities.
class GoalSizes {
 public:
  explicit GoalSizes(rules::RuleInstance& instance)
      : instance_(instance),
        symbols_(instance.arena->symbols()),
        concrete_(instance),
        sampler_(instance, concrete_, 1, kResources),
        solved_(verifier::solve_facts(symbols_, instance.facts)) {
    collect();
  }

  std::vector<Assignment> assignments() {
    std::vector<std::pair<std::size_t, Assignment>> found;
    const auto add = [&](Assignment a) {
      const std::size_t accidents = this->accidents(a);
      const auto same = [&](const auto& other) { return other.second.integers == a.integers; };
      if (std::none_of(found.begin(), found.end(), same)) found.emplace_back(accidents, std::move(a));
      return accidents;
    };
    for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt)
      if (auto a = distinct(attempt); a && add(*std::move(a)) == 0) break;
    if (found.empty())
      for (Assignment& a : sampler_.assignments(kSamples)) add(std::move(a));
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Assignment> result;
    for (auto& [accidents, a] : found) {
      give_reals(a);
      result.push_back(std::move(a));
    }
    return result;
  }

 private:
  static constexpr std::uint64_t kResources = 2'000'000;
  static constexpr std::uint64_t kAttempts = 64;
  static constexpr std::size_t kSamples = 16;

  // Collects the sizes that should differ: every dimension and integer attribute, simplified by the facts.
  void collect() {
    std::unordered_set<Poly, ir::PolyHash> seen;
    const auto add = [&](const Poly& p) {
      const Poly known = symbols_.substitute(p, solved_.solved);
      if (seen.insert(known).second) sizes_.push_back(known);
    };
    for (const ir::Graph* graph : {&instance_.source, &instance_.target}) {
      for (const ir::NodeId id : ir::topological_order(*instance_.arena, *graph)) {
        const ir::Node& node = instance_.arena->node(id);
        for (const ir::TensorType& t : node.outputs)
          for (const Poly& d : t.shape) add(d);
        for (const ir::Attribute& a : node.attributes.list()) {
          if (const auto* p = std::get_if<Poly>(&a.value)) add(*p);
          if (const auto* list = std::get_if<std::vector<Poly>>(&a.value)) std::for_each(list->begin(), list->end(), add);
        }
      }
    }
    std::set<SymbolId> drawn;
    const auto draw = [&](const Poly& p) {
      for (const SymbolId s : symbols_.all_symbols(p)) {
        const SymbolKind kind = symbols_.info(s).kind;
        if ((kind == SymbolKind::dimension || kind == SymbolKind::parameter) && !solved_.solved.contains(s)) drawn.insert(s);
      }
    };
    for (const SymbolId s : concrete_.symbols()) draw(Poly(s));
    for (const auto& [s, value] : solved_.solved) draw(value);
    for (const ops::Atom& f : solved_.facts) draw(f.poly);
    drawn_.assign(drawn.begin(), drawn.end());
  }

  std::optional<std::int64_t> value(const Poly& p, const Assignment& a) const {
    return symbols_.evaluate(p, [&](SymbolId s) -> std::optional<std::int64_t> {
      const auto known = a.integers.find(s);
      return known == a.integers.end() ? std::nullopt : std::optional(known->second);
    });
  }

  // Counts pairs of different sizes with the same value, and sizes that are 1 or 0 without need.
  std::size_t accidents(const Assignment& a) const {
    std::map<std::int64_t, std::size_t> count;
    std::size_t result = 0;
    for (const Poly& p : sizes_) {
      const auto v = value(p, a);
      if (!v) continue;
      result += count[*v]++;
      if (!p.is_constant() && (*v == 0 || *v == 1)) ++result;
    }
    return result;
  }

  // Draws different primes for the symbols that the facts leave free, repairs facts that fail, and computes
  // the other symbols.
  std::optional<Assignment> distinct(std::uint64_t attempt) {
    // Windows, strides and pads are small; other dimensions should be large enough for them.
    std::vector<std::int64_t> dimensions = {5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101};
    std::vector<std::int64_t> parameters = {2, 3, 4, 6, 8, 9, 10, 12, 14, 15, 16};
    dimensions.resize(std::min(dimensions.size(), drawn_.size() + 2));
    shuffle(dimensions, attempt);
    shuffle(parameters, attempt / 2);
    Assignment a;
    std::size_t d = 0;
    std::size_t p = 0;
    for (const SymbolId s : drawn_) {
      a.integers[s] =
          symbols_.info(s).kind == SymbolKind::dimension ? dimensions[d++ % dimensions.size()] : parameters[p++ % parameters.size()];
    }
    repair(a);
    const Assignment free = a;
    for (const auto& [s, by] : solved_.solved) {
      const auto v = value(by, free);
      if (!v) return std::nullopt;
      a.integers[s] = *v;
    }
    // Drop symbols that solving introduced; nothing else reads them.
    std::erase_if(a.integers, [&](const auto& entry) {
      return std::find(concrete_.symbols().begin(), concrete_.symbols().end(), entry.first) == concrete_.symbols().end() &&
             !std::binary_search(drawn_.begin(), drawn_.end(), entry.first);
    });
    return sampler_.satisfies_facts(a) ? std::optional(a) : std::nullopt;
  }

  static void shuffle(std::vector<std::int64_t>& list, std::uint64_t attempt) {
    if (attempt == 0) return;
    if (attempt == 1) std::reverse(list.begin(), list.end());
    std::uint64_t state = attempt;
    for (std::size_t k = list.size(); attempt > 1 && k > 1; --k) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(list[k - 1], list[(state >> 33U) % k]);
    }
  }

  // Repairs failing facts: each sets one of its symbols, in rotation, to the value that the fact requires.
  void repair(Assignment& a) {
    std::size_t turn = 0;
    for (int round = 0; round < 8; ++round) {
      bool moved = false;
      for (const ops::Atom& f : solved_.facts) {
        const auto v = value(f.poly, a);
        if (!v || concrete_.holds(f, a).value_or(true)) continue;
        std::vector<std::pair<SymbolId, std::int64_t>> movable;
        for (const SymbolId s : drawn_) {
          const auto linear = f.poly.linear_in(s);
          if (!linear || symbols_.occurs(linear->second, s)) continue;
          const auto c = linear->first.constant();
          if (c && (*c == 1 || *c == -1)) movable.emplace_back(s, *c);
        }
        if (movable.empty()) continue;
        const auto [s, c] = movable[turn++ % movable.size()];
        a.integers[s] += f.relation == ops::Relation::not_zero ? 1 : -c * *v;
        moved = true;
      }
      if (!moved) return;
    }
  }

  // Gives real symbols different values that are exact in every floating-point type.
  void give_reals(Assignment& a) const {
    std::int64_t numerator = 3;
    for (const std::string& name : concrete_.reals()) {
      a.reals[name] = *ir::Rational::make(numerator, 8);
      numerator += 2;
    }
  }

  rules::RuleInstance& instance_;
  ir::Symbols& symbols_;
  verifier::Concrete concrete_;
  verifier::Sampler sampler_;
  verifier::SolvedFacts solved_;
  std::vector<Poly> sizes_;
  std::vector<SymbolId> drawn_;  // in ascending order
};

// Builds both sides of an instance on tensors of known sizes. Returns nothing if the sides are ill-typed
// there.
class GoalBuilder {
 public:
  GoalBuilder(Vocabulary& vocabulary, const rules::RuleInstance& instance) : vocabulary_(vocabulary), instance_(instance) {}

  // `shapes`: the shapes of the variables, if they differ from the instance's.
  Result<std::optional<RuleGoal>> build(const Assignment& assignment, const std::vector<std::vector<std::int64_t>>* shapes) {
    std::vector<ir::ValueId> inputs;
    for (std::size_t k = 0; k < instance_.variables.size(); ++k) {
      ir::TensorType type = instance_.arena->type(instance_.variables[k]);
      if (type.data_type != ir::DataType::float32)
        return fail(ErrorCode::unsupported, fmt::format("{} is a tensor of {}, but derivations support float32 only",
                                                        instance_.variable_names[k], ir::name(type.data_type)));
      if (shapes != nullptr) {
        type.shape = ir::polys((*shapes)[k]);
      } else {
        for (Poly& d : type.shape) {
          const auto size = value(d, assignment);
          if (!size || *size < 1) return std::optional<RuleGoal>();
          d = Poly(*size);
        }
      }
      inputs.push_back(arena_.input(std::move(type), static_cast<std::uint32_t>(k)));
      nodes_[instance_.variables[k].node] = inputs.back().node;
    }
    std::vector<ir::ValueId> source;
    std::vector<ir::ValueId> target;
    XFLOW_TRY(const bool source_typed, side(instance_.source, assignment, source));
    XFLOW_TRY(const bool target_typed, side(instance_.target, assignment, target));
    if (!source_typed || !target_typed) return std::optional<RuleGoal>();
    for (std::size_t k = 0; k < source.size(); ++k)
      if (!(arena_.type(source[k]) == arena_.type(target[k]))) return std::optional<RuleGoal>();
    RuleGoal goal;
    for (const ir::ValueId v : inputs) goal.equation.inputs.push_back(vocabulary_.type(*ir::constant_shape(arena_.type(v).shape)));
    XFLOW_TRY(goal.equation.source, vocabulary_.flatten(arena_, inputs, source));
    XFLOW_TRY(goal.equation.target, vocabulary_.flatten(arena_, inputs, target));
    goal.names = instance_.variable_names;
    goal.choice = instance_.choice;
    return std::optional(std::move(goal));
  }

 private:
  std::optional<std::int64_t> value(const Poly& p, const Assignment& a) const {
    return instance_.arena->symbols().evaluate(p, [&](SymbolId s) -> std::optional<std::int64_t> {
      const auto known = a.integers.find(s);
      return known == a.integers.end() ? std::nullopt : std::optional(known->second);
    });
  }

  // Returns false if an attribute has no value.
  bool known(ir::AttributeValue& attribute, const Assignment& a) const {
    if (auto* p = std::get_if<Poly>(&attribute)) {
      const auto v = value(*p, a);
      if (v) *p = Poly(*v);
      return v.has_value();
    }
    if (auto* list = std::get_if<std::vector<Poly>>(&attribute)) {
      for (Poly& p : *list) {
        const auto v = value(p, a);
        if (!v) return false;
        p = Poly(*v);
      }
    }
    if (auto* r = std::get_if<ir::Real>(&attribute); r != nullptr && r->is_variable()) *r = ir::Real(a.reals.at(r->variable_name()));
    return true;
  }

  // Returns false if the side is ill-typed.
  Result<bool> side(const ir::Graph& graph, const Assignment& assignment, std::vector<ir::ValueId>& outputs) {
    ops::Typing typing(arena_.symbols());
    for (const ir::NodeId id : ir::topological_order(*instance_.arena, graph)) {
      if (nodes_.contains(id)) continue;
      const ir::Node& node = instance_.arena->node(id);
      if (node.is_absent) continue;
      if (node.kind == ir::NodeKind::constant) {
        nodes_[id] = arena_.constant(node.constant).node;
        continue;
      }
      const std::string_view name = ops::get(node.op).signature.name;
      if (node.operands.size() > EqTerm::kOperands)
        return fail(ErrorCode::unsupported,
                    fmt::format("{} has {} operands, but derivations support {} at most", name, node.operands.size(), EqTerm::kOperands));
      std::vector<ir::ValueId> operands;
      for (const ir::ValueId v : node.operands) {
        if (instance_.arena->is_absent(v))
          return fail(ErrorCode::unsupported, fmt::format("an operand of {} is absent, which derivations do not support", name));
        operands.push_back({nodes_.at(v.node), v.output});
      }
      ir::Attributes attributes;
      for (const ir::Attribute& a : node.attributes.list()) {
        ir::AttributeValue v = a.value;
        if (!known(v, assignment)) return false;
        attributes.set(a.name, std::move(v));
      }
      const auto applied = ops::apply(arena_, typing, node.op, std::move(operands), std::move(attributes));
      if (!applied) return false;
      nodes_[id] = *applied;
    }
    for (const ir::ValueId v : graph.outputs) outputs.push_back({nodes_.at(v.node), v.output});
    return true;
  }

  Vocabulary& vocabulary_;
  const rules::RuleInstance& instance_;
  ir::Arena arena_;
  std::map<ir::NodeId, ir::NodeId> nodes_;
};

Result<std::optional<RuleGoal>> goal_of(Vocabulary& vocabulary, rules::RuleInstance& instance) {
  for (const Assignment& a : GoalSizes(instance).assignments()) {
    XFLOW_TRY(auto goal, GoalBuilder(vocabulary, instance).build(a, nullptr));
    if (goal) return goal;
  }
  return std::optional<RuleGoal>();
}

// Goals on tensors of one shape, and with each variable in turn broadcast to it.
Result<std::vector<RuleGoal>> pointwise_goals(Vocabulary& vocabulary, const rules::Rule& rule, rules::RuleInstance& instance,
                                              std::size_t most) {
  std::vector<std::size_t> tensors;
  for (std::size_t k = 0; k < instance.variable_names.size(); ++k) {
    const bool scalar = std::any_of(rule.guards.begin(), rule.guards.end(), [&](const rules::Guard& g) {
      return g.kind == rules::Guard::Kind::is_scalar && g.value == instance.variable_names[k];
    });
    if (!scalar) tensors.push_back(k);
  }
  const std::vector<Assignment> sizes = GoalSizes(instance).assignments();
  std::vector<RuleGoal> goals;
  if (sizes.empty()) return goals;
  for (std::size_t broadcast = 0; broadcast <= (tensors.size() > 1 ? tensors.size() : 0) && goals.size() < most; ++broadcast) {
    std::vector<std::vector<std::int64_t>> shapes(instance.variables.size());
    for (std::size_t k = 0; k < tensors.size(); ++k)
      shapes[tensors[k]] = k + 1 == broadcast ? std::vector<std::int64_t>{7} : std::vector<std::int64_t>{5, 7};
    XFLOW_TRY(auto goal, GoalBuilder(vocabulary, instance).build(sizes.front(), &shapes));
    if (!goal) continue;  // the target has another type, so the rule does not apply
    goals.push_back(*std::move(goal));
  }
  return goals;
}

// Selects the typical instance and instances evenly spread over all, in their order.
class GoalInstances {
 public:
  explicit GoalInstances(std::size_t most) : most_(most) {}

  void add(rules::RuleInstance instance) {
    if (!typical_ && verifier::is_typical(instance)) {
      typical_ = std::move(instance);
    } else if (seen_ % stride_ == 0) {
      spread_.push_back(std::move(instance));
    }
    ++seen_;
    if (spread_.size() < 2 * most_) return;
    // Keep every other instance, and double the distance.
    std::vector<rules::RuleInstance> kept;
    for (std::size_t k = 0; k < spread_.size(); k += 2) kept.push_back(std::move(spread_[k]));
    spread_ = std::move(kept);
    stride_ *= 2;
  }

  // Returns the typical instance first, then the others in order of decreasing distance.
  std::vector<rules::RuleInstance> take() {
    std::vector<rules::RuleInstance> result;
    if (typical_) result.push_back(*std::move(typical_));
    std::vector<bool> taken(spread_.size(), false);
    std::size_t step = 1;
    while (step < spread_.size()) step *= 2;
    for (; step > 0; step /= 2) {
      for (std::size_t k = spread_.size(); k-- > 0;) {
        if (taken[k] || (spread_.size() - 1 - k) % step != 0) continue;
        taken[k] = true;
        result.push_back(std::move(spread_[k]));
      }
    }
    return result;
  }

 private:
  std::size_t most_;
  std::size_t seen_ = 0;
  std::size_t stride_ = 1;
  std::optional<rules::RuleInstance> typical_;
  std::vector<rules::RuleInstance> spread_;
};

}  // namespace

std::string RuleGoal::inputs_text(const Vocabulary& vocabulary) const {
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k)
    text += fmt::format("{}{}: [{}]", text.empty() ? "" : ", ", names[k], fmt::join(vocabulary.dims(equation.inputs[k]), ", "));
  return text;
}

namespace {

// Whether a variable with an open floating-point type has another type than float32 in the instance.
bool has_other_types(const rules::Rule& rule, const rules::RuleInstance& instance) {
  for (std::size_t k = 0; k < instance.variables.size(); ++k) {
    const rules::Declaration* const declared = rule.declaration(instance.variable_names[k]);
    const ir::DataType type = instance.arena->type(instance.variables[k]).data_type;
    const bool is_open = declared == nullptr || !declared->data_type;
    if (is_open && ir::is_floating(type) && type != ir::DataType::float32) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<RuleGoal>> goals_of(Vocabulary& vocabulary, const rules::Rule& rule, std::size_t most) {
  const std::string where = rules::place_text(rule.file, rule.place);
  const auto unsupported = [&](const std::string& what) {
    return fail(ErrorCode::unsupported, fmt::format("rule {}: {}", rule.name, what), where);
  };
  for (const std::string& v : rule.variables) {
    if (rule.names.at(v) == rules::NameKind::values)
      return unsupported(fmt::format("{}.. is a list of operands, which derivations do not support", v));
  }
  GoalInstances instances(most);
  XFLOW_CHECK(rules::for_each_instance(rule, [&](rules::RuleInstance instance) {
    if (!has_other_types(rule, instance)) instances.add(std::move(instance));
    return true;
  }));
  std::vector<RuleGoal> goals;
  for (rules::RuleInstance& instance : instances.take()) {
    if (goals.size() >= most) break;
    if (rule.pointwise) {
      auto found = pointwise_goals(vocabulary, rule, instance, most);
      if (!found) return unsupported(found.error().message);
      goals.insert(goals.end(), std::make_move_iterator(found->begin()), std::make_move_iterator(found->end()));
      continue;
    }
    auto goal = goal_of(vocabulary, instance);
    if (!goal) return unsupported(goal.error().message);
    if (*goal) goals.push_back(**std::move(goal));
  }
  if (goals.empty()) return unsupported("no sizes were found that satisfy its guards and the typing of its source");
  return goals;
}

RuleDerivation derive(Deriver& deriver, const std::vector<RuleGoal>& goals, const DeriveLimits& limits, Goal wanted, bool with_steps) {
  RuleDerivation result;
  std::set<std::size_t> used;
  for (const RuleGoal& goal : goals) {
    result.answers.push_back(deriver.derive(goal.equation, limits, wanted, with_steps));
    result.derived = result.answers.back().derived;
    if (!result.derived) return result;
    used.insert(result.answers.back().rules.begin(), result.answers.back().rules.end());
  }
  result.rules.assign(used.begin(), used.end());
  return result;
}

}  // namespace xflow::generator
