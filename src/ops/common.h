// Helpers for the files of operators: type checks, pointwise operators, kernels, and ONNX mappings.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::ops {

// Type rules. ----------------------------------------------------------------------------------------------------------------------

using Types = Result<std::vector<ir::TensorType>>;

// The output types of an operator with one output.
Types one_type(ir::DataType data_type, ir::Shape shape);
// Checks that the listed operands, without absent ones, have the same element type.
Result<void> require_same_data_type(const Operation& operation, std::initializer_list<std::size_t> operands);
// Checks a rank: "expected operand 'x' to have at least 3 dimensions, found float32[2]".
Result<void> require_rank_at_least(const ir::Symbols& symbols, const Operation& operation, std::size_t operand, std::string_view name,
                                   std::size_t rank);
// Checks that operands 0 and 1, named `first` and `second` in the error, have the same rank.
Result<void> require_same_rank(const ir::Symbols& symbols, const Operation& operation, std::string_view first, std::string_view second);
// Checks that a list attribute has `size` elements: "expected 'pads' to have 4 elements, found 2".
Result<void> require_size(const ir::Attributes& attributes, std::string_view name, std::size_t size);
// Checks that each element of a list attribute is at least `least`.
Result<void> require_elements_at_least(Typing& typing, const ir::Attributes& attributes, std::string_view name, std::int64_t least);
// Checks that an integer attribute is 0 or 1.
Result<void> require_flag(const ir::Attributes& attributes, std::string_view name);

// Pointwise operators. -------------------------------------------------------------------------------------------------------------

// The broadcast shape of the operands, which must have the same element type. The output has element type
// `result` if given, otherwise that of the operands.
Types pointwise_type(Typing& typing, const Operation& operation, std::optional<ir::DataType> result = std::nullopt);
// The element of `operand` that is broadcast (ranks aligned at the end) to `index` of an output of shape
// `shape`.
Expr read_broadcast(Builder& builder, const Operation& operation, int operand, const ir::Shape& shape, std::span<const ir::Poly> index);
// The same for output 0.
Expr read_broadcast(Builder& builder, const Operation& operation, int operand, std::span<const ir::Poly> index);
// function(operands...).
Expr pointwise(Builder& builder, Function function, const Operation& operation, std::span<const ir::Poly> index);

// The signature of a pointwise operator with `operands` operands of one class. A single operand is named x,
// several are named a, b, c.
Signature pointwise_signature(std::string_view name, int operands, TypeClass type_class, std::vector<AttributeSignature> attributes = {});

// Kernels. -------------------------------------------------------------------------------------------------------------------------

// Error::unsupported if the rank or a dimension is not known.
Result<TensorSpec> tensor_spec(const ir::TensorType& type);
// A kernel of this family with the operands (without absent ones) and results of the operation.
Result<KernelSpec> kernel_spec(KernelFamily family, const Operation& operation);
// A pointwise kernel with the real attributes of the operator `name`, in the order of its signature.
Result<KernelSpec> pointwise_kernel(std::string_view name, const Operation& operation);
// A kernel that costs nothing.
Result<KernelSpec> none_kernel(const Operation& operation);
// Adds an integer or list attribute to the kernel. Error::unsupported if its value is symbolic.
Result<void> add_integers(KernelSpec& spec, const Operation& operation, std::string_view name);

// ONNX mappings. -------------------------------------------------------------------------------------------------------------------

// A set of element types, one bit per type.
using TypeSet = std::uint32_t;
constexpr TypeSet type_set(std::initializer_list<ir::DataType> types) {
  TypeSet set = 0;
  for (const ir::DataType type : types) set |= TypeSet{1} << static_cast<unsigned>(type);
  return set;
}
constexpr bool contains(TypeSet set, ir::DataType type) { return ((set >> static_cast<unsigned>(type)) & 1U) != 0; }

inline constexpr TypeSet kFloats = type_set({ir::DataType::float16, ir::DataType::float32, ir::DataType::float64});
inline constexpr TypeSet kBfloat = type_set({ir::DataType::bfloat16});
inline constexpr TypeSet kWideIntegers = type_set({ir::DataType::int32, ir::DataType::int64, ir::DataType::uint32, ir::DataType::uint64});
inline constexpr TypeSet kSignedIntegers = type_set({ir::DataType::int8, ir::DataType::int16, ir::DataType::int32, ir::DataType::int64});
inline constexpr TypeSet kIntegers =
    kWideIntegers | type_set({ir::DataType::int8, ir::DataType::int16, ir::DataType::uint8, ir::DataType::uint16});
inline constexpr TypeSet kBoolean = type_set({ir::DataType::boolean});
inline constexpr TypeSet kNumeric = kFloats | kBfloat | kIntegers;

// Error::unsupported if the element type of operand `operand` is not in `types`, the types that ONNX defines
// for a row.
Result<void> require_exportable(const Operation& operation, std::size_t operand, TypeSet types);
// export_operands for a row that ONNX defines only for these element types of operand 0.
template <TypeSet types>
Result<Exported> export_operands_of(const Operation& operation, int opset) {
  XFLOW_CHECK(require_exportable(operation, 0, types));
  return export_operands(operation, opset);
}

// The row of an operator whose ONNX inputs are its operands and that has no attributes.
template <TypeSet types>
OnnxMapping plain_mapping(std::string_view type, int since, int until = kNewest) {
  return OnnxMapping{"", type, since, until, &lift_operands, &export_operands_of<types>};
}

// lift_operands for a variadic ONNX operator with exactly two inputs. Error::unsupported for any other
// number.
Result<Lifted> lift_two_operands(const OnnxNode& node);

// The value of an integer or list attribute as int64. Error::unsupported if it is symbolic: ONNX requires
// numbers.
Result<std::int64_t> known_integer(const Operation& operation, std::string_view name);
Result<std::vector<std::int64_t>> known_integers(const Operation& operation, std::string_view name);
// The value of a real attribute as float. Error::unsupported for a variable.
Result<float> known_real(const Operation& operation, std::string_view name);
// The elements of integer input k. Error::unsupported: "cannot read ...: its values are not known before the
// run".
Result<std::vector<ir::Poly>> input_integers(const OnnxNode& node, std::size_t k, std::string_view what);
// The rank of input k. Error::unsupported if it is absent or of unknown rank.
Result<std::size_t> input_rank(const OnnxNode& node, std::size_t k);

}  // namespace xflow::ops
