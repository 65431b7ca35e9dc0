// Operators: one C++ struct per file, one line per operator in ops.def.
//
// A struct T in src/ops/operators/NAME.cpp is an operator if it has these static functions:
//
//   signature() -> Signature
//       name, operands, attributes, outputs
//   type(Typing&, const Operation&) -> Result<std::vector<TensorType>>
//       the output types, or an error that says what was expected
//   float_effect() -> FloatEffect
//       the effect on floating point numbers: NaN, infinities, -0, rounding
//   semantics(Builder&, const Operation&, int output, std::span<const Poly> index) -> Expr
//       the element of an output at `index`
//   onnx_mappings() -> std::vector<OnnxMapping>
//       the ONNX operators that are exactly this one (may be empty)
//   kernel(const Operation&) -> Result<KernelSpec>
//       the kernel that a device times; all dimensions are constants; kernel_of_operator sets the function
//
// The file ends with XFLOW_OPERATOR_DEFINITION(T). A missing function is a compile error (the concept
// OperatorStruct).
#pragma once

#include <xflow/error.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/expr.h"
#include "src/ops/float_effect.h"
#include "src/ops/kernel_spec.h"
#include "src/ops/onnx_mapping.h"

namespace xflow::ops {

// The element types that an operand may have. `quantized`: integers, narrow integers and narrow floating
// types (src/ir/narrow.h).
enum class TypeClass : std::uint8_t { any, numeric, floating, integer, quantized, boolean, numeric_or_boolean };

struct OperandSignature {
  std::string_view name;
  TypeClass type_class = TypeClass::any;
  bool optional = false;
  bool variadic = false;  // last operand only: one or more values
};

enum class AttributeKind : std::uint8_t { integer, integers, real, word, data_type };

struct AttributeSignature {
  std::string_view name;
  AttributeKind kind;
  std::optional<ir::AttributeValue> default_value = std::nullopt;  // without a default the attribute must be given
  // An axis of operand 0, or a set of axes (kind integers). `apply` counts negative axes from the end,
  // checks the range and sorts a set. So an operation sees known axes in [0, rank), and equal operations are
  // one node.
  bool axis = false;
  // Kind integers: the number of list elements per spatial dimension of operand 0 (those after the first
  // two): 1 for strides, 2 for pads. `apply` repeats the element of a list of one element, so that [1] means
  // 1 everywhere.
  int per_spatial = 0;
  // Kind integers: the list has one element per dimension of operand 0.
  bool per_dimension = false;
  bool permutation = false;  // the list is also a permutation of the dimensions
  bool flag = false;         // kind integer: 0 or 1
};

struct Signature {
  std::string_view name;  // the name in rules: "matmul"
  std::vector<OperandSignature> operands = {};
  std::vector<AttributeSignature> attributes = {};
  int outputs = 1;           // -1: as many as `type` returns (split)
  bool commutative = false;  // operands in any order
  // The output shape is the broadcast of the operand shapes, and element i of the output depends only on
  // element i (broadcast) of each operand.
  bool pointwise = false;
  bool moves_data = false;  // no arithmetic: every output element is an operand element or a fixed value
  // Not folded, even if all operands are constants: a runtime fuses the operation, or its operands take less
  // storage than its result.
  bool at_run = false;
};

class Typing;

// One use of an operator: the argument of the functions of its struct.
struct Operation {
  std::span<const ir::TensorType> operands;  // an absent optional operand has data type undefined
  const ir::Attributes& attributes;
  std::span<const ir::TensorType> outputs;  // empty while typing

  bool has(std::size_t operand) const { return operand < operands.size() && operands[operand].data_type != ir::DataType::undefined; }
};

// The requirements of a type rule. A model decides them by canonical equality, the source of a rule records
// them as facts, its target as obligations.
class Typing {
 public:
  explicit Typing(ir::Symbols& symbols) : symbols_(symbols) {}
  virtual ~Typing() = default;
  ir::Symbols& symbols() { return symbols_; }

