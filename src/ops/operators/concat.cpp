// concat: the operands one after the other along `axis`. All other dimensions must be equal.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct Concat {
  static Signature signature() {
    return {.name = "concat",
            .operands = {{.name = "operands", .variadic = true}},
            .attributes = {{.name = "axis", .kind = AttributeKind::integer, .axis = true}},
            .moves_data = true};
  }

  static Result<std::vector<ir::TensorType>> type(Typing& typing, const Operation& operation) {
    const std::size_t axis = movement::axis(operation);
    ir::TensorType result = operation.operands[0];
    for (const ir::TensorType& operand : operation.operands.subspan(1)) {
      if (operand.data_type != result.data_type || operand.rank() != result.rank()) {
        return movement::ill_typed(fmt::format("expected operands of one type and rank, found {} and {}",
                                               ir::to_string(typing.symbols(), operation.operands[0]),
                                               ir::to_string(typing.symbols(), operand)));
      }
      for (std::size_t k = 0; k < result.rank(); ++k) {
        if (k == axis) {
          result.shape[k] += operand.shape[k];
          continue;
        }
        XFLOW_CHECK(typing.require_equal(result.shape[k], operand.shape[k], "the dimensions beside the axis to be equal"));
        if (operand.shape[k].is_constant()) result.shape[k] = operand.shape[k];
      }
    }
    return one_type(result.data_type, std::move(result.shape));
  }

  static FloatEffect float_effect() { return FloatEffect::moving().increasing(); }
  // select(i < d0, x0[i], select(i < d0 + d1, x1[i - d0], ... xn[i - d0 - d1 ...])), built from the last
  // operand.
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const std::size_t axis = movement::axis(operation);
    ir::Poly begin = operation.outputs[0].shape[axis];
    Expr result;
    for (std::size_t k = operation.operands.size(); k-- > 0;) {
      const ir::Poly end = begin;
      begin -= operation.operands[k].shape[axis];
      std::vector<ir::Poly> from(index.begin(), index.end());
      from[axis] -= begin;
      Expr element = builder.read(static_cast<int>(k), std::move(from));
      result = result ? builder.select({less_than(index[axis], end)}, std::move(element), std::move(result)) : std::move(element);
    }
    return result;
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(Lifted lifted, lift_operands(node));
    if (!node.has_attribute("axis")) return movement::ill_typed("expected Concat to have the attribute 'axis'");
    lifted.attributes.set("axis", ir::Poly(node.integer("axis", 0)));
    return lifted;
  }

  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    XFLOW_TRY(Exported exported, export_operands(operation, opset));
    exported.attributes.emplace_back("axis", *operation.attributes.known_integer("axis"));
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "Concat", .since = 4, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Concat)

}  // namespace xflow::ops
