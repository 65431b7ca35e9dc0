// trilu: the upper (`upper` 1) or lower triangle of the matrices in the last two dimensions of x, 0
// elsewhere (ONNX Trilu). The triangle begins at diagonal `diagonal`: out[.., i, j] = x[.., i, j] if j -
// i >= diagonal (upper) or j - i <= diagonal (lower), else 0.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct Trilu {
  static Signature signature() {
    return {.name = "trilu",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "diagonal", .kind = AttributeKind::integer, .default_value = ir::Poly(0)},
                           {.name = "upper", .kind = AttributeKind::integer, .default_value = ir::Poly(1), .flag = true}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    XFLOW_CHECK(require_rank_at_least(typing.symbols(), operation, 0, "x", 2));
    XFLOW_CHECK(require_flag(operation.attributes, "upper"));
    if (!movement::has_arithmetic(x.data_type)) {
      return movement::ill_typed(fmt::format("expected operand 'x' to be of a numeric or boolean type, found {}", ir::name(x.data_type)));
    }
    return one_type(x.data_type, x.shape);
  }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::fills, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const ir::Poly distance = index[index.size() - 1] - index[index.size() - 2];
    const ir::Poly& diagonal = operation.attributes.integer("diagonal");
    const bool upper = operation.attributes.integer("upper").is_one();
    const Atom kept = upper ? at_least(distance, diagonal) : at_least(diagonal, distance);
    return builder.select({kept}, builder.read(0, {index.begin(), index.end()}), builder.literal(0));
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    ir::Poly diagonal = 0;
    if (node.has_input(1)) {
      XFLOW_TRY(const std::vector<ir::Poly> given, movement::known_input(node, 1, "a diagonal"));
      if (given.size() != 1) return movement::ill_typed(fmt::format("expected one diagonal, found {}", given.size()));
      diagonal = given[0];
    }
    return Lifted{{0}, {{"diagonal", diagonal}, {"upper", ir::Poly(node.integer("upper", 1) != 0 ? 1 : 0)}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int /*opset*/) {
    Exported exported{{Exported::OperandInput{0}}, {{"upper", *operation.attributes.known_integer("upper")}}};
    const ir::Poly& diagonal = operation.attributes.integer("diagonal");
    if (!diagonal.is_zero()) exported.inputs.emplace_back(Exported::IntegersInput{{diagonal}, true});
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "Trilu", .since = 14, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Trilu)

}  // namespace xflow::ops
