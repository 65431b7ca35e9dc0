// reshape: the elements of x in row-major order as a tensor of another shape with the same number of
// elements. ONNX Flatten, Squeeze and Unsqueeze are also this operator.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/ops/data_movement.h"

namespace xflow::ops {
namespace {

// Adjacent dimensions `from` of the operand and `to` of the result that hold the same elements: the products
// of their sizes are equal. Dimensions of size 1 are in no group.
struct ReshapeGroup {
  std::vector<std::size_t> from;
  std::vector<std::size_t> to;
};

std::vector<std::size_t> without_ones(const ir::Shape& shape) {
  std::vector<std::size_t> dims;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (!shape[k].is_one()) dims.push_back(k);
  }
  return dims;
}

// Cuts both lists wherever their products from the front are equal. The remaining dimensions form one group:
// their products are equal too, because the element counts are.
std::vector<ReshapeGroup> groups_from_front(const ir::Shape& from, const ir::Shape& to, const ReshapeGroup& all) {
  std::vector<ReshapeGroup> groups;
  std::size_t from_begin = 0;
  std::size_t to_begin = 0;
  ir::Poly from_product = 1;
  for (std::size_t i = 0; i < all.from.size(); ++i) {
    from_product *= from[all.from[i]];
    ir::Poly to_product = 1;
    for (std::size_t j = to_begin; j < all.to.size(); ++j) {
      to_product *= to[all.to[j]];
      if (to_product != from_product) continue;
      ReshapeGroup group;
      group.from.assign(all.from.begin() + static_cast<std::ptrdiff_t>(from_begin), all.from.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      group.to.assign(all.to.begin() + static_cast<std::ptrdiff_t>(to_begin), all.to.begin() + static_cast<std::ptrdiff_t>(j) + 1);
      groups.push_back(std::move(group));
      from_begin = i + 1;
      to_begin = j + 1;
      from_product = 1;
      break;
    }
  }
  ReshapeGroup rest;
  rest.from.assign(all.from.begin() + static_cast<std::ptrdiff_t>(from_begin), all.from.end());
  rest.to.assign(all.to.begin() + static_cast<std::ptrdiff_t>(to_begin), all.to.end());
  if (!rest.from.empty() || !rest.to.empty()) groups.push_back(std::move(rest));
  return groups;
}

std::vector<ReshapeGroup> reshape_groups(const ir::Shape& from, const ir::Shape& to) {
  std::vector<ReshapeGroup> groups = groups_from_front(from, to, {without_ones(from), without_ones(to)});
  if (groups.empty()) return groups;
  // No product from the front may have cut the last group: cut it at equal products from the back.
  ReshapeGroup last = std::move(groups.back());
  groups.pop_back();
  std::reverse(last.from.begin(), last.from.end());
  std::reverse(last.to.begin(), last.to.end());
  for (ReshapeGroup& group : groups_from_front(from, to, last)) {
    std::reverse(group.from.begin(), group.from.end());
    std::reverse(group.to.begin(), group.to.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

// The target shape of an ONNX Reshape. 0 copies a dimension unless `zero_is_size`. -1 is inferred from the
// number of elements.
Result<ir::Shape> resolve_reshape(ir::Symbols& symbols, const ir::Shape& from, std::vector<ir::Poly> shape, bool zero_is_size) {
  std::optional<std::size_t> inferred;
  ir::Poly known = 1;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const auto value = shape[k].constant();
    if (value == -1) {
      if (inferred) return movement::ill_typed("expected at most one -1 in the shape of Reshape");
      inferred = k;
      continue;
    }
    if (!value) {
      // A computed size could also be one of the special values 0 and -1.
      if (symbols.lower_bound(shape[k]).value_or(0) < 1) {
        return movement::cannot(fmt::format("tell whether {} in the shape of Reshape is a size", symbols.to_string(shape[k])));
      }
    } else if (*value == 0 && !zero_is_size) {
      if (k >= from.size()) return movement::ill_typed(fmt::format("expected no 0 in the shape of Reshape at {}", k));
      shape[k] = from[k];
    } else if (*value < 0) {
      return movement::ill_typed(fmt::format("expected sizes in the shape of Reshape, found {}", *value));
    }
    known *= shape[k];
  }
  if (!inferred) return shape;
  if (known.is_zero()) return movement::cannot("infer a dimension of a tensor without elements");
  shape[*inferred] = symbols.floor_div(ir::element_count(from), known);
  return shape;
}

}  // namespace

struct Reshape {
  static Signature signature() {
    return {.name = "reshape",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "shape", .kind = AttributeKind::integers}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    const ir::Shape& shape = operation.attributes.integers("shape");
    for (const ir::Poly& dimension : shape) XFLOW_CHECK(typing.require_at_least_zero(dimension, "dimensions of at least 0"));
    XFLOW_CHECK(typing.require_equal(ir::element_count(x.shape), ir::element_count(shape), "as many elements as before"));
    return one_type(x.data_type, shape);
  }

  static FloatEffect float_effect() { return FloatEffect::moving().increasing(); }
  // In each group the row-major position p = sum of i_k * (product of the later dimensions) is the same on
  // both sides. So the index of operand dimension k is floor(p / (product of the later dimensions)) mod d_k.
  // The first dimension of a group needs no mod.
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    ir::Symbols& symbols = builder.symbols();
    const ir::Shape& from = operation.operands[0].shape;
    const ir::Shape& to = operation.attributes.integers("shape");
    std::vector<ir::Poly> result(from.size(), ir::Poly(0));
    if (ir::element_count(from).is_zero()) return builder.read(0, std::move(result));  // there is no element to read
    for (const ReshapeGroup& group : reshape_groups(from, to)) {
      ir::Poly position;
      for (const std::size_t k : group.to) position = position * to[k] + index[k];
      ir::Poly later = 1;
      for (std::size_t g = group.from.size(); g-- > 0;) {
        const std::size_t k = group.from[g];
        const ir::Poly quotient = symbols.floor_div(position, later);
        result[k] = g == 0 ? quotient : symbols.mod(quotient, from[k]);
        later *= from[k];
      }
    }
    return builder.read(0, std::move(result));
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(const ir::Shape from, movement::ranked_shape(node, 0));
    XFLOW_TRY(std::vector<ir::Poly> shape, movement::known_input(node, 1, "a shape"));
    const bool zero_is_size = node.opset() >= 14 && node.integer("allowzero", 0) != 0;
    XFLOW_TRY(ir::Shape to, resolve_reshape(node.symbols(), from, std::move(shape), zero_is_size));
    return Lifted{{0}, {{"shape", std::move(to)}}};
  }

  // Exports a symbolic size as 0 if it is the operand's size at that position. Exports a single remaining
  // symbolic size as -1 (inferred).
  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    const ir::Shape& from = operation.operands[0].shape;
    std::vector<ir::Poly> shape = operation.attributes.integers("shape");
    Exported exported{{Exported::OperandInput{0}}, {}};
    const bool has_zero = std::any_of(shape.begin(), shape.end(), [](const ir::Poly& d) { return d.is_zero(); });
    if (has_zero) {
      const bool copies = ir::constant_shape(shape) && [&] {
        for (std::size_t k = 0; k < shape.size(); ++k) {
          if (shape[k].is_zero() && !(k < from.size() && from[k].is_zero())) return false;
        }
        return true;
      }();
      if (!copies) {
        if (opset < 14) return movement::cannot("write a dimension of size 0 in Reshape before opset 14");
        exported.attributes.emplace_back("allowzero", std::int64_t{1});
      }
    } else {
      std::optional<std::size_t> symbolic;
      std::size_t left = 0;
      for (std::size_t k = 0; k < shape.size(); ++k) {
        if (shape[k].is_constant()) continue;
        if (k < from.size() && from[k] == shape[k]) {
          shape[k] = 0;
        } else {
          symbolic = k;
          ++left;
        }
      }
      if (left == 1) shape[*symbolic] = -1;
    }
    exported.inputs.emplace_back(Exported::IntegersInput{std::move(shape)});
    return exported;
  }

  // Flatten: one dimension for those before `axis`, one for those from `axis` on.
  static Result<Lifted> lift_flatten(const OnnxNode& node) {
    XFLOW_TRY(const ir::Shape from, movement::ranked_shape(node, 0));
    const auto rank = static_cast<std::int64_t>(from.size());
    const std::int64_t given = node.integer("axis", 1);
    if (given < -rank || given > rank)
      return movement::ill_typed(fmt::format("expected the axis of Flatten in {} dimensions, found {}", rank, given));
    const std::ptrdiff_t axis = given < 0 ? given + rank : given;
    const ir::Shape before(from.begin(), from.begin() + axis);
    const ir::Shape after(from.begin() + axis, from.end());
    return Lifted{{0}, {{"shape", ir::Shape{ir::element_count(before), ir::element_count(after)}}}};
  }

  static Result<Lifted> lift_squeeze(const OnnxNode& node) {
    XFLOW_TRY(const ir::Shape from, movement::ranked_shape(node, 0));
    XFLOW_TRY(auto axes, movement::axes_input_or_attribute(node, 1, from.size()));
    ir::Shape to;
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (!axes && !from[k].is_constant()) {
        return movement::cannot(fmt::format("lift Squeeze of {} without axes", node.symbols().to_string(from)));
      }
      const bool squeezed = axes ? std::find(axes->begin(), axes->end(), k) != axes->end() : from[k].is_one();
      if (!squeezed) to.push_back(from[k]);
    }
    return Lifted{{0}, {{"shape", std::move(to)}}};
  }

