// cast: x converted to another element type (ONNX Cast between floating types, integers of 8 bits and more,
// and booleans).
#include <fmt/format.h>

#include "src/ir/data_type_from_number.h"
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

Result<Lifted> lift_cast(const OnnxNode& node) {
  XFLOW_TRY(Lifted lifted, lift_operands(node));
  const auto to = ir::data_type_from_number(node.integer("to", 0));
  if (!contains(kNumeric | kBoolean, node.input_type(0).data_type) || !contains(kNumeric | kBoolean, to)) {
    return fail(ErrorCode::unsupported,
                fmt::format("a cast from {} to {} has no arithmetic", ir::name(node.input_type(0).data_type), ir::name(to)));
  }
  lifted.attributes.set("to", to);
  return lifted;
}

template <TypeSet types>
Result<Exported> export_cast(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  const ir::DataType to = operation.attributes.data_type("to");
  if (!contains(types, to)) return fail(ErrorCode::unsupported, fmt::format("cannot be exported for {} in this opset", ir::name(to)));
  exported.attributes.emplace_back("to", static_cast<std::int64_t>(to));
  return exported;
}

}  // namespace

struct Cast {
  static Signature signature() { return pointwise_signature("cast", 1, TypeClass::numeric_or_boolean, {{"to", AttributeKind::data_type}}); }
  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType to = operation.attributes.data_type("to");
    if (!contains(kNumeric | kBoolean, to)) {
      return fail(ErrorCode::ill_typed, fmt::format("expected 'to' to be a numeric type or bool, found {}", ir::name(to)));
    }
    return pointwise_type(typing, operation, to);
  }
  static FloatEffect float_effect() { return FloatEffect::jumping(nullptr); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const ir::DataType to = operation.attributes.data_type("to");
    const Expr x = read_broadcast(builder, operation, 0, index);
    return to == operation.operands[0].data_type ? x : builder.cast(to, x);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Cast", 6, 12, &lift_cast, &export_cast<kFloats | kIntegers | kBoolean>},
        OnnxMapping{"", "Cast", 13, kNewest, &lift_cast, &export_cast<kNumeric | kBoolean>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("cast", operation); }
};

XFLOW_OPERATOR_DEFINITION(Cast)

}  // namespace xflow::ops
