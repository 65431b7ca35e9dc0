// lrn: local response normalisation over channels (ONNX LRN): x / (bias + alpha / size sum(x'^2))^beta. The
// sum is over the `size` channels x' that start floor((size - 1) / 2) channels before x.
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

Result<Lifted> lift_lrn(const OnnxNode& node) {
  if (!node.has_attribute("size")) return fail(ErrorCode::unsupported, "LRN has no size");
  Lifted lifted;
  lifted.operands = {0};
  lifted.attributes.set("size", ir::Poly(node.integer("size", 1)));
  lifted.attributes.set("alpha", node.real("alpha", ir::Real::from_double(0.0001F)));
  lifted.attributes.set("beta", node.real("beta", ir::Real::from_double(0.75F)));
  lifted.attributes.set("bias", node.real("bias", ir::Real(1)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_lrn(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  XFLOW_TRY(const std::int64_t size, known_integer(operation, "size"));
  exported.attributes.emplace_back("size", size);
  for (const char* name : {"alpha", "beta", "bias"}) {
    XFLOW_TRY(const float value, known_real(operation, name));
    exported.attributes.emplace_back(name, value);
  }
  return exported;
}

}  // namespace

struct Lrn {
  static Signature signature() {
    Signature signature;
    signature.name = "lrn";
    signature.operands = {{"x", TypeClass::floating}};
    signature.attributes = {{"size", AttributeKind::integer},
                            {"alpha", AttributeKind::real, ir::Real(ir::Rational::make(1, 10000).value())},
                            {"beta", AttributeKind::real, ir::Real(ir::Rational::make(3, 4).value())},
                            {"bias", AttributeKind::real, ir::Real(1)}};
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(require_rank_at_least(typing.symbols(), operation, 0, "x", 2));
    XFLOW_CHECK(typing.require_at_least_zero(operation.attributes.integer("size") - 1, "'size' to be at least 1"));
    return one_type(operation.operands[0].data_type, operation.operands[0].shape);
  }
  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::own); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const ir::Poly& size = operation.attributes.integer("size");
    const ir::Poly before = builder.symbols().floor_div(size - 1, 2);
    std::vector<ir::Poly> at(index.begin(), index.end());
    const Expr x = builder.read(0, at);
    const Expr squares = builder.sum(size, [&](const ir::Poly& k) {
      at[1] = index[1] + k - before;
      const Expr neighbour = builder.read(0, at);
      return builder.select({at_least(at[1], 0), less_than(at[1], operation.operands[0].shape[1])}, neighbour * neighbour,
                            builder.literal(0));
    });
    const Expr scale = builder.literal(operation.attributes.real("alpha")) / builder.integer(size);
    const Expr base = builder.literal(operation.attributes.real("bias")) + scale * squares;
    return x / builder.apply(Function::power, base, builder.literal(operation.attributes.real("beta")));
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "LRN", 1, 12, &lift_lrn, &export_lrn<kFloats>},
        OnnxMapping{"", "LRN", 13, kNewest, &lift_lrn, &export_lrn<kFloats | kBfloat>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::other, operation));
    XFLOW_CHECK(add_integers(spec, operation, "size"));
    for (const char* name : {"alpha", "beta", "bias"}) spec.reals.emplace_back(name, operation.attributes.real(name).to_double());
    return spec;
  }
};

XFLOW_OPERATOR_DEFINITION(Lrn)

}  // namespace xflow::ops
