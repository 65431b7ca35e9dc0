// Guards of rules whose axes are variables: the shapes of the inputs are compared, except along these axes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/generator/rules/leaf_names.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"
#include "src/support/acceptance.h"

namespace xflow::generator {

// The axes that a concat or split of the source names.
struct NamedAxes {
  std::array<bool, 4> is_bound{};
  std::size_t last = 0;  // the axis that was named last

  void bind(std::size_t axis) {
    is_bound[axis] = true;
    last = axis;
  }
  // The first named axis is a, the second is b.
  std::string name(std::size_t axis) const { return is_bound[1 - axis % 2] && axis == last ? "b" : "a"; }
};

// The expression f(x), or f(x, a), of an input.
rules::Expression of_input(const LeafNames& names, const char* function, std::uint8_t input, std::optional<rules::Expression> axis = {});
// The expression dim(x, a).
rules::Expression dim_of(const LeafNames& names, std::uint8_t input, const std::string& axis);
// The sum of at least one term.
rules::Expression sum(std::vector<rules::Expression> terms);

// Compares every other input with the first one, except along axes in which they differ: adds the guards to
// `result`. Refuses if inputs have different numbers of dimensions, or differ along an axis without a name.
Acceptance compare_inputs(const GeneralShapes& shapes, const LeafNames& names, const NamedAxes& axes, std::vector<rules::Guard>& result);

}  // namespace xflow::generator
