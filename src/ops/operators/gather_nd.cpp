// gather_nd (ONNX GatherND): out[b, j, r] = x[b, indices[b, j, 0], ..., indices[b, j, n - 1], r]. The first
// `batch` dimensions of both operands are batch dimensions. The last dimension of `indices`, of known size
// n, holds an index into the next n dimensions of x.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct GatherNd {
  static Signature signature() {
    return {.name = "gather_nd",
            .operands = {{.name = "x"}, {.name = "indices", .type_class = TypeClass::integer}},
            .attributes = {{.name = "batch", .kind = AttributeKind::integer, .default_value = ir::Poly(0)}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::Shape& x = operation.operands[0].shape;
    const ir::Shape& indices = operation.operands[1].shape;
    const auto batch = operation.attributes.known_integer("batch");
    const auto named = indices.empty() ? std::nullopt : indices.back().constant();
    if (!batch || !named || *batch < 0 || *named < 1 || *batch >= static_cast<std::int64_t>(indices.size()) ||
        *named > static_cast<std::int64_t>(x.size()) - *batch) {
      return movement::ill_typed(
          fmt::format("expected the last dimension of indices to name dimensions of x after the batch, found x {} and indices {}",
                      typing.symbols().to_string(x), typing.symbols().to_string(indices)));
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(*batch); ++k) {
      XFLOW_CHECK(typing.require_equal(x[k], indices[k], "the batch dimensions to be equal"));
    }
    ir::Shape shape(indices.begin(), indices.end() - 1);
    shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(*batch + *named), x.end());
    return one_type(operation.operands[0].data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::moving(); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const ir::Shape& x = operation.operands[0].shape;
    const ir::Shape& indices = operation.operands[1].shape;
    const std::int64_t batch = *operation.attributes.known_integer("batch");
    const std::int64_t named = *indices.back().constant();
    const auto rest = index.begin() + static_cast<std::ptrdiff_t>(indices.size()) - 1;
    std::vector<ir::Poly> from(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(batch));
    std::vector<WrappedIndex> places;
    for (std::int64_t k = 0; k < named; ++k) {
      std::vector<ir::Poly> at(index.begin(), rest);
      at.emplace_back(k);
      places.push_back({1, std::move(at), x[static_cast<std::size_t>(batch + k)]});
      from.push_back(builder.wrap(places.back()));
    }
    from.insert(from.end(), rest, index.end());
    return builder.read(0, std::move(from), std::move(places));
  }

  static Result<Lifted> lift(const OnnxNode& node) { return Lifted{{0, 1}, {{"batch", ir::Poly(node.integer("batch_dims", 0))}}}; }

  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    XFLOW_CHECK(require_exportable(operation, 1, type_set({ir::DataType::int64})));
    XFLOW_TRY(Exported exported, export_operands(operation, opset));
    const std::int64_t batch = *operation.attributes.known_integer("batch");
    if (batch == 0) return exported;
    if (opset < 12) return movement::cannot("write GatherND with batch dimensions before opset 12");
    exported.attributes.emplace_back("batch_dims", batch);
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "GatherND", .since = 11, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(GatherNd)

}  // namespace xflow::ops
