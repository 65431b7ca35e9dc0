// quantize_linear: x as quantised integers or narrow floating numbers (ONNX QuantizeLinear-25).
//
//   y[i] = saturate(round_even(x[i] / scale) + zero)   for an integer type `to`
//   y[i] = saturate(x[i] / scale + zero)               for a floating type `to`, to nearest, ties to even
#include <fmt/format.h>

#include "src/ir/data_type_from_number.h"
#include "src/ops/quantization.h"

namespace xflow::ops {
namespace {

constexpr int kFirstWithBlocks = 21;  // also the first opset with int16, uint16 and output_dtype

}  // namespace

struct QuantizeLinear {
  static Signature signature() {
    Signature signature;
    signature.name = "quantize_linear";
    signature.operands = {{"x", TypeClass::floating}, {"scale", TypeClass::floating}, {"zero", TypeClass::quantized, true}};
    signature.attributes = {
        {"to", AttributeKind::data_type}, {"axis", AttributeKind::integer, ir::Poly(0)}, {"block", AttributeKind::integer, ir::Poly(0)}};
    signature.at_run = true;
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType to = operation.attributes.data_type("to");
    if (!contains(stored_types(kNewest), to))
      return fail(ErrorCode::ill_typed,
                  fmt::format("expected 'to' to be an integer type of 16 bits or fewer, or a floating type of 8 or 4 bits, found {}",
                              ir::name(to)));
    XFLOW_CHECK(require_same_data_type(operation, {0, 1}));
    XFLOW_CHECK(check_scale(typing, operation, 1, "scale"));
    if (operation.has(2)) {
      XFLOW_CHECK(require_data_type(operation, 2, "zero", to));
      XFLOW_CHECK(check_scale(typing, operation, 2, "zero"));
    }
    return one_type(to, operation.operands[0].shape);
  }

  static FloatEffect float_effect() { return FloatEffect::jumping(nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr x = builder.read(0, {index.begin(), index.end()}) / read_scale(builder, operation, 1, index);
    const Expr zero = operation.has(2) ? read_scale(builder, operation, 2, index) : nullptr;
    return quantized(builder, operation.attributes.data_type("to"), operation.operands[0].data_type, x, zero);
  }

  static std::vector<OnnxMapping> onnx_mappings() { return {OnnxMapping{"", "QuantizeLinear", 10, kNewest, &lift, &to_onnx}}; }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::other, operation));
    for (const char* name : {"axis", "block"}) XFLOW_CHECK(add_integers(spec, operation, name));
    return spec;
  }

 private:
  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(Lifted lifted, lift_operands(node));
    const std::int64_t declared = node.integer("output_dtype", 0);
    const ir::DataType to = node.has_input(2) ? node.input_type(2).data_type
                            : declared != 0   ? ir::data_type_from_number(declared)
                                              : ir::DataType::uint8;
    lifted.attributes.set("to", to);
    if (contains(kFloat8, to) && node.integer("saturate", 1) == 0)
      return fail(ErrorCode::unsupported, "a conversion that does not saturate");
    XFLOW_CHECK(lift_scale(node, lifted.attributes));
    if (const std::int64_t precision = node.integer("precision", 0);
        precision != 0 && ir::data_type_from_number(precision) != node.input_type(0).data_type)
      return fail(ErrorCode::unsupported, "a division in another precision than that of x");
    return lifted;
  }

  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    const ir::DataType x = operation.operands[0].data_type;
    const ir::DataType to = operation.attributes.data_type("to");
    XFLOW_CHECK(require_exportable(operation, 0, opset < 19 ? type_set({ir::DataType::float32}) : kFloats | kBfloat));
    if (x == ir::DataType::float64) return fail(ErrorCode::unsupported, "cannot be exported for float64");
    if (!contains(stored_types(opset), to))
      return fail(ErrorCode::unsupported, fmt::format("cannot be exported for {} in this opset", ir::name(to)));
    XFLOW_TRY(Exported exported, export_operands(operation, opset));
    XFLOW_CHECK(export_scale(operation, opset, exported));
    if (!operation.has(2) && to != ir::DataType::uint8) {
      if (opset < kFirstWithBlocks) return fail(ErrorCode::unsupported, "cannot be exported without a zero point in this opset");
      exported.attributes.emplace_back("output_dtype", static_cast<std::int64_t>(to));
    }
    return exported;
  }
};

XFLOW_OPERATOR_DEFINITION(QuantizeLinear)

}  // namespace xflow::ops
