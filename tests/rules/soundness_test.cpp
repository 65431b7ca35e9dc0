// Each shipped rule, matched on concrete graphs that are its own source, gives a graph that computes the same.
//
// The graphs are made from the rule's instances by drawing sizes that satisfy their facts; matching and building do not know of instances,
// so this tests that what is matched is within what was proved.
#include <algorithm>
#include <cmath>
#include <random>

#include "src/eval/evaluate.h"
#include "src/rules/apply.h"
#include "src/rules/instantiate.h"
#include "src/rules/verified_rules.h"
#include "tests/places.h"
#include "tests/rules/rules_for_tests.h"

namespace xflow::rules {
namespace {

using ir::ValueId;
using Sizes = std::unordered_map<ir::SymbolId, std::int64_t>;

// A concrete graph with the values of its inputs.
struct Model {
  ir::Arena arena;
  ir::Graph graph;
  eval::Bindings inputs;
};

class Drawer {
 public:
  Drawer(const Rule& rule, const RuleInstance& instance, std::uint32_t seed) : rule_(rule), instance_(instance), random_(seed) {}

  // Sizes that satisfy the facts; nothing if none were found.
  std::optional<Sizes> sizes() {
    const ir::Symbols& symbols = instance_.arena->symbols();
    for (int attempt = 0; attempt < 3000; ++attempt) {
      Sizes sizes;
      for (std::size_t k = 0; k < symbols.size(); ++k) {
        const auto id = static_cast<ir::SymbolId>(k);
        const ir::SymbolKind kind = symbols.info(id).kind;
        if (kind == ir::SymbolKind::dimension) sizes[id] = draw(1, attempt % 2 == 0 ? 3 : 5);
        if (kind == ir::SymbolKind::parameter) sizes[id] = draw(0, 2);
      }
      if (std::all_of(instance_.facts.begin(), instance_.facts.end(), [&](const Fact& fact) { return holds(fact, sizes); })) return sizes;
    }
    return std::nullopt;
  }

  // The source at these sizes.
  std::unique_ptr<Model> model(const Sizes& sizes) {
    auto model = std::make_unique<Model>();
    std::unordered_map<ValueId, ValueId> made;
    for (std::size_t k = 0; k < instance_.variables.size(); ++k) {
      const ValueId variable = instance_.variables[k];
      made[variable] = input(*model, variable, instance_.variable_names[k], sizes, static_cast<std::uint32_t>(k));
    }
    for (const ir::NodeId id : ir::topological_order(*instance_.arena, instance_.source)) {
      const ir::Node& node = instance_.arena->node(id);
      if (node.kind != ir::NodeKind::operation) continue;
      if (node.operands.empty()) {
        made[{id, 0}] = literal(*model, node, sizes);
        continue;
      }
      std::vector<ValueId> operands;
      for (const ValueId operand : node.operands) operands.push_back(made.at(operand));
      ops::Typing typing(model->arena.symbols());
      auto built = ops::apply(model->arena, typing, node.op, std::move(operands), concrete(node.attributes, sizes));
      EXPECT_TRUE(built) << rule_.name << ": " << (built ? "" : built.error().text());
      if (!built) return nullptr;
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) made[{id, k}] = {*built, k};
    }
    for (const ValueId output : instance_.source.outputs) model->graph.outputs.push_back(made.at(output));
    return model;
  }

 private:
  std::int64_t draw(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random_); }

  std::optional<std::int64_t> value(const ir::Poly& p, const Sizes& sizes) const {
    return instance_.arena->symbols().evaluate(p, [&](ir::SymbolId id) -> std::optional<std::int64_t> {
      const auto found = sizes.find(id);
      return found == sizes.end() ? std::nullopt : std::optional(found->second);
    });
  }
  bool holds(const Fact& fact, const Sizes& sizes) const {
    const auto v = value(fact.atom.poly, sizes);
    if (!v) return false;
    if (fact.atom.relation == ops::Relation::zero) return *v == 0;
    return fact.atom.relation == ops::Relation::not_zero ? *v != 0 : *v >= 0;
  }
  std::vector<std::int64_t> dims(const ir::Shape& shape, const Sizes& sizes) const {
    std::vector<std::int64_t> result;
    for (const ir::Poly& p : shape) result.push_back(value(p, sizes).value_or(1));
    return result;
  }
  ir::Attributes concrete(const ir::Attributes& attributes, const Sizes& sizes) const {
    ir::Attributes result;
    for (const ir::Attribute& attribute : attributes.list()) {
      ir::AttributeValue v = attribute.value;
      if (auto* p = std::get_if<ir::Poly>(&v)) *p = ir::Poly(value(*p, sizes).value_or(0));
      if (auto* list = std::get_if<std::vector<ir::Poly>>(&v)) *list = ir::polys(dims(*list, sizes));
      if (auto* real = std::get_if<ir::Real>(&v); real != nullptr && real->is_variable()) *real = ir::Real(*ir::Rational::make(1, 4));
      result.set(attribute.name, std::move(v));
    }
    return result;
  }

