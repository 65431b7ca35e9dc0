// cumsum: the cumulative sum along an axis (ONNX CumSum with a constant axis). With exclusive = 1 a sum does
// not include the element at its own position. With reverse = 1 the sums start at the end.
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

Result<Lifted> lift_cumsum(const OnnxNode& node) {
  XFLOW_TRY(const std::vector<ir::Poly> axis, input_integers(node, 1, "axis"));
  if (axis.size() != 1) return fail(ErrorCode::unsupported, "CumSum has one axis");
  Lifted lifted;
  lifted.operands = {0};
  lifted.attributes.set("axis", axis.front());
  lifted.attributes.set("exclusive", ir::Poly(node.integer("exclusive", 0)));
  lifted.attributes.set("reverse", ir::Poly(node.integer("reverse", 0)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_cumsum(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  exported.inputs.emplace_back(Exported::IntegersInput{{operation.attributes.integer("axis")}, true});
  for (const char* name : {"exclusive", "reverse"}) {
    XFLOW_TRY(const std::int64_t flag, known_integer(operation, name));
    if (flag != 0) exported.attributes.emplace_back(name, flag);
  }
  return exported;
}

}  // namespace

struct Cumsum {
  static Signature signature() {
    Signature signature;
    signature.name = "cumsum";
    signature.operands = {{"x", TypeClass::numeric}};
    AttributeSignature axis{"axis", AttributeKind::integer};
    axis.axis = true;
    signature.attributes = {std::move(axis),
                            {.name = "exclusive", .kind = AttributeKind::integer, .default_value = ir::Poly(0), .flag = true},
                            {.name = "reverse", .kind = AttributeKind::integer, .default_value = ir::Poly(0), .flag = true}};
    return signature;
  }
  static Types type(Typing& /*typing*/, const Operation& operation) {
    XFLOW_CHECK(require_flag(operation.attributes, "exclusive"));
    XFLOW_CHECK(require_flag(operation.attributes, "reverse"));
    return one_type(operation.operands[0].data_type, operation.operands[0].shape);
  }
  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::adds); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const auto axis = static_cast<std::size_t>(operation.attributes.integer("axis").constant_term());
    const bool reverse = operation.attributes.integer("reverse").is_one();
    const ir::Poly& exclusive = operation.attributes.integer("exclusive");
    std::vector<ir::Poly> at(index.begin(), index.end());
    return builder.sum(operation.operands[0].shape[axis], [&](const ir::Poly& k) {
      at[axis] = k;
      const ir::Poly distance = reverse ? k - index[axis] : index[axis] - k;
      return builder.select({at_least(distance, exclusive)}, builder.read(0, at), builder.literal(0));
    });
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    constexpr TypeSet kFirst = kWideIntegers | type_set({ir::DataType::float32, ir::DataType::float64});
    return {
        OnnxMapping{"", "CumSum", 11, 13, &lift_cumsum, &export_cumsum<kFirst>},
        OnnxMapping{"", "CumSum", 14, kNewest, &lift_cumsum, &export_cumsum<kFloats | kBfloat | kWideIntegers>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::other, operation));
    for (const char* name : {"axis", "exclusive", "reverse"}) XFLOW_CHECK(add_integers(spec, operation, name));
    return spec;
  }
};

XFLOW_OPERATOR_DEFINITION(Cumsum)

}  // namespace xflow::ops
