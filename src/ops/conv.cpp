// conv: convolution (cross-correlation) of x[N, C, spatial...] with w[O, C / groups, window...]; pads are begins, then ends (ONNX Conv
// without bias).
//
//   y[n, o, t] = sum(c, r) x[n, g C/groups + c, t stride + r dilation - pad] w[o, c, r],  g = floor(o / (O / groups)), 0 outside x
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
Result<Spelled> spell_conv(const Operation& operation, int opset) {
  XFLOW_TRY(Spelled spelled, spell_operands_of<types>(operation, opset));
  const ir::Shape& w = operation.operands[1].shape;
  if (auto kernel = ir::constant_shape(ir::Shape(w.begin() + 2, w.end())))
    spelled.attributes.emplace_back("kernel_shape", *std::move(kernel));
  XFLOW_CHECK(spell_window(operation, spelled, true));
  XFLOW_TRY(const std::int64_t groups, known_integer(operation, "groups"));
  spelled.attributes.emplace_back("group", groups);
  return spelled;
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
    XFLOW_CHECK(check_window(typing, operation));
    const ir::TensorType& x = operation.operands[0];
    const ir::TensorType& w = operation.operands[1];
    XFLOW_CHECK(require_same_rank(typing.symbols(), operation, "x", "w"));
    const ir::Poly& groups = operation.attributes.integer("groups");
    XFLOW_CHECK(typing.require_at_least_zero(groups - 1, "groups to be at least 1"));
    XFLOW_CHECK(typing.require_equal(x.shape[1], w.shape[1] * groups, "the channels of x to be those of w times groups"));
    const ir::Poly per_group = typing.symbols().floor_div(w.shape[0], groups);
    XFLOW_CHECK(typing.require_equal(w.shape[0], per_group * groups, "the output channels to be a multiple of groups"));
    ir::Shape shape = {x.shape[0], w.shape[0]};
    for (const WindowAxis& axis : window_axes(operation, conv_kernel(w))) {
      XFLOW_TRY(ir::Poly count, window_count(typing, axis));
      shape.push_back(std::move(count));
    }
    return one_type(x.data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::contracts); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    ir::Symbols& symbols = builder.symbols();
    const ir::Shape& w = operation.operands[1].shape;
    const ir::Poly& groups = operation.attributes.integer("groups");
    const ir::Poly group = groups.is_one() ? ir::Poly(0) : symbols.floor_div(index[1], symbols.floor_div(w[0], groups));
    const std::vector<WindowAxis> axes = window_axes(operation, conv_kernel(operation.operands[1]));
    std::vector<ir::Poly> extents(w.begin() + 1, w.end());
    return builder.sum(extents, [&](const std::vector<ir::Poly>& binders) {
      std::vector<ir::Poly> read = {index[0], group * w[1] + binders[0]};
      std::vector<ir::Poly> weight = {index[1], binders[0]};
      Condition in_range;
      for (std::size_t k = 0; k < axes.size(); ++k) {
        const ir::Poly position = window_position(axes[k], index[k + 2], binders[k + 1]);
        add_in_range(in_range, axes[k], position);
        read.push_back(position);
        weight.push_back(binders[k + 1]);
      }
      return builder.select(std::move(in_range), builder.read(0, std::move(read)), builder.literal(0)) * builder.read(1, std::move(weight));
    });
  }

  static std::vector<Spelling> spellings() {
    return {
        Spelling{"", "Conv", 1, 21, &lift_conv, &spell_conv<kFloats>},
        Spelling{"", "Conv", 22, kNewest, &lift_conv, &spell_conv<kFloats | kBfloat>},
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec("convolution", operation));
    XFLOW_CHECK(add_window(spec, operation));
    XFLOW_CHECK(add_integers(spec, operation, "groups"));
    return spec;
  }
};

XFLOW_OPERATOR_DEFINITION(Conv)

}  // namespace xflow::ops
