#include "src/generator/rules/copy_attributes.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "src/ops/op.h"
#include "src/rules/rule_parts.h"

namespace xflow::generator {

bool CopyAttributes::are_of(const Choice& choice) {
  return choice.shape == ShapeRule::add_axis || choice.shape == ShapeRule::expand || choice.is(ops::Op::Slice) || choice.is(ops::Op::Cast);
}

std::optional<rules::Expression> CopyAttributes::shape_of_input(const std::vector<Parts>& dims) const {
  for (const std::uint8_t input : shapes_.inputs())
    if (shapes_.dims(input) == dims) return rules::call("dims", {rules::named(names_.input(input))});
  return std::nullopt;
}

CopyAttributes::Attributes CopyAttributes::of(const Choice& choice, const std::vector<Parts>& result, bool source,
                                              Acceptance& expressible) {
  are_used_ = true;
  if (choice.is(ops::Op::Cast))
    return {rules::attribute("to", rules::call("type", {rules::named(names_.input(shapes_.inputs().front()))}))};
  std::optional<rules::Expression> shape = shape_of_input(result);
  if (choice.is(ops::Op::Slice)) {
    if (!shape && expressible) expressible = refused("no input has the shape of a slice");
    return {rules::attribute("starts", rules::number(0)), rules::attribute("sizes", shape.value_or(rules::number(0))),
            rules::attribute("steps", rules::number(1))};
  }
  if (!shape) {
    auto found = std::find_if(variables_.begin(), variables_.end(), [&](const auto& v) { return v.first == result; });
    if (found == variables_.end()) {
      static constexpr std::array<const char*, 3> kNames = {"d", "e", "f"};
      if (!source && expressible) expressible = refused("no operation of the source has a shape of the target");
      variables_.emplace_back(result, numbered_name(kNames, variables_.size()));
      found = variables_.end() - 1;
    }
    shape = rules::named(found->second);
  }
  return {rules::attribute("shape", *std::move(shape))};
}

std::vector<rules::Guard> CopyAttributes::guards() const {
  std::vector<rules::Guard> result;
  if (!are_used_ || (variables_.empty() && shapes_.inputs().size() == 1)) return result;
  const auto at_most = [&](const char* function, const std::string& name, std::int64_t most) {
    result.push_back(rules::at_least(rules::number(most), rules::call(function, {rules::named(name)})));
  };
  // As many as `axes` has in its forms (generalisation.cpp), and one more for an axis that is added.
  for (const std::uint8_t input : shapes_.inputs()) at_most("rank", names_.input(input), 4);
  for (const auto& [dims, name] : variables_) at_most("length", name, 5);
  return result;
}

}  // namespace xflow::generator
