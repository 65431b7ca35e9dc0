// The elements of a rule's two sides as trees of numbers: what the float class is decided on.
//
// Operators that move data are gone: an element of concat(relu(x), z) is relu(x) or z, for some elements of x and z. An operator whose
// result depends on many elements is a function of one element of each operand of which nothing more is known.
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
// What an element of a tensor can be; nothing where that is too much to list.
using ElementSet = std::optional<std::vector<ElementId>>;

struct Element {
  enum class Kind : std::uint8_t { number, variable, application };
  Kind kind = Kind::number;
  std::string name;  // of a variable or an operator
  double number = 0;
  const ops::FloatEffect* effect = nullptr;  // of an application
  std::vector<ElementId> operands;
  std::vector<double> attributes;  // in the order of the signature; those that are no real numbers are 0
  bool evaluable = false;          // an application whose result is effect->scalar
  bool boolean = false;
};

// True for a difference, false for a sum.
inline bool subtracts(const ops::FloatEffect& effect) {
  constexpr std::array<double, 2> kOperands = {0, 1};
  return effect.scalar(kOperands, {}) < 0;
}

// All elements of both sides; equal ones have one id, and operands have smaller ids than what they are operands of.
class Elements {
 public:
  explicit Elements(const Rule& rule);

  const Element& operator[](ElementId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return nodes_.size(); }
  // For each output of the rule: what its elements can be.
  const std::vector<ElementSet>& source() const { return source_; }
  const std::vector<ElementSet>& target() const { return target_; }
  // True if an operator moves elements to other places.
  bool moves() const { return moves_; }
  // Everything below `roots`, and they themselves, in the order of ids. With `into_opaque` also the operands of what is not evaluable.
  std::vector<ElementId> below(std::span<const ElementId> roots, bool into_opaque) const;
  // True for numbers, for variables that are known before the run, and for what is computed from these alone.
  bool known(ElementId id) const;
  // The smallest interval that the declared ranges of operators give for finite variables.
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

// What tells two elements apart that are equal for ordinary numbers.
enum class SpecialChange : std::uint8_t { none, infinity, nan, zero_sign };

// How strictly results are compared.
enum class Strictness : std::uint8_t {
  bits,     // ONNX leaves nothing open that could differ
  rounding  // 0 that a runtime may give either sign, and what becomes of infinities that meet, may differ
};

// Evaluates two elements for ordinary numbers. True if none was found for which they differ.
bool may_be_equal(const Elements& elements, ElementId a, ElementId b);
// True if, for some ordinary numbers, `id` changes with each variable below it.
bool depends_on_all(const Elements& elements, ElementId id);
// True if no variable occurs twice in `id`, and a function of which nothing is known counts as one.
bool reads_once(const Elements& elements, ElementId id);
// Evaluates `a` of the source and `b` of the target for infinities, NaN, zeros of both signs and numbers about those that occur.
SpecialChange special_change(const Elements& elements, const Rule& rule, ElementId a, ElementId b, Strictness strictness);

}  // namespace xflow::rules
