// The attributes of operators that copy the elements of their operand: reshapes, expansions, slices of
// everything and casts. Rules with them leave all shapes open.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/generator/enumerate/graph_signature.h"
#include "src/generator/rules/leaf_names.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"
#include "src/support/acceptance.h"

namespace xflow::generator {

class CopyAttributes {
 public:
  using Attributes = std::vector<rules::Term::NamedExpression>;

  // The arguments must outlive the object.
  CopyAttributes(const GeneralShapes& shapes, const LeafNames& names) : shapes_(shapes), names_(names) {}

  // Whether an operator has such attributes.
  static bool are_of(const Choice& choice);
  // The attributes of an operator whose result has these dimensions. A shape is that of an input, or a
  // variable, which the source binds. Refuses in `expressible` if there is neither.
  Attributes of(const Choice& choice, const std::vector<Parts>& result, bool source, Acceptance& expressible);
  // Bounds on the ranks of inputs and on the lengths of the variables; none where there is one input and no
  // variable.
  std::vector<rules::Guard> guards() const;

 private:
  // The expression of the shape of an input; nothing if none has these dimensions.
  std::optional<rules::Expression> shape_of_input(const std::vector<Parts>& dims) const;

  const GeneralShapes& shapes_;
  const LeafNames& names_;
  bool are_used_ = false;
  std::vector<std::pair<std::vector<Parts>, std::string>> variables_;  // shapes that no input has
};

}  // namespace xflow::generator
