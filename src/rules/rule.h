// Rewrite rules: the syntax tree that rule text describes.
//
//     # Two products that share an operand are one product.
//     #   X.A ++ X.B = X.(A ++ B)
//     rule merge-matmuls-sharing-lhs
//       with
//         a: [K, N], b: [K, P]
//       source
//         y1 = matmul(x, a)
//         y2 = matmul(x, b)
//       target
//         y = matmul(x, concat(a, b, axis: -1))
//         y1, y2 = split(y, axis: -1, sizes: [N, P])
//       where const(a) and const(b)
//
// docs/rules.md explains the language.
#pragma once

#include <xflow/error.h>
#include <xflow/rules.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/rational.h"
#include "src/ir/type.h"

namespace xflow::rules {

// A position in a rule file. Line and column count from 1.
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// An integer, a list of integers, a real number or a word, as used in attributes, declared types and guards.
struct Expression {
  enum class Kind : std::uint8_t {
    number,    // `number`: an exact rational, or infinity
    name,      // `name`: a dimension, an attribute variable, a word, a data type
    call,      // name(arguments): dim(x, 0), rank(x), max(a, b), ...
    list,      // [arguments]; an element that is a list or a sequence is spliced
    add,       // arguments[0] + arguments[1]; elementwise on lists
    subtract,  // arguments[0] - arguments[1]
    multiply,  // arguments[0] * arguments[1]
    negate,    // - arguments[0]
    index,     // arguments[0][arguments[1]]; a negative index counts from the end
    sequence,  // NAME..: the dimensions of a sequence
    ones,      // 1^NAME: as many ones as the sequence NAME has dimensions
    optional,  // arguments[0]?: in a declared type, that dimension or 1
  };
  Kind kind = Kind::number;
  ir::Real number;
  std::string name;
  std::vector<Expression> arguments;
  Place place;
};

// A tensor expression.
struct Term {
  enum class Kind : std::uint8_t {
    variable,     // name
    list,         // name..: one or more operands
    literal,      // a scalar, exact
    application,  // name(operands, attributes)
    absent,       // _: an absent optional operand
  };
  struct NamedExpression {
    std::string name;
    Expression value;
    Place place;
  };
  Kind kind = Kind::variable;
  std::string name;
  ir::Real literal;
  std::vector<Term> operands;
  std::vector<NamedExpression> attributes;  // in the order of the text
  Place place;
};

// outputs = term
struct Statement {
  std::vector<std::string> outputs;
  Term term;
  Place place;
};

// A declared type: x: float32[B.., M, K]. Without a data type the rule's operators determine it.
struct Declaration {
  std::string variable;
  bool list = false;  // xs..: the type of each operand of the list
  std::optional<ir::DataType> data_type;
  std::vector<Expression> dims;
  Place place;
};

// A condition under which the rule holds.
struct Guard {
  enum class Kind : std::uint8_t {
    equal,           // arguments[0] = arguments[1]
    not_equal,       // arguments[0] != arguments[1]
    at_least,        // arguments[0] >= arguments[1]
    greater,         // arguments[0] > arguments[1]
    is_constant,     // const(x): the value is known before the run
    is_varying,      // varies(x): it is not
    is_scalar,       // scalar(x): one element, any rank
    equals_value,    // equal(x, 1/6): every element is that number
    is_nonzero,      // nonzero(x): no element is 0
    is_positive,     // positive(x)
    is_nonnegative,  // nonnegative(x)
    is_in_range,     // in_range(i, a, b): every element of the integer tensor i is at least a and below b
    is_finite,       // finite(x): no element is infinite or NaN
    uses_equal,      // uses(y) = n: value y of the source has n uses
  };
  Kind kind = Kind::equal;
  std::vector<Expression> arguments;  // relations and is_in_range: two; uses_equal and equals_value: the number
  std::string value;                  // predicates: the variable
  Place place;
};

// The kind of a name in a rule.
enum class NameKind : std::uint8_t {
  value,      // one tensor: a variable or an output of a statement
  values,     // a list of operands
  dimension,  // at least 1
  sequence,   // any number of dimensions
  integer,    // an attribute variable
  integers,   // an attribute variable that is a list
  real,       // an attribute variable that is a real number
};

using xflow::FloatClass;
const char* name(FloatClass float_class);
std::optional<FloatClass> float_class_from_name(std::string_view name);

// A 128-bit hash of the printed text of a rule without its comment.
struct RuleHash {
  std::array<std::uint64_t, 2> words{};
  std::string to_string() const;  // 32 hexadecimal digits
  static std::optional<RuleHash> parse(std::string_view text);
  friend auto operator<=>(const RuleHash&, const RuleHash&) = default;
};

class OpenFamily;

struct Rule {
  std::string name;
  std::vector<std::string> comment;  // lines without '#'
  std::vector<Declaration> declarations;
  std::vector<Statement> source;
  std::vector<Statement> target;
  std::vector<Guard> guards;
  bool claims_rounding = false;  // the text says `numbers rounding`
  std::string file;
  Place place;

  // Set by the type check.
  std::map<std::string, NameKind, std::less<>> names;
  std::vector<std::string> variables;  // tensors and lists that the source reads and does not define, in order of first use
  std::vector<std::string> outputs;    // names defined in both source and target, in the order of the source
  // True if all operators of the rule are pointwise, and it has no declared types, dimensions or relations.
  // A proof for scalars then holds for all shapes.
  bool pointwise = false;
  // True if all operators of the rule move data and it has no literals. It then holds for every data type.
  bool moves_data = false;
  FloatClass float_class = FloatClass::special;
  // The reasons for the class, as text: "re-associates", "changes the range of exp", "drops x". Empty for
  // exact rules. The first one is "claimed by the rule" where the computed class is special.
  std::vector<std::string> number_effects;
  RuleHash hash;

  // The family without a last number of which the rule is a member; null for other rules.
  std::shared_ptr<const OpenFamily> family;

  // The declared type of a variable; null if it has none.
  const Declaration* declaration(std::string_view variable) const;
};

// What was computed of the rule with this hash in another process. Computing it takes half of the time in
// which a rule is read.
struct ClassifiedRule {
  RuleHash rule;
  FloatClass float_class = FloatClass::special;
  std::string_view number_effects;  // each with a '\n' after it
};

// Parses and type-checks a rule file. Error::syntax, ill_typed or limit, with `where` = "file:line:column".
// Rules of `classified`, which is in the order of the hashes, have the float class that is there.
Result<std::vector<Rule>> parse_rules(std::string_view text, std::string_view file, std::span<const ClassifiedRule> classified = {});

// Prints a rule in its canonical layout; the text parses back to the same rule.
std::string print(const Rule& rule);
std::string print(const Expression& expression);
std::string print(const Term& term);
std::string print(const Guard& guard);
std::string print(const Declaration& declaration);
// The float class and its reasons: "exact", "rounding: re-associates".
std::string numbers_text(FloatClass float_class, const std::vector<std::string>& effects);
std::string numbers_text(const Rule& rule);

// The type check of parse_rules: resolves names, checks operators, attributes and guards, and fills the
// members of Rule that are set by the type check.
Result<void> check(Rule& rule, std::span<const ClassifiedRule> classified = {});
// The same for a member of a family, with the float class of another member.
Result<void> check_as(const Rule& member, Rule& rule);

// Formats a place as "file:line:column".
std::string place_text(std::string_view file, Place place);

}  // namespace xflow::rules
