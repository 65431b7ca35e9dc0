// iota: a tensor of `shape` whose elements are their indices along `axis`. out[i] = i[axis]. Only rules
// create it. ONNX has no such operator.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct Iota {
  static Signature signature() {
    return {.name = "iota",
            .attributes = {{.name = "shape", .kind = AttributeKind::integers},
                           {.name = "axis", .kind = AttributeKind::integer, .default_value = ir::Poly(0)},
                           {.name = "data_type", .kind = AttributeKind::data_type, .default_value = ir::DataType::int64}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType type = operation.attributes.data_type("data_type");
    if (!contains(kNumeric, type)) return movement::ill_typed(fmt::format("expected a numeric type, found {}", ir::name(type)));
    XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "shape", 0));
    const std::size_t rank = operation.attributes.integers("shape").size();
    const auto axis = operation.attributes.known_integer("axis");
    if (!axis || *axis < 0 || *axis >= static_cast<std::int64_t>(rank)) {
      return movement::ill_typed(fmt::format("expected axis to be at least 0 and below {}", rank));
    }
    return one_type(type, operation.attributes.integers("shape"));
  }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::makes, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return builder.integer(index[movement::axis(operation)]);
  }

  static std::vector<OnnxMapping> onnx_mappings() { return {}; }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Iota)

}  // namespace xflow::ops
