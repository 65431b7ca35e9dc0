// identity_matrix: the `size` x `size` matrix I with I x = x. out[i, j] = 1 if i = j, else 0. Only rules
// create it. ONNX has no such operator.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct IdentityMatrix {
  static Signature signature() {
    return {.name = "identity_matrix",
            .attributes = {{.name = "size", .kind = AttributeKind::integer},
                           {.name = "data_type", .kind = AttributeKind::data_type, .default_value = ir::DataType::float32}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType type = operation.attributes.data_type("data_type");
    if (!contains(kNumeric, type)) return movement::ill_typed(fmt::format("expected a numeric type, found {}", ir::name(type)));
    const ir::Poly& size = operation.attributes.integer("size");
    XFLOW_CHECK(typing.require_at_least_zero(size, "size of at least 0"));
    return one_type(type, {size, size});
  }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::makes, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& /*operation*/, int /*output*/, std::span<const ir::Poly> index) {
    return builder.select({equal(index[0], index[1])}, builder.literal(1), builder.literal(0));
  }

  static std::vector<OnnxMapping> onnx_mappings() { return {}; }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(IdentityMatrix)

}  // namespace xflow::ops
