// space_to_depth: blocks of `block` x `block` pixels of x[N, C, H, W] become channels of out[N, C * block^2,
// H / block, W / block].
//
// With b = block, k = (p b + q) C + c:  out[n, k, h, w] = x[n, c, h b + p, w b + q].
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct SpaceToDepth {
  static Signature signature() {
    return {.name = "space_to_depth",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "block", .kind = AttributeKind::integer}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    const ir::Poly& block = operation.attributes.integer("block");
    if (x.rank() != 4)
      return movement::ill_typed(fmt::format("expected x to have 4 dimensions, found {}", ir::to_string(typing.symbols(), x)));
    XFLOW_CHECK(typing.require_at_least_zero(block - 1, "block of at least 1, less one"));
    const ir::Poly height = typing.symbols().floor_div(x.shape[2], block);
    const ir::Poly width = typing.symbols().floor_div(x.shape[3], block);
    XFLOW_CHECK(typing.require_equal(height * block, x.shape[2], "block to divide the height"));
    XFLOW_CHECK(typing.require_equal(width * block, x.shape[3], "block to divide the width"));
    return one_type(x.data_type, {x.shape[0], x.shape[1] * block * block, height, width});
  }

  static FloatEffect float_effect() { return FloatEffect::moving(); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    ir::Symbols& symbols = builder.symbols();
    const ir::Poly& block = operation.attributes.integer("block");
    const ir::Poly& channels = operation.operands[0].shape[1];
    if (channels.is_zero()) return builder.read(0, {index[0], 0, 0, 0});  // there is no element to read
    const ir::Poly cell = symbols.floor_div(index[1], channels);
    return builder.read(0, {index[0], symbols.mod(index[1], channels), index[2] * block + symbols.floor_div(cell, block),
                            index[3] * block + symbols.mod(cell, block)});
  }

  static Result<Lifted> lift(const OnnxNode& node) { return Lifted{{0}, {{"block", ir::Poly(node.integer("blocksize", 0))}}}; }

  static Result<Exported> to_onnx(const Operation& operation, int /*opset*/) {
    XFLOW_TRY(const std::int64_t block, known_integer(operation, "block"));
    return Exported{{Exported::OperandInput{0}}, {{"blocksize", block}}};
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "SpaceToDepth", .since = 1, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(SpaceToDepth)

}  // namespace xflow::ops
