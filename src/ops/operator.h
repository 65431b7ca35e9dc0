// Operators: one C++ struct a file, one line in ops.def.
//
// A struct T in src/ops/NAME.cpp is an operator if it has (all static):
//
//   signature()                       -> Signature         name, operands, attributes, outputs
//   type(Typing&, const Operation&)   -> Result<std::vector<TensorType>>   output types, or what was expected
//   float_effect()                    -> FloatEffect       what it does to floating point numbers: NaN, infinities, -0, rounding
//   semantics(Builder&, const Operation&, int output, std::span<const Poly> index) -> Expr     the element of an output at `index`
//   onnx_mappings()                       -> std::vector<OnnxMapping>   the ONNX operators that are exactly this one (may be empty)
//   kernel(const Operation&)          -> Result<KernelSpec>      what a device is asked to time; all dimensions are constants here.
//                                                                The operator itself is filled in.
//
// and ends with XFLOW_OPERATOR_DEFINITION(T). A missing part is a compile error (the concept OperatorStruct).
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

// Which element types an operand or output may have.
// `quantized`: integers, narrow ones too, and narrow floating types (src/ir/narrow.h).
enum class TypeClass : std::uint8_t { any, numeric, floating, integer, quantized, boolean, numeric_or_boolean };

struct OperandSignature {
  std::string_view name;
  TypeClass type_class = TypeClass::any;
  bool optional = false;
  bool variadic = false;  // last operand only: one or more
};

enum class AttributeKind : std::uint8_t { integer, integers, real, word, data_type };

struct AttributeSignature {
  std::string_view name;
  AttributeKind kind;
  std::optional<ir::AttributeValue> default_value = std::nullopt;  // without one the attribute must be given
  // An axis of operand 0, or (kind integers) a set of them: `apply` counts negative ones from the end, checks the range and sorts a set,
  // so that an operation sees known axes in [0, rank), and equal operations are one node.
  bool axis = false;
  // Kind integers, how many elements the list has for each spatial dimension of operand 0 (those after the first two): 1 for strides, 2
  // for pads. `apply` repeats the element of a list that has only one, so that [1] stands for all.
  int per_spatial = 0;
  // Kind integers: the list has an element for each dimension of operand 0.
  bool per_dimension = false;
  bool permutation = false;  // and is an order of these dimensions
  bool flag = false;         // kind integer: 0 or 1
};

struct Signature {
  std::string_view name;  // as in rules: "matmul"
  std::vector<OperandSignature> operands = {};
  std::vector<AttributeSignature> attributes = {};
  int outputs = 1;           // -1: as many as `type` returns (split)
  bool commutative = false;  // operands in any order
  // Output shape is the broadcast of the operand shapes, and element i of the output depends on element i (broadcast) of each operand
  // alone.
  bool pointwise = false;
  bool moves_data = false;  // no arithmetic: every output element is an operand element or a fixed value
  bool at_run = false;  // computed when the model runs, even of constants alone: a runtime fuses it, or what is stored is smaller before
};

class Typing;

// One use of an operator: what its struct's functions are given.
struct Operation {
  std::span<const ir::TensorType> operands;  // an absent optional operand has data type undefined
  const ir::Attributes& attributes;
  std::span<const ir::TensorType> outputs;  // empty while typing

  bool has(std::size_t operand) const { return operand < operands.size() && operands[operand].data_type != ir::DataType::undefined; }
};

// What a type rule asks of whoever types: models decide by canonical equality, the source of a rule records facts, its target obligations.
class Typing {
 public:
  explicit Typing(ir::Symbols& symbols) : symbols_(symbols) {}
  virtual ~Typing() = default;
  ir::Symbols& symbols() { return symbols_; }

  // a = b must hold. The default accepts unless the difference is a non-zero constant: a valid model or graph satisfies it.
  // `what` completes "expected ...": "the inner dimensions of matmul to be equal".
  virtual Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what);
  // a >= 0 must hold. The default accepts unless a is a negative constant.
  virtual Result<void> require_at_least_zero(const ir::Poly& a, std::string_view what);
  // The size of broadcasting a with b. The default: Symbols::broadcast, an error if both are constants, differ, and neither is 1.
  virtual Result<ir::Poly> broadcast(const ir::Poly& a, const ir::Poly& b);
  // Numpy broadcasting of whole shapes, ranks aligned at the end.
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

// The kernel of an operation of `T`, which is `op`; one that costs nothing has no operator.
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

// Ends an operator's file; ops.def has the line XFLOW_OPERATOR(T).
#define XFLOW_OPERATOR_DEFINITION(T) \
  Operator define_##T() { return make_operator<T, Op::T>(); }

// The registry: all operators of ops.def, numbered in the order of their names.
std::span<const Operator> all_operators();
const Operator& get(ir::OperatorId id);
std::optional<ir::OperatorId> find_operator(std::string_view name);
ir::OperatorId id_of(std::string_view name);  // the name is known to exist; assert otherwise
ir::OperatorId id_of(Op op);

// Checks operands (number, types, ranks known) and attributes (names, kinds; defaults filled in) against the signature, types the operation
// and interns it. Errors are ill_typed and say what was expected: "matmul: expected ..., found ...".
Result<ir::NodeId> apply(ir::Arena& arena, Typing& typing, ir::OperatorId op, std::vector<ir::ValueId> operands, ir::Attributes attributes);
// The same with the default Typing, for operators with one output.
Result<ir::ValueId> apply(ir::Arena& arena, std::string_view op, std::vector<ir::ValueId> operands, ir::Attributes attributes = {});
// Fills in defaults and checks names and kinds only.
Result<ir::Attributes> complete_attributes(const Operator& op, ir::Attributes attributes);

// The expression of one output of an operation in the arena, at fresh output indices that are returned in `index`.
Expr semantics_of(ir::Arena& arena, ir::NodeId node, int output, std::vector<ir::Poly>& index);

// "float32[2, 3]" types of a node's operands, for Operation.
std::vector<ir::TensorType> operand_types(const ir::Arena& arena, const ir::Node& node);

}  // namespace xflow::ops
