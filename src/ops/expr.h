// Index notation: what an operator computes, element by element.
//
// An expression is an immutable tree over indices: reads of operands at index polynomials, sums and maxima
// over a binder, conditions on indices, and scalar functions. src/eval interprets expressions over any
// number type, the verifier normalises them, and to_string prints them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/ir/poly.h"
#include "src/ir/rational.h"
#include "src/ir/type.h"

namespace xflow::ops {

// A relation of an index polynomial to zero.
enum class Relation : std::uint8_t { at_least_zero, zero, not_zero };

struct Atom {
  ir::Poly poly;
  Relation relation;
};

// A conjunction; empty means true.
using Condition = std::vector<Atom>;

inline Atom at_least(const ir::Poly& a, const ir::Poly& b) { return {a - b, Relation::at_least_zero}; }       // a >= b
inline Atom less_than(const ir::Poly& a, const ir::Poly& b) { return {b - a - 1, Relation::at_least_zero}; }  // a < b
inline Atom equal(const ir::Poly& a, const ir::Poly& b) { return {a - b, Relation::zero}; }
inline Atom different(const ir::Poly& a, const ir::Poly& b) { return {a - b, Relation::not_zero}; }

// Scalar functions. Over floating point numbers, real-valued functions follow IEEE 754 on special values.
// Over the reals they are the mathematical functions. Booleans are 0 and 1.
enum class Function : std::uint8_t {
  // one argument
  negate,
  reciprocal,
  exp,
  log,
  sqrt,
  sin,
  cos,
  tanh,
  erf,
  abs,
  sign,
  floor,
  ceil,
  round_even,  // to nearest, ties to even
  logical_not,
  is_nan,
  // two arguments
  add,
  subtract,
  multiply,
  divide,          // floating division
  integer_divide,  // truncates towards zero, as ONNX Div on integers
  modulo,          // sign of the divisor (ONNX Mod, fmod = 0)
  remainder,       // sign of the dividend (C fmod)
  power,
  minimum,
  maximum,  // relu x = maximum(x, 0)
  logical_and,
  logical_or,
  logical_xor,
  less,   // 1 if a < b
  equal,  // 1 if a = b
  // three arguments
  choose,  // a != 0 ? b : c
};

int arity(Function function);
const char* name(Function function);

enum class ExprKind : std::uint8_t {
  literal,  // an exact real
  integer,  // an index polynomial as a number
  read,     // operand `operand` at `indices`; an index out of range is a bug of the operator
  sum,      // over binder in [0, extent) of arguments[0]
  maximum,  // over binder in [0, extent), extent >= 1, of arguments[0]
  select,   // condition ? arguments[0] : arguments[1]; the branch not taken is not evaluated
  apply,    // function(arguments)
  cast,     // arguments[0] converted to data_type as ONNX Cast does: float to integer truncates, to boolean is != 0, to floating rounds
};

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

// The element of integer operand `operand` at `at` as an index of a dimension. Where it is not in
// [-size, size), a runtime stops. A read lists it even if its indices do not mention it: e mod 1 = 0.
struct WrappedIndex {
  int operand;
  std::vector<ir::Poly> at;
  ir::Poly size;
};

struct ExprNode {
  ExprKind kind;
  ir::Real literal;
  ir::Poly integer;
  int operand = -1;
  std::vector<ir::Poly> indices;
  std::vector<WrappedIndex> wrapped;
  ir::SymbolId binder{};
  ir::Poly extent;
  Condition condition;
  Function function{};
  ir::DataType data_type{};
  std::vector<Expr> arguments;
};

// Creates expressions. Its only state is the symbols. Only select simplifies: it drops atoms that are known
// to hold, and returns one of the branches if the condition is decided.
class Builder {
 public:
  explicit Builder(ir::Symbols& symbols) : symbols_(symbols) {}
  ir::Symbols& symbols() { return symbols_; }

  Expr literal(const ir::Real& value);
  Expr integer(const ir::Poly& value);
  // `wrapped`: all elements of integer operands from which `indices` are computed by wrap().
  Expr read(int operand, std::vector<ir::Poly> indices, std::vector<WrappedIndex> wrapped = {});
  // The sum / maximum over a fresh binder in [0, extent).
  using Body = std::function<Expr(const ir::Poly& binder)>;
  Expr sum(const ir::Poly& extent, const Body& body);
  Expr maximum(const ir::Poly& extent, const Body& body);
  // Nested sums / maxima over several extents.
  using BodyN = std::function<Expr(const std::vector<ir::Poly>& binders)>;
  Expr sum(const std::vector<ir::Poly>& extents, const BodyN& body);
  Expr maximum(const std::vector<ir::Poly>& extents, const BodyN& body);
  Expr select(Condition condition, Expr then, Expr otherwise);
  Expr apply(Function function, Expr a);
  Expr apply(Function function, Expr a, Expr b);
  Expr apply(Function function, Expr a, Expr b, Expr c);
  Expr cast(ir::DataType type, Expr a);
  // The element of integer operand `operand` at `indices`, as an index polynomial. The operator's definition
  // must guarantee that reads with this index are in range.
  ir::Poly element(int operand, std::vector<ir::Poly> indices);
  // The element as an index in [0, size): a negative one counts from the end. 0 if the size is 0: there is
  // no element to read.
  ir::Poly wrap(const WrappedIndex& index);

 private:
  ir::Symbols& symbols_;
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);  // floating division

// "sum(k'1 < K, x[i, k'1] * a[k'1, j])". Operands print as their `operand_names` if given, otherwise as %0,
// %1. Fresh indices are numbered in the order of the text, so that an expression built twice prints the
// same.
std::string to_string(const ir::Symbols& symbols, const Expr& expr, const std::vector<std::string>& operand_names = {});
// "[i'1, i'2] = sum(k'3 < K, ...)": the element at `index`.
std::string to_string(const ir::Symbols& symbols, std::span<const ir::Poly> index, const Expr& expr,
                      const std::vector<std::string>& operand_names = {});

}  // namespace xflow::ops
