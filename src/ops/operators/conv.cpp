// conv: the convolution (cross-correlation) of x[N, C, spatial...] with w[O, C / groups, window...] (ONNX
// Conv without bias). The pads are all begins, then all ends.
//
//   y[n, o, t] = sum(c, r) x[n, g C/groups + c, t stride + r dilation - pad] w[o, c, r]
//   where g = floor(o / (O / groups)) and x is 0 outside its range
#include "src/ops/window.h"

namespace xflow::ops {
namespace {

std::span<const ir::Poly> conv_kernel(const ir::TensorType& w) { return std::span(w.shape).subspan(2); }

Result<Lifted> lift_conv(const OnnxNode& node) {
  if (node.has_input(2)) return fail(ErrorCode::unsupported, "a convolution with bias is a composition");
  XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
  XFLOW_TRY(const std::size_t weight_rank, input_rank(node, 1));
  if (rank < 3 || rank > 5 || weight_rank != rank) return fail(ErrorCode::unsupported, "a convolution has 1 to 3 spatial dimensions");
  Lifted lifted;
  lifted.operands = {0, 1};
  XFLOW_TRY(lifted.attributes, lift_window(node, conv_kernel(node.input_type(1))));
  lifted.attributes.set("groups", ir::Poly(node.integer("group", 1)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_conv(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  const ir::Shape& w = operation.operands[1].shape;
  if (auto kernel = ir::constant_shape(ir::Shape(w.begin() + 2, w.end())))
    exported.attributes.emplace_back("kernel_shape", *std::move(kernel));
  XFLOW_CHECK(export_window(operation, exported, true));
  XFLOW_TRY(const std::int64_t groups, known_integer(operation, "groups"));
  exported.attributes.emplace_back("group", groups);
  return exported;
}

}  // namespace

struct Conv {
  static Signature signature() {
    Signature signature;
    signature.name = "conv";
    signature.operands = {{"x", TypeClass::floating}, {"w", TypeClass::floating}};
    signature.attributes = window_attributes();
    signature.attributes.push_back({"groups", AttributeKind::integer, ir::Poly(1)});
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(require_same_data_type(operation, {0, 1}));
    XFLOW_TRY(ir::Shape shape, convolution_shape(typing, operation, 1));
    return one_type(operation.operands[0].data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::contracts); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return convolution_sum(builder, operation, 1, index, [&](const Condition& inside, const auto& x, const auto& w) {
      return builder.select(inside, builder.read(0, x), builder.literal(0)) * builder.read(1, w);
    });
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Conv", 1, 21, &lift_conv, &export_conv<kFloats>},
        OnnxMapping{"", "Conv", 22, kNewest, &lift_conv, &export_conv<kFloats | kBfloat>},
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::convolution, operation));
    XFLOW_CHECK(add_window(spec, operation));
    XFLOW_CHECK(add_integers(spec, operation, "groups"));
    return spec;
  }
};

XFLOW_OPERATOR_DEFINITION(Conv)

}  // namespace xflow::ops
