// gather: the slices of x along `axis` at the integer `indices`. In the result, the shape of `indices`
// replaces the axis. A negative index e in [-d, d) of a dimension of size d counts from the end, as in ONNX:
// e mod d.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct Gather {
  static Signature signature() {
    return {.name = "gather",
            .operands = {{.name = "x"}, {.name = "indices", .type_class = TypeClass::integer}},
            .attributes = {{.name = "axis", .kind = AttributeKind::integer, .default_value = ir::Poly(0), .axis = true}},
            .moves_data = true};
  }

  static Types type(Typing& /*typing*/, const Operation& operation) {
    const std::size_t axis = movement::axis(operation);
    const ir::TensorType& x = operation.operands[0];
    const ir::Shape& indices = operation.operands[1].shape;
    ir::Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    shape.insert(shape.end(), indices.begin(), indices.end());
    shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.shape.end());
    return one_type(x.data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::moving(); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const std::size_t axis = movement::axis(operation);
    const std::size_t named = operation.operands[1].rank();
    const auto at = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const WrappedIndex place{1, {at, at + static_cast<std::ptrdiff_t>(named)}, operation.operands[0].shape[axis]};
    std::vector<ir::Poly> from(index.begin(), at);
    from.push_back(builder.wrap(place));
    from.insert(from.end(), at + static_cast<std::ptrdiff_t>(named), index.end());
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
    return {{.domain = "", .type = "Gather", .since = 1, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Gather)

}  // namespace xflow::ops
