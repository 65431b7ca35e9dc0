// The elements of a rule's two sides as expression trees over numbers. The float class is computed from them.
//
// Operators that move data disappear: an element of concat(relu(x), z) is relu(x) or z, for some elements of
// x and z. An operator whose result depends on many elements is an opaque function of one element of each
// operand.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/ops/float_effect.h"
#include "src/rules/rule.h"

namespace xflow::rules {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using ElementId = int;
// The possible elements of a tensor. Nothing if there are too many to list.
using ElementSet = std::optional<std::vector<ElementId>>;

// An element of a tensor: a number, an element of a variable, or an operator applied to elements.
struct Element {
  enum class Kind : std::uint8_t { number, variable, application };
  Kind kind = Kind::number;
  std::string name;  // variables and applications: the name of the variable or operator
  double number = 0;
  const ops::FloatEffect* effect = nullptr;  // applications only
  std::vector<ElementId> operands;
  std::vector<double> attributes;  // in the order of the signature; 0 for attributes that are not real numbers
  bool evaluable = false;          // an application whose result is effect->scalar of its operands
  bool boolean = false;
};

// True for a difference, false for a sum. The effect must be one that adds.
inline bool subtracts(const ops::FloatEffect& effect) {
  constexpr std::array<double, 2> kOperands = {0, 1};
  return effect.scalar(kOperands, {}) < 0;
}

// All elements of both sides of a rule. Equal elements have one id. The ids of operands are smaller than the
// ids of the elements that use them.
class Elements {
 public:
  explicit Elements(const Rule& rule);

  const Element& operator[](ElementId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return nodes_.size(); }
  // The possible elements of each output of the rule.
  const std::vector<ElementSet>& source() const { return source_; }
  const std::vector<ElementSet>& target() const { return target_; }
  // True if some operator moves elements to other positions.
  bool moves() const { return moves_; }
  // The transitive operands of `roots`, including the roots, in the order of ids. `into_opaque` also enters
  // the operands of elements that are not evaluable.
  std::vector<ElementId> below(std::span<const ElementId> roots, bool into_opaque) const;
  // True for numbers, for variables whose value is known before the run, and for elements computed from these
  // alone.
  bool known(ElementId id) const;
  // An interval that contains the element for all finite values of the variables, by the declared ranges of
  // operators.
  std::pair<double, double> range(ElementId id) const;

 private:
  using Definitions = std::map<std::string, ElementSet, std::less<>>;
  ElementId make(Element element, const std::string& attributes);
  ElementId number(double value);
  ElementSet of(const Term& term, const Definitions& definitions);
  ElementSet made(const Term& term);
  ElementSet applied(const Term& term, const std::vector<ElementSet>& operands);
  Definitions define(std::span<const Statement> statements, Definitions definitions);

  const Rule& rule_;
  bool moves_ = false;
  std::vector<Element> nodes_;
  std::map<std::string, ElementId, std::less<>> ids_;
  std::vector<ElementSet> source_;
  std::vector<ElementSet> target_;
};

// How two elements that are equal for ordinary numbers differ.
enum class SpecialChange : std::uint8_t { none, infinity, nan, zero_sign };

// How strictly results are compared.
enum class Strictness : std::uint8_t {
  bits,     // results are equal bit for bit on every runtime
  rounding  // may differ: the sign of a 0 that ONNX leaves open, and results after infinities have met
};

// Evaluates two elements for ordinary numbers. True if no difference was found.
bool may_be_equal(const Elements& elements, ElementId a, ElementId b);
// True if, for some ordinary numbers, `id` changes with each variable below it.
bool depends_on_all(const Elements& elements, ElementId id);
// True if no variable occurs twice in `id`, operands of opaque functions included.
bool reads_once(const Elements& elements, ElementId id);
// Compares `a` of the source and `b` of the target on infinities, NaN, zeros of both signs, and numbers near
// the literals that occur.
SpecialChange special_change(const Elements& elements, const Rule& rule, ElementId a, ElementId b, Strictness strictness);

}  // namespace xflow::rules
