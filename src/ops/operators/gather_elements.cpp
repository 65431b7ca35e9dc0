// gather_elements: out[i] = x[i with i[axis] replaced by indices[i]]. Negative indices count from the end,
// as in gather.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct GatherElements {
  static Signature signature() {
    return {.name = "gather_elements",
            .operands = {{.name = "x"}, {.name = "indices", .type_class = TypeClass::integer}},
            .attributes = {{.name = "axis", .kind = AttributeKind::integer, .default_value = ir::Poly(0), .axis = true}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::Shape& x = operation.operands[0].shape;
    const ir::Shape& indices = operation.operands[1].shape;
    if (x.size() != indices.size()) {
      return movement::ill_typed(fmt::format("expected operands of one rank, found {} and {}", x.size(), indices.size()));
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (k == movement::axis(operation)) continue;
      XFLOW_CHECK(typing.require_at_least_zero(x[k] - indices[k], fmt::format("dimension {} of indices not to exceed that of x", k)));
    }
    return one_type(operation.operands[0].data_type, indices);
  }

  static FloatEffect float_effect() { return FloatEffect::moving(); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const std::size_t axis = movement::axis(operation);
    std::vector<ir::Poly> from(index.begin(), index.end());
    const WrappedIndex place{1, from, operation.operands[0].shape[axis]};
    from[axis] = builder.wrap(place);
    return builder.read(0, std::move(from), {place});
  }

  static Result<Lifted> lift(const OnnxNode& node) { return Lifted{{0, 1}, {{"axis", ir::Poly(node.integer("axis", 0))}}}; }

  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    XFLOW_CHECK(require_exportable(operation, 1, type_set({ir::DataType::int32, ir::DataType::int64})));
    XFLOW_TRY(Exported exported, export_operands(operation, opset));
    exported.attributes.emplace_back("axis", *operation.attributes.known_integer("axis"));
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "GatherElements", .since = 11, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(GatherElements)

}  // namespace xflow::ops
