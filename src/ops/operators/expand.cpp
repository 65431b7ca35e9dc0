// expand: x broadcast to `shape` (ONNX Expand, numpy broadcast_to).
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct Expand {
  static Signature signature() {
    return {.name = "expand",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "shape", .kind = AttributeKind::integers}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    const ir::Shape& shape = operation.attributes.integers("shape");
    if (shape.size() < x.rank()) {
      return movement::ill_typed(fmt::format("expected shape to have at least {} elements, found {}", x.rank(), shape.size()));
    }
    const std::size_t offset = shape.size() - x.rank();
    for (std::size_t k = 0; k < shape.size(); ++k) {
      XFLOW_CHECK(typing.require_at_least_zero(shape[k], "dimensions of at least 0"));
      if (k < offset || x.shape[k - offset].is_one() || x.shape[k - offset] == shape[k]) continue;
      XFLOW_TRY(const ir::Poly both, typing.broadcast(x.shape[k - offset], shape[k]));
      XFLOW_CHECK(typing.require_equal(both, shape[k], fmt::format("dimension {} to be that of the operand, which is not 1", k)));
    }
    return one_type(x.data_type, shape);
  }

  static FloatEffect float_effect() { return FloatEffect::moving(); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return read_broadcast(builder, operation, 0, operation.attributes.integers("shape"), index);
  }

  // ONNX broadcasts the operand and the shape with each other: a 1 in the shape keeps the operand's
  // dimension.
  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(ir::Shape from, movement::ranked_shape(node, 0));
    XFLOW_TRY(const std::vector<ir::Poly> given, movement::known_input(node, 1, "a shape"));
    Typing typing(node.symbols());
    const std::vector<ir::Shape> shapes = {std::move(from), given};
    XFLOW_TRY(ir::Shape shape, typing.broadcast(shapes));
    return Lifted{{0}, {{"shape", std::move(shape)}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int /*opset*/) {
    return Exported{{Exported::OperandInput{0}, Exported::IntegersInput{operation.attributes.integers("shape")}}, {}};
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "Expand", .since = 8, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Expand)

}  // namespace xflow::ops
