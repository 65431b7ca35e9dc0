#include "src/rules/apply.h"

#include <algorithm>

#include "src/rules/build.h"
#include "src/rules/constant_rules.h"

namespace xflow::rules {
namespace {

bool same_type(const ir::TensorType& a, const ir::TensorType& b) {
  return a.data_type == b.data_type && a.ranked == b.ranked && a.shape == b.shape;
}

class ReplacementBuilder final : public TermBuilder {
 public:
  ReplacementBuilder(ir::Arena& arena, ops::Typing& typing, const Environment& environment, const ConstantRules* constants)
      : TermBuilder(arena, typing, environment, Literals::rounded), constants_(constants) {}

 protected:
  void simplify(std::vector<ir::ValueId>& outputs) override {
    if (constants_ != nullptr) constants_->simplify(arena_, outputs);
  }

 private:
  const ConstantRules* constants_;
};

}  // namespace

std::optional<ir::ValueMap> apply(ir::Arena& arena, const Match& match, const ConstantRules* constants) {
  const Pattern& pattern = *match.pattern;
  const Rule& rule = pattern.rule();
  Environment environment = match.environment;
  for (const std::string& output : rule.outputs) environment.values.erase(output);
  ops::Typing typing(arena.symbols());
  // The proof treats variables under guard scalar(x) as scalars.
  for (const PatternVariable& variable : pattern.variables()) {
    if (!variable.scalar || variable.is_list || rule.pointwise) continue;
    ir::ValueId& value = environment.values.at(variable.name);
    if (arena.type(value).shape.empty()) continue;
    const auto scalar = ops::apply(arena, "reshape", {value}, {{"shape", std::vector<ir::Poly>{}}});
    if (!scalar) return std::nullopt;
    value = *scalar;
  }
  ReplacementBuilder builder(arena, typing, environment, constants);
  for (const Statement& statement : rule.target) {
    ir::DataType type = arena.type(match.outputs[0]).data_type;
    const auto output = std::find(rule.outputs.begin(), rule.outputs.end(), statement.outputs[0]);
    if (output != rule.outputs.end()) {
      type = arena.type(match.outputs[static_cast<std::size_t>(output - rule.outputs.begin())]).data_type;
    }
    const auto built = builder.build(statement.term, type);
    if (!built || built->size() != statement.outputs.size()) return std::nullopt;
    for (std::size_t k = 0; k < built->size(); ++k) environment.values[statement.outputs[k]] = (*built)[k];
  }
  ir::ValueMap replacements;
  for (std::size_t k = 0; k < rule.outputs.size(); ++k) {
    const ir::ValueId from = match.outputs[k];
    const ir::ValueId to = environment.values.at(rule.outputs[k]);
    if (!same_type(arena.type(from), arena.type(to))) return std::nullopt;
    if (from != to) replacements.emplace(from, to);
  }
  if (replacements.empty()) return std::nullopt;
  return replacements;
}

}  // namespace xflow::rules
