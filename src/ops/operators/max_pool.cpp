// max_pool: the maximum over a window of x[N, C, spatial...], without the padding (ONNX MaxPool whose
// indices are not used).
#include "src/ops/window.h"

namespace xflow::ops {
namespace {

Result<Lifted> lift_max_pool(const OnnxNode& node) {
  if (node.has_output(1)) return fail(ErrorCode::unsupported, "the indices of MaxPool are used");
  XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
  const auto given = node.integer_list("kernel_shape");
  if (!given || rank < 3 || rank > 5 || given->size() + 2 != rank)
    return fail(ErrorCode::unsupported, "a pool has 1 to 3 spatial dimensions");
  std::vector<ir::Poly> kernel = ir::polys(*given);
  Lifted lifted;
  lifted.operands = {0};
  XFLOW_TRY(lifted.attributes, lift_window(node, kernel));
  const std::int64_t ceil_mode = node.integer("ceil_mode", 0);
  if (ceil_mode != 0 && node.word("auto_pad", "NOTSET") != "NOTSET") {
    return fail(ErrorCode::unsupported, "ceil_mode together with auto_pad has no single meaning");
  }
  lifted.attributes.set("kernel", std::move(kernel));
  lifted.attributes.set("ceil_mode", ir::Poly(ceil_mode));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_max_pool(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  XFLOW_TRY(std::vector<std::int64_t> kernel, known_integers(operation, "kernel"));
  exported.attributes.emplace_back("kernel_shape", std::move(kernel));
  XFLOW_CHECK(export_window(operation, exported, false));
  XFLOW_TRY(const std::int64_t ceil_mode, known_integer(operation, "ceil_mode"));
  if (ceil_mode != 0) exported.attributes.emplace_back("ceil_mode", ceil_mode);
  if (opset < 10) {
    for (const auto& [name, value] : exported.attributes) {
      if (name == "dilations" || name == "ceil_mode") return fail(ErrorCode::unsupported, "MaxPool has no " + name + " in this opset");
    }
  }
  return exported;
}

}  // namespace

struct MaxPool {
  static Signature signature() {
    Signature signature;
    signature.name = "max_pool";
    signature.operands = {{"x", TypeClass::numeric}};
    AttributeSignature kernel{"kernel", AttributeKind::integers};
    kernel.per_spatial = 1;
    signature.attributes = window_attributes();
    signature.attributes.push_back(std::move(kernel));
    signature.attributes.push_back({.name = "ceil_mode", .kind = AttributeKind::integer, .default_value = ir::Poly(0), .flag = true});
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(check_window(typing, operation));
    XFLOW_CHECK(require_flag(operation.attributes, "ceil_mode"));
    XFLOW_CHECK(require_size(operation.attributes, "kernel", operation.operands[0].rank() - 2));
    XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "kernel", 1));
    const ir::TensorType& x = operation.operands[0];
    ir::Shape shape = {x.shape[0], x.shape[1]};
    for (const WindowAxis& axis : window_axes(operation, operation.attributes.integers("kernel"))) {
      XFLOW_TRY(ir::Poly count, window_count(typing, axis, operation.attributes.integer("ceil_mode").is_one()));
      shape.push_back(std::move(count));
    }
    return one_type(x.data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::chooses).in(FloatRange::of_operands); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const std::vector<ir::Poly>& kernel = operation.attributes.integers("kernel");
    const bool ceil_mode = operation.attributes.integer("ceil_mode").is_one();
    const std::vector<WindowAxis> axes = window_axes(operation, kernel);
    return builder.maximum(kernel, [&](const std::vector<ir::Poly>& binders) {
      std::vector<ir::Poly> read = {index[0], index[1]};
      Condition in_range;
      for (std::size_t k = 0; k < axes.size(); ++k) {
        const ir::Poly position = window_position(axes[k], index[k + 2], binders[k]);
        add_in_range(in_range, axes[k], position, ceil_mode);
        read.push_back(position);
      }
      return builder.select(std::move(in_range), builder.read(0, std::move(read)), builder.literal(ir::negative_infinity()));
    });
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    constexpr TypeSet kBytes = type_set({ir::DataType::int8, ir::DataType::uint8});
    return {
        OnnxMapping{"", "MaxPool", 1, 11, &lift_max_pool, &export_max_pool<kFloats>},
        OnnxMapping{"", "MaxPool", 12, 21, &lift_max_pool, &export_max_pool<kFloats | kBytes>},
        OnnxMapping{"", "MaxPool", 22, kNewest, &lift_max_pool, &export_max_pool<kFloats | kBfloat | kBytes>},
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::pooling, operation));
    XFLOW_CHECK(add_integers(spec, operation, "kernel"));
    XFLOW_CHECK(add_window(spec, operation));
    return spec;
  }
};

XFLOW_OPERATOR_DEFINITION(MaxPool)

}  // namespace xflow::ops
