// The elements of a rule's two sides as expression trees over numbers. The float class is computed from
// them.
//
// Operators that move data disappear: an element of concat(relu(x), z) is relu(x) or z, for some elements of
// x and z. An operator whose result depends on many elements is an opaque function of one element of each
// operand.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
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
  int place = 0;     // variables: where the element is in the tensor, as far as places are distinguished
  double number = 0;
  const ops::FloatEffect* effect = nullptr;  // applications only
  std::vector<ElementId> operands;
  std::vector<double> attributes;  // in the order of the signature; 0 for attributes that are not real numbers
  bool evaluable = false;          // an application whose result is effect->scalar of its operands
  bool boolean = false;
  bool integer = false;  // a variable of an integer type
};

// True for a difference, false for a sum. The effect must be one that adds.
inline bool subtracts(const ops::FloatEffect& effect) {
  constexpr std::array<double, 2> kOperands = {0, 1};
  return effect.scalar(kOperands, {}) < 0;
}

// True for the operators that compare two numbers.
bool is_comparison(std::string_view name);

// How an element of a variable is read: by the source or the target, through operators that move or
// accumulate elements. Two reads through the same operators are of the same elements.
struct Read {
  bool target = false;
  std::string variable;
  std::string path;
  std::size_t sums = 0;  // operators on the path that compute from many elements
};
// Names the place of an element that is read.
using Places = std::function<int(const Read&)>;

// All elements of both sides of a rule. Equal elements have one id. The ids of operands are smaller than the
// ids of the elements that use them.
class Elements {
 public:
  // Without `places`, all elements of a variable count as one.
  explicit Elements(const Rule& rule, Places places = nullptr);

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
  // True for numbers, for variables whose value is known before the run, and for elements computed from
  // these alone.
  bool known(ElementId id) const;
  // The names of the variables below `roots`, those of opaque functions included.
  std::set<std::string> variables(std::span<const ElementId> roots) const;
  // True for a variable of the rule that may have any values, unlike a constant that the target makes.
  bool is_free(const std::string& variable) const;
  // True for a variable that a guard of this kind is about.
  bool guarded(ElementId id, Guard::Kind kind) const;
  // True for an element of an integer tensor: of a variable, or computed from one without a change of the
  // type.
  bool is_integer(ElementId id) const;
  // True for a comparison of integers, which have no rounding error that could decide it, and no NaN. Its
  // result is 0 or 1.
  bool compares_integers(ElementId id) const;
  // The value of a number, and of a variable that a guard fixes.
  std::optional<double> literal(ElementId id) const;
  // An interval that contains the element for all finite values of the variables, by the declared ranges of
  // operators.
  std::pair<double, double> range(ElementId id) const;

 private:
  // Where a term is evaluated: by which side, among the first `limit` statements of which side, through
  // which operators.
  struct Context {
    bool reads_for_target = false;
    bool in_target = false;
    std::size_t limit = 0;
    std::string path;
    std::size_t sums = 0;
  };
  ElementId make(Element element, const std::string& attributes);
  ElementId number(double value);
  ElementSet of(const Term& term, const Context& context);
  ElementSet named(const std::string& name, Context context);
  Context operand(const Term& term, std::size_t k, Context context) const;
  ElementSet made(const Term& term);
  ElementSet applied(const Term& term, const std::vector<ElementSet>& operands);

  const Rule& rule_;
  Places places_;
  std::map<std::string, ElementSet, std::less<>> evaluated_;
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

// A set of points at which all elements can be evaluated: a bit for each.
using PointSet = std::uint64_t;
inline constexpr PointSet kEverywhere = ~PointSet{0};
// Where the result of `id`, which chooses, changes with operand number `operand`. If opaque functions
// are below `id`, a region of its operator and variables.
PointSet region_of(const Elements& elements, ElementId id, std::size_t operand);

// Evaluates two elements for ordinary numbers. True if no difference was found. Variables and opaque
// functions have unrelated values.
bool may_be_equal(const Elements& elements, ElementId a, ElementId b);
// True if no difference was found for some results of the comparisons of integers that the two are computed
// from: where elements move, a comparison of positions is the same at one position, whatever its operands.
// Also true where none moves.
bool may_meet(const Elements& elements, ElementId a, ElementId b);
// True if the two elements are surely not at one position, where both sides of a proved rule are equal:
// they differ for ordinary numbers of which none affects two of the opaque functions that they are
// computed from, or one of them depends on a variable that the other does not read.
bool never_meet(const Elements& elements, ElementId a, ElementId b);
// True if, for some ordinary numbers, `id` changes with each variable below it.
bool depends_on_all(const Elements& elements, ElementId id);
// True if no variable occurs twice in `id`, operands of opaque functions included.
bool reads_once(const Elements& elements, ElementId id);
// Compares `a` of the source and `b` of the target on infinities, NaN, zeros of both signs, and numbers near
// the literals that occur. Where elements move, results of comparisons of integers for which the two surely
// differ are left out.
SpecialChange special_change(const Elements& elements, ElementId a, ElementId b, Strictness strictness);

}  // namespace xflow::rules
