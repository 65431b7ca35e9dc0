// dequantize_linear: the real values of quantised integers or narrow floating numbers (ONNX
// DequantizeLinear-25).
//
//   y[i] = (x[i] - zero) scale
#include <fmt/format.h>

#include "src/ir/data_type_from_number.h"
#include "src/ir/narrow.h"
#include "src/ops/quantization.h"

namespace xflow::ops {

struct DequantizeLinear {
  static Signature signature() {
    Signature signature;
    signature.name = "dequantize_linear";
    signature.operands = {{"x", TypeClass::quantized}, {"scale", TypeClass::floating}, {"zero", TypeClass::quantized, true}};
    signature.attributes = {{"axis", AttributeKind::integer, ir::Poly(0)}, {"block", AttributeKind::integer, ir::Poly(0)}};
    signature.at_run = true;
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType from = operation.operands[0].data_type;
    if (!contains(stored_types(kNewest), from) && from != ir::DataType::int32)
      return fail(ErrorCode::ill_typed,
                  fmt::format("expected x to be of 16 bits or fewer, int32, or a floating type of 8 or 4 bits, found {}", ir::name(from)));
    XFLOW_CHECK(check_scale(typing, operation, 1, "scale"));
    if (operation.has(2)) {
      XFLOW_CHECK(require_data_type(operation, 2, "zero", from));
      XFLOW_CHECK(check_scale(typing, operation, 2, "zero"));
    }
    return one_type(operation.operands[1].data_type, operation.operands[0].shape);
  }

  static FloatEffect float_effect() { return FloatEffect::computing(FloatError::own, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    // The difference of two 8-bit integers does not fit 8 bits.
    const bool is_floating = ir::is_narrow_floating(operation.operands[0].data_type);
    const ir::DataType wide = is_floating ? operation.operands[1].data_type : ir::DataType::int32;
    Expr x = builder.cast(wide, builder.read(0, {index.begin(), index.end()}));
    if (operation.has(2)) x = x - builder.cast(wide, read_scale(builder, operation, 2, index));
    return (is_floating ? x : builder.cast(operation.operands[1].data_type, x)) * read_scale(builder, operation, 1, index);
  }

  static std::vector<OnnxMapping> onnx_mappings() { return {OnnxMapping{"", "DequantizeLinear", 10, kNewest, &lift, &to_onnx}}; }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::other, operation));
    for (const char* name : {"axis", "block"}) XFLOW_CHECK(add_integers(spec, operation, name));
    return spec;
  }

 private:
  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(Lifted lifted, lift_operands(node));
    XFLOW_CHECK(lift_scale(node, lifted.attributes));
    if (const std::int64_t type = node.integer("output_dtype", 0);
        type != 0 && ir::data_type_from_number(type) != node.input_type(1).data_type)
      return fail(ErrorCode::unsupported, "a result of another type than the scale");
    return lifted;
  }

  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    constexpr int kFirstWithHalf = 19;
    XFLOW_CHECK(require_exportable(operation, 0, stored_types(opset) | type_set({ir::DataType::int32})));
    const TypeSet floats = opset < kFirstWithHalf ? TypeSet{0} : type_set({ir::DataType::float16, ir::DataType::bfloat16});
    XFLOW_CHECK(require_exportable(operation, 1, floats | type_set({ir::DataType::float32})));
    XFLOW_TRY(Exported exported, export_operands(operation, opset));
    XFLOW_CHECK(export_scale(operation, opset, exported));
    return exported;
  }
};

XFLOW_OPERATOR_DEFINITION(DequantizeLinear)

}  // namespace xflow::ops
