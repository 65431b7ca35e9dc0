// average_pool: the mean over a window of x[N, C, spatial...] (ONNX AveragePool). With count_include_pad = 1
// the padding counts as zeros, otherwise it does not count. Positions beyond the padding, which a window
// with ceil_mode = 1 may have, never count.
#include "src/ops/window.h"

namespace xflow::ops {
namespace {

Result<Lifted> lift_average_pool(const OnnxNode& node) {
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
  lifted.attributes.set("count_include_pad", ir::Poly(node.integer("count_include_pad", 0)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_average_pool(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  XFLOW_TRY(std::vector<std::int64_t> kernel, known_integers(operation, "kernel"));
  exported.attributes.emplace_back("kernel_shape", std::move(kernel));
  XFLOW_CHECK(export_window(operation, exported, false));
  for (const char* name : {"ceil_mode", "count_include_pad"}) {
    XFLOW_TRY(const std::int64_t flag, known_integer(operation, name));
    if (flag != 0) exported.attributes.emplace_back(name, flag);
  }
  for (const auto& [name, value] : exported.attributes) {
    if ((name == "dilations" && opset < 19) || (name == "ceil_mode" && opset < 10)) {
      return fail(ErrorCode::unsupported, "AveragePool has no " + name + " in this opset");
    }
  }
  return exported;
}

// The number of positions of the window at `index` that count: a product over the axes. On most axes all
// positions count.
Expr counted_positions(Builder& builder, std::span<const WindowAxis> axes, std::span<const ir::Poly> index, bool include_pad,
                       bool ceil_mode) {
  ir::Poly whole = 1;
  Expr partial;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const WindowAxis& axis = axes[k];
    if (!ceil_mode && (include_pad || (axis.pad_begin.is_zero() && axis.pad_end.is_zero()))) {
      whole *= axis.kernel;
      continue;
    }
    const Expr count = builder.sum(axis.kernel, [&](const ir::Poly& offset) {
      const ir::Poly position = window_position(axis, index[k + 2], offset);
      Condition counts;
      if (include_pad) {
        counts.push_back(less_than(position, axis.size + axis.pad_end));
      } else {
        add_in_range(counts, axis, position, ceil_mode);
      }
      return builder.select(std::move(counts), builder.literal(1), builder.literal(0));
    });
    partial = partial ? partial * count : count;
  }
  if (!partial) return builder.integer(whole);
  return whole.is_one() ? partial : builder.integer(whole) * partial;
}

}  // namespace

struct AveragePool {
  static Signature signature() {
    Signature signature;
    signature.name = "average_pool";
    signature.operands = {{"x", TypeClass::floating}};
    AttributeSignature kernel{"kernel", AttributeKind::integers};
    kernel.per_spatial = 1;
    signature.attributes = window_attributes();
    signature.attributes.push_back(std::move(kernel));
    signature.attributes.push_back({.name = "ceil_mode", .kind = AttributeKind::integer, .default_value = ir::Poly(0), .flag = true});
    signature.attributes.push_back(
        {.name = "count_include_pad", .kind = AttributeKind::integer, .default_value = ir::Poly(0), .flag = true});
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(check_window(typing, operation));
    XFLOW_CHECK(require_flag(operation.attributes, "ceil_mode"));
    XFLOW_CHECK(require_flag(operation.attributes, "count_include_pad"));
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

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::adds); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const std::vector<ir::Poly>& kernel = operation.attributes.integers("kernel");
    const bool ceil_mode = operation.attributes.integer("ceil_mode").is_one();
    const bool include_pad = operation.attributes.integer("count_include_pad").is_one();
    const std::vector<WindowAxis> axes = window_axes(operation, kernel);
    const Expr total = builder.sum(kernel, [&](const std::vector<ir::Poly>& binders) {
      std::vector<ir::Poly> read = {index[0], index[1]};
      Condition in_range;
      for (std::size_t k = 0; k < axes.size(); ++k) {
        const ir::Poly position = window_position(axes[k], index[k + 2], binders[k]);
        add_in_range(in_range, axes[k], position, ceil_mode);
        read.push_back(position);
      }
      return builder.select(std::move(in_range), builder.read(0, std::move(read)), builder.literal(0));
    });
    return total / counted_positions(builder, axes, index, include_pad, ceil_mode);
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "AveragePool", 7, 21, &lift_average_pool, &export_average_pool<kFloats>},
        OnnxMapping{"", "AveragePool", 22, kNewest, &lift_average_pool, &export_average_pool<kFloats | kBfloat>},
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::pooling, operation));
    XFLOW_CHECK(add_integers(spec, operation, "kernel"));
    XFLOW_CHECK(add_window(spec, operation));
    XFLOW_CHECK(add_integers(spec, operation, "count_include_pad"));
    return spec;
  }
};

XFLOW_OPERATOR_DEFINITION(AveragePool)

}  // namespace xflow::ops