  bool has_guard(const std::string& variable, Guard::Kind kind) const {
    return std::any_of(rule_.guards.begin(), rule_.guards.end(),
                       [&](const Guard& guard) { return guard.kind == kind && guard.value == variable; });
  }
  ValueId input(Model& model, ValueId variable, const std::string& name, const Sizes& sizes, std::uint32_t serial) {
    const ir::TensorType& type = instance_.arena->type(variable);
    const std::vector<std::int64_t> shape = dims(type.shape, sizes);
    std::uint64_t count = 1;
    for (const std::int64_t d : shape) count *= static_cast<std::uint64_t>(d);
    std::vector<double> values;
    for (std::uint64_t k = 0; k < count; ++k) {
      // Values of the type: of float32, or of few bits.
      double v = static_cast<float>(draw(-12, 12)) / (ir::bits(type.data_type) < 32 ? 8.0F : 7.0F);
      if (std::abs(v) < 0.1 && has_guard(name, Guard::Kind::is_nonzero)) v = 1;
      if (has_guard(name, Guard::Kind::is_positive) || has_guard(name, Guard::Kind::is_nonnegative)) v = std::abs(v) + 0.125;
      values.push_back(v);
    }
    if (has_guard(name, Guard::Kind::is_constant)) return model.arena.constant(*ir::make_constant(type.data_type, shape, values));
    ir::Shape sized;
    for (const std::int64_t d : shape) sized.emplace_back(d);
    const ValueId result = model.arena.input({type.data_type, true, sized}, serial);
    model.inputs.emplace(result, eval::Tensor::of_doubles(type.data_type, shape, values));
    return result;
  }
  ValueId literal(Model& model, const ir::Node& node, const Sizes& sizes) {
    const std::vector<std::int64_t> shape = dims(node.outputs[0].shape, sizes);
    std::uint64_t count = 1;
    for (const std::int64_t d : shape) count *= static_cast<std::uint64_t>(d);
    const std::vector<double> values(count, node.attributes.real("value").to_double());
    return model.arena.constant(*ir::make_constant(node.outputs[0].data_type, shape, values));
  }

  const Rule& rule_;
  const RuleInstance& instance_;
  std::mt19937 random_;
};

// The largest difference of the outputs, relative where they are large; infinite if shapes differ.
double difference(Model& model, const ir::Graph& rewritten, const std::string& where) {
  const auto before = eval::evaluate(model.arena, model.graph, model.inputs);
  const auto after = eval::evaluate(model.arena, rewritten, model.inputs);
  EXPECT_TRUE(before) << where << (before ? "" : before.error().text());
  EXPECT_TRUE(after) << where << (after ? "" : after.error().text());
  if (!before || !after) return INFINITY;
  double worst = 0;
  for (std::size_t k = 0; k < before->size(); ++k) {
    if ((*before)[k].dims != (*after)[k].dims) return INFINITY;
    const auto a = *eval::doubles((*before)[k]);
    const auto b = *eval::doubles((*after)[k]);
    for (std::size_t j = 0; j < a.size(); ++j) {
      if (!std::isfinite(a[j])) continue;  // division by 0, logarithm of a negative number
      const double d = std::abs(a[j] - b[j]) / std::max(1.0, std::abs(a[j]));
      worst = std::max(worst, std::isnan(d) ? INFINITY : d);
    }
  }
  return worst;
}

// True if evaluation in float gives the same bits, but for the sign of 0.
bool same_bits(Model& model, const ir::Graph& rewritten) {
  eval::Options options;
  options.number = eval::Number::float32;
  const auto before = eval::evaluate(model.arena, model.graph, model.inputs, options);
  const auto after = eval::evaluate(model.arena, rewritten, model.inputs, options);
  EXPECT_TRUE(before && after);
  if (!before || !after) return false;
  for (std::size_t k = 0; k < before->size(); ++k) {
    const auto a = *eval::doubles((*before)[k]);
    const auto b = *eval::doubles((*after)[k]);
    if (a.size() != b.size()) return false;
    for (std::size_t j = 0; j < a.size(); ++j)
      if (!(a[j] == b[j] || (std::isnan(a[j]) && std::isnan(b[j])))) return false;
  }
  return true;
}

struct Outcome {
  int models = 0;     // on which the rule was tried
  int unmatched = 0;  // of them those where it did not match its own source
  int compared = 0;   // rewritten graphs that were compared
  int inexact = 0;    // of them those with other bits in float
  double worst = 0;   // the largest difference
  std::string where;  // the choice of the instance where it was
};

