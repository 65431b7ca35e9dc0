// transpose: the dimensions of x in another order. out[i] = x[j] with j[perm[k]] = i[k].
#include <fmt/format.h>

#include <numeric>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct Transpose {
  static Signature signature() {
    return {.name = "transpose",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "perm", .kind = AttributeKind::integers, .per_dimension = true, .permutation = true}},
            .moves_data = true};
  }

  static Result<std::vector<ir::TensorType>> type(Typing& typing, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    const auto perm = operation.attributes.known_integers("perm");
    std::vector<bool> seen(x.rank(), false);
    bool permutation = perm && perm->size() == x.rank();
    for (std::size_t k = 0; permutation && k < perm->size(); ++k) {
      const std::int64_t p = (*perm)[k];
      permutation = p >= 0 && p < static_cast<std::int64_t>(x.rank()) && !seen[static_cast<std::size_t>(p)];
      if (permutation) seen[static_cast<std::size_t>(p)] = true;
    }
    if (!permutation) {
      return movement::ill_typed(fmt::format("expected perm to be a permutation of {} dimensions, found {}", x.rank(),
                                             typing.symbols().to_string(operation.attributes.integers("perm"))));
    }
    ir::TensorType result{x.data_type, true, {}};
    for (const std::int64_t p : *perm) result.shape.push_back(x.shape[static_cast<std::size_t>(p)]);
    return one_type(result.data_type, std::move(result.shape));
  }

  static FloatEffect float_effect() { return FloatEffect::moving().increasing(); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const auto perm = *operation.attributes.known_integers("perm");
    std::vector<ir::Poly> from(index.size());
    for (std::size_t k = 0; k < index.size(); ++k) from[static_cast<std::size_t>(perm[k])] = index[k];
    return builder.read(0, std::move(from));
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    auto perm = node.integer_list("perm");
    if (!perm) {
      XFLOW_TRY(const ir::Shape shape, movement::ranked_shape(node, 0));
      perm.emplace(shape.size());
      std::iota(perm->rbegin(), perm->rend(), 0);
    }
    return Lifted{{0}, {{"perm", ir::polys(*perm)}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int /*opset*/) {
    return Exported{{Exported::OperandInput{0}}, {{"perm", *operation.attributes.known_integers("perm")}}};
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "Transpose", .since = 1, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Transpose)

}  // namespace xflow::ops
