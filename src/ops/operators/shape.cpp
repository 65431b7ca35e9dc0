// shape: the dimensions [start, end) of x as a list of int64.
#include <fmt/format.h>

#include <algorithm>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct ShapeOf {
  static Signature signature() {
    return {.name = "shape",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "start", .kind = AttributeKind::integer}, {.name = "end", .kind = AttributeKind::integer}}};
  }

  static Types type(Typing& /*typing*/, const Operation& operation) {
    const auto start = operation.attributes.known_integer("start");
    const auto end = operation.attributes.known_integer("end");
    const auto rank = static_cast<std::int64_t>(operation.operands[0].rank());
    if (!start || !end || *start < 0 || *end < *start || *end > rank) {
      return movement::ill_typed(fmt::format("expected start and end to be a range of {} dimensions", rank));
    }
    return one_type(ir::DataType::int64, {ir::Poly(*end - *start)});
  }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::makes, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const std::int64_t start = *operation.attributes.known_integer("start");
    Expr result = builder.integer(0);  // for an empty list, which has no element to read
    for (std::int64_t k = *operation.attributes.known_integer("end"); k-- > start;) {
      Expr size = builder.integer(operation.operands[0].shape[static_cast<std::size_t>(k)]);
      const bool last = k + 1 == *operation.attributes.known_integer("end");
      result = last ? std::move(size) : builder.select({equal(index[0], k - start)}, std::move(size), std::move(result));
    }
    return result;
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(const std::size_t dimensions, input_rank(node, 0));
    const auto rank = static_cast<std::int64_t>(dimensions);
    const auto bound = [&](std::int64_t value) { return std::clamp(value < 0 ? value + rank : value, std::int64_t{0}, rank); };
    const std::int64_t start = bound(node.integer("start", 0));
    const std::int64_t end = bound(node.integer("end", rank));
    return Lifted{{0}, {{"start", ir::Poly(start)}, {"end", ir::Poly(std::max(start, end))}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    const std::int64_t start = *operation.attributes.known_integer("start");
    const std::int64_t end = *operation.attributes.known_integer("end");
    Exported exported{{Exported::OperandInput{0}}, {}};
    if (start == 0 && end == static_cast<std::int64_t>(operation.operands[0].rank())) return exported;
    if (opset < 15) return movement::cannot("write a part of a shape before opset 15");
    exported.attributes = {{"start", start}, {"end", end}};
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "Shape", .since = 1, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return none_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(ShapeOf)

}  // namespace xflow::ops