  static Result<Lifted> lift_unsqueeze(const OnnxNode& node) {
    XFLOW_TRY(const ir::Shape from, movement::ranked_shape(node, 0));
    // Axes refer to the result, whose rank is the rank of x plus the number of axes.
    std::vector<ir::Poly> given;
    if (node.has_input(1)) {
      XFLOW_TRY(given, movement::known_input(node, 1, "axes"));
    } else if (const auto list = node.integer_list("axes")) {
      given = ir::polys(*list);
    }
    XFLOW_TRY(const auto axes, movement::known_axes(given, from.size() + given.size()));
    ir::Shape to(from.size() + axes.size());
    for (const std::size_t axis : axes) to[axis] = 1;
    auto next = from.begin();
    for (std::size_t k = 0; k < to.size(); ++k) {
      if (std::find(axes.begin(), axes.end(), k) == axes.end()) to[k] = *next++;
    }
    return Lifted{{0}, {{"shape", std::move(to)}}};
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        {.domain = "", .type = "Reshape", .since = 5, .lift = lift, .to_onnx = to_onnx},
        {.domain = "", .type = "Flatten", .since = 1, .lift = lift_flatten},
        {.domain = "", .type = "Squeeze", .since = 1, .lift = lift_squeeze},
        {.domain = "", .type = "Unsqueeze", .since = 1, .lift = lift_unsqueeze},
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return none_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Reshape)

}  // namespace xflow::ops
