// identity_kernel: the weight of a convolution that is the identity. With C = `channels`, R = `kernel`
// (spatial shape) and g = `groups`:
//
//   conv(x, identity_kernel(C, R, g), groups: g, strides 1, dilations 1,
//        begins: floor((R - 1) / 2), ends: floor(R / 2)) = x
//
//   out[o, c, r] = 1 if c = o mod (C / g) and r = floor((R - 1) / 2), else 0; shape [C, C / g, R...]
//
// Only rules create it. ONNX has no such operator.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct IdentityKernel {
  static Signature signature() {
    return {.name = "identity_kernel",
            .attributes = {{.name = "channels", .kind = AttributeKind::integer},
                           {.name = "kernel", .kind = AttributeKind::integers},
                           {.name = "groups", .kind = AttributeKind::integer, .default_value = ir::Poly(1)},
                           {.name = "data_type", .kind = AttributeKind::data_type, .default_value = ir::DataType::float32}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType type = operation.attributes.data_type("data_type");
    if (!contains(kNumeric, type)) return movement::ill_typed(fmt::format("expected a numeric type, found {}", ir::name(type)));
    const ir::Poly& channels = operation.attributes.integer("channels");
    const ir::Poly& groups = operation.attributes.integer("groups");
    const ir::Shape& kernel = operation.attributes.integers("kernel");
    XFLOW_CHECK(typing.require_at_least_zero(groups - 1, "groups of at least 1, less one"));
    XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "kernel", 1));
    const ir::Poly inner = typing.symbols().floor_div(channels, groups);
    XFLOW_CHECK(typing.require_equal(inner * groups, channels, "groups to divide the channels"));
    ir::Shape shape = {channels, inner};
    shape.insert(shape.end(), kernel.begin(), kernel.end());
    return one_type(type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::makes, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    ir::Symbols& symbols = builder.symbols();
    const ir::Shape& kernel = operation.attributes.integers("kernel");
    Condition one;
    if (operation.attributes.integer("groups").is_one()) {
      one.push_back(equal(index[1], index[0]));
    } else {
      one.push_back(equal(index[1], symbols.mod(index[0], operation.outputs[0].shape[1])));
    }
    for (std::size_t k = 0; k < kernel.size(); ++k) {
      if (!kernel[k].is_one()) one.push_back(equal(index[2 + k], symbols.floor_div(kernel[k] - 1, 2)));
    }
    return builder.select(std::move(one), builder.literal(1), builder.literal(0));
  }

  static std::vector<OnnxMapping> onnx_mappings() { return {}; }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(IdentityKernel)

}  // namespace xflow::ops