  // Requires a = b. The default accepts unless the difference is a non-zero constant: a valid model or graph
  // satisfies the equation. `what` completes "expected ...": "the inner dimensions of matmul to be equal".
  virtual Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what);
  // Requires a >= 0. The default accepts unless a is a negative constant.
  virtual Result<void> require_at_least_zero(const ir::Poly& a, std::string_view what);
  // The size of a broadcast with b. The default is Symbols::broadcast, with an error if both are constants,
  // differ, and neither is 1.
  virtual Result<ir::Poly> broadcast(const ir::Poly& a, const ir::Poly& b);
  // Numpy broadcasting of shapes, ranks aligned at the end.
  Result<ir::Shape> broadcast(std::span<const ir::Shape> shapes);

 private:
  ir::Symbols& symbols_;
};

// A type-erased operator.
struct Operator {
  Op op{};
  Signature signature;
  Result<std::vector<ir::TensorType>> (*type)(Typing&, const Operation&);
  FloatEffect float_effect;
  Expr (*semantics)(Builder&, const Operation&, int output, std::span<const ir::Poly> index);
  std::vector<OnnxMapping> (*onnx_mappings)();
  Result<KernelSpec> (*kernel)(const Operation&);
};

template <typename T>
concept OperatorStruct = requires(Typing& typing, Builder& builder, const Operation& operation, std::span<const ir::Poly> index) {
  { T::signature() } -> std::same_as<Signature>;
  { T::type(typing, operation) } -> std::same_as<Result<std::vector<ir::TensorType>>>;
  { T::float_effect() } -> std::same_as<FloatEffect>;
  { T::semantics(builder, operation, 0, index) } -> std::same_as<Expr>;
  { T::onnx_mappings() } -> std::same_as<std::vector<OnnxMapping>>;
  { T::kernel(operation) } -> std::same_as<Result<KernelSpec>>;
};

// The kernel of an operation of `T`, with its operator set to `op`. Kernels of family none have no operator.
template <OperatorStruct T, Op op>
Result<KernelSpec> kernel_of_operator(const Operation& operation) {
  XFLOW_TRY(KernelSpec spec, T::kernel(operation));
  if (!spec.is(KernelFamily::none)) spec.function.op = op;
  return spec;
}

template <OperatorStruct T, Op op>
Operator make_operator() {
  return Operator{op, T::signature(), &T::type, T::float_effect(), &T::semantics, &T::onnx_mappings, &kernel_of_operator<T, op>};
}

// The last line of an operator's file. ops.def has the line XFLOW_OPERATOR(T).
#define XFLOW_OPERATOR_DEFINITION(T) \
  Operator define_##T() { return make_operator<T, Op::T>(); }

// The registry: all operators of ops.def, sorted by name. ir::OperatorId is the index.
std::span<const Operator> all_operators();
const Operator& get(ir::OperatorId id);
std::optional<ir::OperatorId> find_operator(std::string_view name);
ir::OperatorId id_of(std::string_view name);  // requires that the operator exists (assert)
ir::OperatorId id_of(Op op);

// Checks operands (number, types, known ranks) and attributes (names, kinds) against the signature, fills in
// default attributes, types the operation and interns it. Errors are ill_typed: "matmul: expected ..., found
// ...".
Result<ir::NodeId> apply(ir::Arena& arena, Typing& typing, ir::OperatorId op, std::vector<ir::ValueId> operands, ir::Attributes attributes);
// The same with the default Typing, for operators with one output.
Result<ir::ValueId> apply(ir::Arena& arena, std::string_view op, std::vector<ir::ValueId> operands, ir::Attributes attributes = {});
// Fills in defaults and checks only names and kinds.
Result<ir::Attributes> complete_attributes(const Operator& op, ir::Attributes attributes);

// The expression of one output of an operation in the arena, at fresh output indices, which are returned in
// `index`.
Expr semantics_of(ir::Arena& arena, ir::NodeId node, int output, std::vector<ir::Poly>& index);

// The types of a node's operands, for Operation.
std::vector<ir::TensorType> operand_types(const ir::Arena& arena, const ir::Node& node);

}  // namespace xflow::ops
