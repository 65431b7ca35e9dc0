// Compiles an expression of index notation with known sizes to stages of strided loops. Private to src/eval
// and its tests.
//
// A stage computes one tensor. Its innermost loops run over *lanes*: blocks of consecutive elements of the
// tensor (a map stage) or of consecutive terms of the outermost sum or maximum (a reduce stage), so that an
// interpreter step processes hundreds of numbers. All other loops are scalar. A sum that does not depend on
// every loop around it (the sum of a softmax) becomes a separate stage.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/expr.h"

namespace xflow::eval {

// coefficient * the variable or slot with this number.
struct IndexTerm {
  int id;
  std::int64_t coefficient;
  friend bool operator==(const IndexTerm&, const IndexTerm&) = default;
};

// constant + sum of coefficient * variable + sum of coefficient * slot. Variables are loops; slots are
// subexpressions that are not affine in the loops.
struct IndexForm {
  std::int64_t constant = 0;
  std::vector<IndexTerm> variables;  // ascending, no zero coefficient
  std::vector<IndexTerm> slots;      // likewise
  bool is_constant() const { return variables.empty() && slots.empty(); }
  friend bool operator==(const IndexForm&, const IndexForm&) = default;
};

// Inclusive bounds of an index.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// A subexpression of an index that is not affine in the loops.
struct IndexSlot {
  enum class Kind : std::uint8_t {
    product,    // arguments[0] * arguments[1]
    floor_div,  // floor(arguments[0] / arguments[1])
    maximum,    // max(arguments[0], arguments[1])
    element,    // integer element of `source` at offset arguments[0]
  };
  Kind kind{};
  std::vector<int> arguments;  // numbers of forms
  int source = -1;
  Range range;
  std::uint64_t depends = 0;  // bit set of variables
};

// A node of the expression that a stage computes for each element.
struct ValueNode {
  enum class Kind : std::uint8_t {
    literal,
    index,    // the value of form
    read,     // element of `source` at offset `form`
    sum,      // of arguments[0] over `variable`
    maximum,  // of arguments[0] over `variable`
    select,   // condition ? arguments[0] : arguments[1]
    apply,    // function(arguments)
    cast,     // arguments[0] to `data_type`
  };
  Kind kind{};
  bool real = false;                                 // a number of the arithmetic; otherwise an int64
  ir::DataType data_type = ir::DataType::undefined;  // of integers: the type to which the value wraps
  ir::Real literal;
  int form = -1;
  int source = -1;
  std::vector<int> arguments;  // numbers of nodes
  int variable = -1;
  std::vector<std::pair<int, ops::Relation>> condition;  // numbers of forms
  ops::Function function{};
  std::uint64_t depends = 0;      // bit set of variables, including those of enclosing conditions
  bool product_of_reads = false;  // a sum of read * read whose offsets are affine in its variable
};

// A tensor whose dimensions are the extents of `outputs`.
struct Stage {
  enum class Kind : std::uint8_t { map, sum, maximum };
  Kind kind = Kind::map;
  bool real = true;
  ir::DataType data_type = ir::DataType::undefined;  // as in ValueNode
  std::vector<std::int64_t> extents;                 // of all variables
  std::vector<int> outputs;                          // variables, outermost first
  // The variables of the lanes, outermost first: `outputs` of a map, the terms of a sum or maximum.
  std::vector<int> lanes;
  std::vector<IndexForm> forms;
  std::vector<IndexSlot> slots;
  std::vector<ValueNode> nodes;  // arguments before users
  int root = -1;

  std::int64_t output_count() const;
  std::int64_t lane_count() const;
};

// Sources 0 .. operands - 1 are the operands; source operands + k is the tensor of stage k. The last stage
// is the result.
struct Program {
  std::size_t operands = 0;
  std::vector<Stage> stages;
};

struct OperandShape {
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::int64_t> dims;
};

// An expression with the sizes and values that it is compiled for.
struct ProgramInput {
  const ir::Symbols* symbols = nullptr;
  ops::Expr expression;
  std::vector<ir::Poly> index;     // output indices, one symbol for each dimension
  std::vector<std::int64_t> dims;  // of the output
  ir::DataType data_type{};        // of the output
  std::vector<OperandShape> operands;
  ir::Symbols::Valuation symbol_values;                                        // of dimensions and parameters
  std::function<std::optional<ir::Rational>(const std::string&)> real_values;  // of real variables; may be empty
  // Make every stage that is a sum or maximum of several terms a reduce stage, not only where that is faster
  // in the interpreter.
  bool divides_sums = false;
};

// Errors: unsupported if a size is unknown or depends on an index.
Result<Program> compile(const ProgramInput& input);

}  // namespace xflow::eval