// Tries the rule on a model drawn from one instance.
void try_instance(const Rule& rule, const Pattern& pattern, const RuleInstance& instance, std::uint32_t seed, Outcome& outcome) {
  Drawer drawer(rule, instance, seed);
  const auto sizes = drawer.sizes();
  const std::unique_ptr<Model> model = sizes ? drawer.model(*sizes) : nullptr;
  if (!model) return;
  ++outcome.models;
  const ir::Uses uses(model->arena, model->graph);
  MatchOptions options;
  options.fast_math = true;
  int matches = 0;
  for (const ir::NodeId node : uses.order()) {
    match(pattern, model->arena, uses, node, options, [&](Match& found) {
      ++matches;
      auto replacements = apply(model->arena, found);
      if (!replacements) return true;
      const auto rewritten = ir::replace(model->arena, model->graph, *replacements);
      EXPECT_TRUE(rewritten) << rule.name;
      if (!rewritten) return true;
      ++outcome.compared;
      const double d = difference(*model, *rewritten, rule.name + " at " + instance.choice + ": ");
      if (!same_bits(*model, *rewritten)) ++outcome.inexact;
      if (d > outcome.worst) outcome.where = instance.choice;
      outcome.worst = std::max(outcome.worst, d);
      return true;
    });
  }
  if (matches == 0) {
    ++outcome.unmatched;
    outcome.where = instance.choice;
  }
}

// Instances of small ranks come first; some later ones are tried as well.
Outcome try_rule(const Rule& rule) {
  Outcome outcome;
  const auto pattern = Pattern::compile(rule);
  EXPECT_TRUE(pattern) << (pattern ? "" : pattern.error().text());
  const auto instances = instantiate(rule);
  EXPECT_TRUE(instances) << (instances ? "" : instances.error().text());
  if (!pattern || !instances) return outcome;
  const std::size_t step = std::max<std::size_t>(1, instances->size() / 5);
  std::uint32_t seed = 1;
  for (std::size_t k = 0; k < instances->size(); k += step) {
    for (int attempt = 0; attempt < 3; ++attempt) try_instance(rule, **pattern, (*instances)[k], seed++, outcome);
  }
  return outcome;
}

class ShippedRule : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedRule, ReplacesItsSourceByWhatComputesTheSame) {
  const auto text = read_rule_file(places::repository() + "/substitutions/" + GetParam() + ".rules");
  ASSERT_TRUE(text);
  for (const Rule& rule : parsed(*text)) {
    const Outcome outcome = try_rule(rule);
    EXPECT_GE(outcome.compared, 1) << rule.name << " was never applied";
    EXPECT_EQ(outcome.unmatched, 0) << rule.name << " does not match its own source at " << outcome.where;
    EXPECT_LT(outcome.worst, 1e-5) << rule.name << " at " << outcome.where;
    if (rule.float_class != FloatClass::exact) continue;
    EXPECT_EQ(outcome.inexact, 0) << rule.name << " is said to be exact";
  }
}

TEST(FloatClass, OfRulesThatComputeInAnotherOrderIsSeenInFloat) {
  const auto tried = [](const std::string& source, const std::string& target) {
    const Rule rule =
        parsed("rule r\n  with\n    x: [A], z: [A], w: [A]\n  source\n    y = " + source + "\n  target\n    y = " + target + "\n")[0];
    EXPECT_EQ(rule.float_class, FloatClass::rounding);
    Outcome all;
    const auto pattern = Pattern::compile(rule);
    const auto instances = instantiate(rule);
    for (std::uint32_t seed = 1; seed <= 20; ++seed) try_instance(rule, **pattern, instances->front(), seed, all);
    EXPECT_LT(all.worst, 1e-5);
    return all.inexact;
  };
  EXPECT_GT(tried("(x + z) + w", "x + (z + w)"), 0);
  EXPECT_GT(tried("x * z + x * w", "x * (z + w)"), 0);
}

TEST(WrongRule, IsSeenByTheSameComparison) {
  const Outcome sign = try_rule(parsed("rule r\n  source y = x - z\n  target y = x + z\n")[0]);
  EXPECT_GE(sign.compared, 1);
  EXPECT_GT(sign.worst, 1e-3);
  const Outcome order = try_rule(parsed(
      "rule r\n  with\n    x: [A, N], z: [A, N]\n  source\n    y = concat(x, z, axis: 1)\n  target\n    y = concat(z, x, axis: 1)\n")[0]);
  EXPECT_GE(order.compared, 1);
  EXPECT_GT(order.worst, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Files, ShippedRule,
                         ::testing::Values("activation", "branches", "convolution", "matmul", "means", "movement", "neutral",
                                           "normalisation", "slices", "unit_axis", "upsampling"),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace xflow::rules
