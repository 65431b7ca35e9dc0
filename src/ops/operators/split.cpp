// split: parts of x along `axis`, one output per element of `sizes`.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {
namespace {

// The largest number of outputs. No model has more, and the limit bounds the memory of a malformed one.
constexpr std::int64_t kMostSplitParts = 65536;

// The sizes of `parts` equal parts of a dimension. With `uneven` the last part may be smaller (ONNX
// Split-18).
Result<std::vector<ir::Poly>> equal_split_sizes(const OnnxNode& node, const ir::Poly& dimension, std::int64_t parts, bool uneven) {
  if (parts < 1) return movement::ill_typed("expected Split to have at least one output");
  if (parts > kMostSplitParts) return movement::cannot(fmt::format("lift Split into {} parts", parts));
  if (const auto size = ir::exact_divide(dimension, ir::Poly(parts))) return std::vector<ir::Poly>(static_cast<std::size_t>(parts), *size);
  const auto known = dimension.constant();
  if (!known) {
    return movement::cannot(fmt::format("lift Split of {} into {} equal parts", node.symbols().to_string(dimension), parts));
  }
  if (!uneven) return movement::ill_typed(fmt::format("expected {} to divide the dimension of Split, which is {}", parts, *known));
  const std::int64_t size = *known / parts + (*known % parts != 0 ? 1 : 0);
  const std::int64_t last = *known - size * (parts - 1);
  if (last < 0) return movement::ill_typed(fmt::format("expected {} parts of a dimension of size {} to fit", parts, *known));
  std::vector<ir::Poly> sizes(static_cast<std::size_t>(parts), ir::Poly(size));
  sizes.back() = ir::Poly(last);
  return sizes;
}

}  // namespace

struct Split {
  static Signature signature() {
    return {
        .name = "split",
        .operands = {{.name = "x"}},
        .attributes = {{.name = "axis", .kind = AttributeKind::integer, .axis = true}, {.name = "sizes", .kind = AttributeKind::integers}},
        .outputs = -1,
        .moves_data = true};
  }

  static Result<std::vector<ir::TensorType>> type(Typing& typing, const Operation& operation) {
    const std::size_t axis = movement::axis(operation);
    const std::vector<ir::Poly>& sizes = operation.attributes.integers("sizes");
    if (sizes.empty()) return movement::ill_typed("expected sizes to have at least one element");
    ir::Poly total;
    std::vector<ir::TensorType> results;
    for (const ir::Poly& size : sizes) {
      XFLOW_CHECK(typing.require_at_least_zero(size, "sizes of at least 0"));
      total += size;
      results.push_back(operation.operands[0]);
      results.back().shape[axis] = size;
    }
    XFLOW_CHECK(typing.require_equal(total, operation.operands[0].shape[axis], "the sum of sizes to be the dimension that is split"));
    return results;
  }

  static FloatEffect float_effect() { return FloatEffect::moving().increasing(); }

  static Expr semantics(Builder& builder, const Operation& operation, int output, std::span<const ir::Poly> index) {
    const std::vector<ir::Poly>& sizes = operation.attributes.integers("sizes");
    std::vector<ir::Poly> from(index.begin(), index.end());
    for (std::size_t k = 0; k < static_cast<std::size_t>(output); ++k) from[movement::axis(operation)] += sizes[k];
    return builder.read(0, std::move(from));
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(const ir::Shape shape, movement::ranked_shape(node, 0));
    XFLOW_TRY(const std::size_t axis, movement::known_axis(node.integer("axis", 0), shape.size()));
    std::vector<ir::Poly> sizes;
    if (node.opset() < 13 && node.has_attribute("split")) {
      sizes = ir::polys(*node.integer_list("split"));
    } else if (node.has_input(1)) {
      XFLOW_TRY(sizes, movement::known_input(node, 1, "sizes"));
    } else {
      const bool counted = node.opset() >= 18;
      const std::int64_t parts = node.integer("num_outputs", static_cast<std::int64_t>(node.output_count()));
      XFLOW_TRY(sizes, equal_split_sizes(node, shape[axis], parts, counted));
    }
    return Lifted{{0}, {{"axis", ir::Poly(static_cast<std::int64_t>(axis))}, {"sizes", std::move(sizes)}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    Exported exported{{Exported::OperandInput{0}}, {{"axis", *operation.attributes.known_integer("axis")}}};
    if (opset >= 13) {
      exported.inputs.emplace_back(Exported::IntegersInput{operation.attributes.integers("sizes")});
      return exported;
    }
    auto sizes = operation.attributes.known_integers("sizes");
    if (!sizes) return movement::cannot("write symbolic sizes as an attribute of Split");
    exported.attributes.emplace_back("split", *std::move(sizes));
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "Split", .since = 2, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Split)

}  // namespace xflow::ops
