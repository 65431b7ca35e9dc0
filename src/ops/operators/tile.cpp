// tile: x repeated `repeats` times along each dimension. out[i] = x[i mod d].
#include "src/ops/data_movement.h"

namespace xflow::ops {

struct Tile {
  static Signature signature() {
    return {.name = "tile",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "repeats", .kind = AttributeKind::integers, .per_dimension = true}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    XFLOW_CHECK(require_size(operation.attributes, "repeats", x.rank()));
    XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "repeats", 0));
    ir::Shape shape = x.shape;
    for (std::size_t k = 0; k < shape.size(); ++k) shape[k] *= operation.attributes.integers("repeats")[k];
    return one_type(x.data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::moving(); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const ir::Shape& shape = operation.operands[0].shape;
    std::vector<ir::Poly> from(index.begin(), index.end());
    for (std::size_t k = 0; k < index.size(); ++k) {
      if (shape[k].is_zero())
        from[k] = 0;  // there is no element to read
      else if (!operation.attributes.integers("repeats")[k].is_one())
        from[k] = builder.symbols().mod(index[k], shape[k]);
    }
    return builder.read(0, std::move(from));
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(std::vector<ir::Poly> repeats, movement::known_input(node, 1, "repeats"));
    return Lifted{{0}, {{"repeats", std::move(repeats)}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int /*opset*/) {
    return Exported{{Exported::OperandInput{0}, Exported::IntegersInput{operation.attributes.integers("repeats")}}, {}};
  }

  static std::vector<OnnxMapping> onnx_mappings() { return {{.domain = "", .type = "Tile", .since = 6, .lift = lift, .to_onnx = to_onnx}}; }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Tile)

}  // namespace xflow::ops
