// depth_to_space: blocks of `block` x `block` channels of x[N, C, H, W] become pixels of
// out[N, C / block^2, H * block, W * block].
//
// With b = block, c' channels out, h = floor(i / b), p = i mod b, w = floor(j / b), q = j mod b:
//   order depth_first (ONNX mode DCR): out[n, c, i, j] = x[n, (p b + q) c' + c, h, w]
//   order column_first (CRD):          out[n, c, i, j] = x[n, c b^2 + p b + q, h, w]
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct DepthToSpace {
  static Signature signature() {
    return {.name = "depth_to_space",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "block", .kind = AttributeKind::integer},
                           {.name = "order", .kind = AttributeKind::word, .default_value = std::string("depth_first")}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    const ir::Poly& block = operation.attributes.integer("block");
    const std::string& order = operation.attributes.word("order");
    if (order != "depth_first" && order != "column_first") {
      return movement::ill_typed(fmt::format("expected order depth_first or column_first, found {}", order));
    }
    if (x.rank() != 4)
      return movement::ill_typed(fmt::format("expected x to have 4 dimensions, found {}", ir::to_string(typing.symbols(), x)));
    XFLOW_CHECK(typing.require_at_least_zero(block - 1, "block of at least 1, less one"));
    const ir::Poly channels = typing.symbols().floor_div(x.shape[1], block * block);
    XFLOW_CHECK(typing.require_equal(channels * block * block, x.shape[1], "block * block to divide the channels"));
    return one_type(x.data_type, {x.shape[0], channels, x.shape[2] * block, x.shape[3] * block});
  }

  static FloatEffect float_effect() { return FloatEffect::moving(); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    ir::Symbols& symbols = builder.symbols();
    const ir::Poly& block = operation.attributes.integer("block");
    const ir::Poly cell = symbols.mod(index[2], block) * block + symbols.mod(index[3], block);
    const bool depth_first = operation.attributes.word("order") == "depth_first";
    const ir::Poly channel = depth_first ? cell * operation.outputs[0].shape[1] + index[1] : index[1] * block * block + cell;
    return builder.read(0, {index[0], channel, symbols.floor_div(index[2], block), symbols.floor_div(index[3], block)});
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    const std::string mode = node.word("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") return movement::ill_typed(fmt::format("expected mode DCR or CRD, found {}", mode));
    return Lifted{
        {0}, {{"block", ir::Poly(node.integer("blocksize", 0))}, {"order", std::string(mode == "DCR" ? "depth_first" : "column_first")}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    XFLOW_TRY(const std::int64_t block, known_integer(operation, "block"));
    Exported exported{{Exported::OperandInput{0}}, {{"blocksize", block}}};
    if (operation.attributes.word("order") == "column_first") {
      if (opset < 11) return movement::cannot("write DepthToSpace in mode CRD before opset 11");
      exported.attributes.emplace_back("mode", std::string("CRD"));
    }
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "DepthToSpace", .since = 1, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation, {"order"}); }
};

XFLOW_OPERATOR_DEFINITION(DepthToSpace)

}  // namespace xflow::ops
