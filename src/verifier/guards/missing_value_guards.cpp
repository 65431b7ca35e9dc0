// Finds guards on the values of tensors with which a rule is proved.
#include "src/ops/operator.h"
#include "src/rules/instantiate.h"
#include "src/verifier/guards/infer.h"
#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::verifier {

using rules::Guard;

namespace {

constexpr std::size_t kMostVariables = 6;

// Candidate lists of guards on the values of the variables.
std::vector<std::vector<Guard>> guards_on_values(const rules::Rule& rule, const rules::RuleInstance& instance) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < instance.variables.size(); ++k) {
    const ir::DataType type = instance.arena->type(instance.variables[k]).data_type;
    if (type != ir::DataType::boolean && type != ir::DataType::string) names.push_back(instance.variable_names[k]);
  }
  std::vector<std::vector<Guard>> lists;
  if (names.size() > kMostVariables) return lists;
  const auto guard = [](Guard::Kind kind, const std::string& name) {
    Guard g;
    g.kind = kind;
    g.value = name;
    return g;
  };
  const auto known = [&](const Guard& g) {
    return std::any_of(rule.guards.begin(), rule.guards.end(), [&](const Guard& x) { return x.kind == g.kind && x.value == g.value; });
  };
  for (const Guard::Kind kind : {Guard::Kind::is_nonzero, Guard::Kind::is_nonnegative, Guard::Kind::is_positive}) {
    std::vector<Guard> all;
    for (const std::string& name : names) {
      Guard g = guard(kind, name);
      if (known(g)) continue;
      lists.push_back({g});
      all.push_back(std::move(g));
    }
    if (all.size() > 1) lists.push_back(std::move(all));
  }
  return lists;
}

}  // namespace

std::vector<Guard> missing_value_guards(const rules::Rule& rule, const Options& given) {
  const Options options = given.started();
  std::vector<std::vector<Guard>> candidates;
  const auto look = [&](const rules::RuleInstance& instance) {
    // If data is only moved, values do not matter.
    const auto computes = [&](const ir::Graph& graph) {
      const std::vector<ir::NodeId> nodes = ir::topological_order(*instance.arena, graph);
      return std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) {
        const ir::Node& node = instance.arena->node(id);
        return node.kind == ir::NodeKind::operation && !ops::get(node.op).signature.moves_data;
      });
    };
    if (computes(instance.source) || computes(instance.target)) candidates = guards_on_values(rule, instance);
    return false;
  };
  if (!rules::for_each_instance(rule, look, [&] { return is_over(options.deadline); })) return {};
  const auto is_proved = [&](const std::vector<Guard>& list) {
    std::vector<Guard> guards = rule.guards;
    guards.insert(guards.end(), list.begin(), list.end());
    const auto stricter = with_guards(rule, guards);
    return stricter && decide(*stricter, options).verdict == Verdict::proved;
  };
  for (std::vector<Guard>& list : candidates) {
    if (is_over(options.deadline)) break;
    if (!is_proved(list)) continue;
    for (std::size_t k = list.size(); k-- > 0 && list.size() > 1;) {
      std::vector<Guard> fewer = list;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      if (is_proved(fewer)) list = std::move(fewer);
    }
    return list;
  }
  return {};
}

}  // namespace xflow::verifier
