#include "src/generator/rules/window_attributes.h"

#include <initializer_list>
#include <utility>

#include "src/ops/op.h"
#include "src/rules/rule_parts.h"

namespace xflow::generator {
namespace {

using Attributes = std::vector<rules::Term::NamedExpression>;

Attributes variables(std::initializer_list<std::pair<const char*, const char*>> names) {
  Attributes result;
  for (const auto& [attribute, variable] : names) result.push_back(rules::attribute(attribute, rules::named(variable)));
  return result;
}

}  // namespace

Attributes convolution_attributes(Generalisation generalisation, const Choice& choice) {
  const bool depthwise = choice.shape == ShapeRule::depthwise;
  if (has_enumerated_windows(generalisation)) {
    Attributes result;
    if (generalisation == Generalisation::strides) result = variables({{"strides", "s"}});
    result.push_back(rules::attribute("pads", rules::number(choice.axis == 1 && !depthwise ? 0 : 1)));
    if (depthwise || has_groups(generalisation)) result.push_back(rules::attribute("groups", rules::named(depthwise ? "C" : "g")));
    return result;
  }
  Attributes result = variables({{"strides", "s"}, {"pads", "p"}, {"dilations", "d"}});
  if (generalisation == Generalisation::no_pads) result[1] = rules::attribute("pads", rules::number(0));
  const bool one = !depthwise && generalisation != Generalisation::windows;
  result.push_back(rules::attribute("groups", one ? rules::number(1) : rules::named(depthwise ? "C" : "g")));
  return result;
}

Attributes pool_attributes(Generalisation generalisation, const Choice& choice) {
  Attributes result = has_enumerated_windows(generalisation)
                          ? Attributes{rules::attribute("kernel", rules::number(3)), rules::attribute("pads", rules::number(1))}
                          : variables({{"kernel", "k"}, {"strides", "s"}, {"pads", "p"}});
  if (generalisation == Generalisation::strides) result.push_back(rules::attribute("strides", rules::named("s")));
  if (generalisation == Generalisation::no_pads) result[2] = rules::attribute("pads", rules::number(0));
  if (choice.is(ops::Op::AveragePool)) result.push_back(rules::attribute("count_include_pad", rules::number(1)));
  return result;
}

}  // namespace xflow::generator
