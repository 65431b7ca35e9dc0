// pad: adds `begins` and `ends` elements before and after each dimension of x. The mode says which:
//   constant  `value`
//   edge      the nearest element of x
//   reflect   x mirrored at its first and last element, which are not repeated
//   wrap      x repeated
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct Pad {
  static Signature signature() {
    return {.name = "pad",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "begins", .kind = AttributeKind::integers, .per_dimension = true},
                           {.name = "ends", .kind = AttributeKind::integers, .per_dimension = true},
                           {.name = "mode", .kind = AttributeKind::word, .default_value = std::string("constant")},
                           {.name = "value", .kind = AttributeKind::real, .default_value = ir::Real(0)}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    static constexpr std::array<std::string_view, 4> kModes = {"constant", "edge", "reflect", "wrap"};
    const ir::TensorType& x = operation.operands[0];
    const std::string& mode = operation.attributes.word("mode");
    if (std::find(kModes.begin(), kModes.end(), mode) == kModes.end()) {
      return movement::ill_typed(fmt::format("expected mode constant, edge, reflect or wrap, found {}", mode));
    }
    if (!movement::has_arithmetic(x.data_type)) {
      return movement::ill_typed(fmt::format("expected operand 'x' to be of a numeric or boolean type, found {}", ir::name(x.data_type)));
    }
    XFLOW_CHECK(require_size(operation.attributes, "begins", x.rank()));
    XFLOW_CHECK(require_size(operation.attributes, "ends", x.rank()));
    XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "begins", 0));
    XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "ends", 0));
    ir::Shape shape = x.shape;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const ir::Poly& begin = operation.attributes.integers("begins")[k];
      const ir::Poly& end = operation.attributes.integers("ends")[k];
      if (mode != "constant" && !(begin.is_zero() && end.is_zero())) {
        XFLOW_CHECK(typing.require_at_least_zero(shape[k] - 1, "at least one element to repeat, less one"));
      }
      if (mode == "reflect") {
        XFLOW_CHECK(typing.require_at_least_zero(shape[k] - 1 - begin, "fewer reflected elements than the dimension has"));
        XFLOW_CHECK(typing.require_at_least_zero(shape[k] - 1 - end, "fewer reflected elements than the dimension has"));
      }
      shape[k] += begin + end;
    }
    return one_type(x.data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::fills, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const std::string& mode = operation.attributes.word("mode");
    const ir::Shape& shape = operation.operands[0].shape;
    Condition inside;
    std::vector<ir::Poly> from;
    for (std::size_t k = 0; k < index.size(); ++k) {
      const ir::Poly& begin = operation.attributes.integers("begins")[k];
      const bool before = !begin.is_zero();
      const bool after = !operation.attributes.integers("ends")[k].is_zero();
      from.push_back(index[k] - begin);
      if (mode != "constant") {
        from.back() = repeated(builder.symbols(), mode, from.back(), shape[k], before, after);
        continue;
      }
      if (before) inside.push_back(at_least(from.back(), 0));
      if (after) inside.push_back(less_than(from.back(), shape[k]));
    }
    Expr element = builder.read(0, std::move(from));
    return builder.select(std::move(inside), std::move(element), builder.literal(operation.attributes.real("value")));
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(const ir::Shape shape, movement::ranked_shape(node, 0));
    const std::size_t rank = shape.size();
    const std::string mode = node.word("mode", "constant");
    std::vector<ir::Poly> pads;
    ir::Real value = 0;
    if (node.opset() < 11) {
      pads = ir::polys(node.integer_list("pads").value_or(std::vector<std::int64_t>{}));
      value = node.real("value", 0);
    } else {
      XFLOW_TRY(pads, movement::known_input(node, 1, "pads"));
      if (mode == "constant" && node.has_input(2)) {
        const auto constant = node.constant(2);
        if (!constant) return movement::cannot("lift Pad with a value that is not a constant");
        XFLOW_TRY(value, movement::fill_value(*constant));
      }
    }
    std::vector<std::size_t> axes(rank);
    for (std::size_t k = 0; k < rank; ++k) axes[k] = k;
    if (node.has_input(3)) {
      XFLOW_TRY(const std::vector<ir::Poly> given, movement::known_input(node, 3, "axes"));
      XFLOW_TRY(axes, movement::known_axes(given, rank));
    }
    if (pads.size() != 2 * axes.size()) {
      return movement::ill_typed(fmt::format("expected {} pads, found {}", 2 * axes.size(), pads.size()));
    }
    std::vector<ir::Poly> begins(rank, ir::Poly(0));
    std::vector<ir::Poly> ends(rank, ir::Poly(0));
    for (std::size_t k = 0; k < axes.size(); ++k) {
      begins[axes[k]] = pads[k];
      ends[axes[k]] = pads[axes.size() + k];
      for (const ir::Poly& amount : {pads[k], pads[axes.size() + k]}) {
        if (node.symbols().lower_bound(amount).value_or(-1) >= 0) continue;
        return movement::cannot(fmt::format("lift Pad by {}, which may be negative", node.symbols().to_string(amount)));
      }
    }
    return Lifted{{0}, {{"begins", std::move(begins)}, {"ends", std::move(ends)}, {"mode", mode}, {"value", value}}};
  }

  static Result<Exported> export_attributes(const Operation& operation, int /*opset*/) {
    XFLOW_TRY(std::vector<std::int64_t> pads, known_integers(operation, "begins"));
    XFLOW_TRY(const std::vector<std::int64_t> ends, known_integers(operation, "ends"));
    XFLOW_TRY(const float value, known_real(operation, "value"));
    XFLOW_CHECK(require_exportable(operation, 0, kFloats));
    const std::string& mode = operation.attributes.word("mode");
    if (mode == "wrap") return movement::cannot("write Pad in mode wrap before opset 19");
    pads.insert(pads.end(), ends.begin(), ends.end());
    Exported exported{{Exported::OperandInput{0}}, {{"mode", mode}, {"pads", std::move(pads)}}};
    if (mode == "constant") exported.attributes.emplace_back("value", value);
    return exported;
  }

  static Result<Exported> export_inputs(const Operation& operation, int opset) {
    const std::string& mode = operation.attributes.word("mode");
    if (mode == "wrap" && opset < 19) return movement::cannot("write Pad in mode wrap before opset 19");
    std::vector<ir::Poly> pads = operation.attributes.integers("begins");
    const std::vector<ir::Poly>& ends = operation.attributes.integers("ends");
    pads.insert(pads.end(), ends.begin(), ends.end());
    Exported exported{{Exported::OperandInput{0}, Exported::IntegersInput{std::move(pads)}}, {{"mode", mode}}};
    const ir::Real& value = operation.attributes.real("value");
    if (mode == "constant" && !value.is_zero()) {
      XFLOW_TRY(ir::Constant constant, movement::fill_constant(operation.operands[0].data_type, {}, value));
      exported.inputs.emplace_back(Exported::ConstantInput{std::move(constant)});
    }
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        {.domain = "", .type = "Pad", .since = 2, .until = 10, .lift = lift, .to_onnx = export_attributes},
        {.domain = "", .type = "Pad", .since = 11, .lift = lift, .to_onnx = export_inputs},
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation, {"mode"}); }

 private:
  // The index in [0, d) of the element at position j of the padded dimension, for modes edge, reflect and
  // wrap. j may be negative if `before`, and d or larger if `after`.
  static ir::Poly repeated(ir::Symbols& symbols, const std::string& mode, ir::Poly j, const ir::Poly& d, bool before, bool after) {
    if (!before && !after) return j;
    if (mode == "wrap") return symbols.mod(j, d);
    if (before) j = symbols.max(j, mode == "edge" ? ir::Poly(0) : -j);
    if (after) j = symbols.min(j, mode == "edge" ? d - 1 : 2 * (d - 1) - j);
    return j;
  }
};

XFLOW_OPERATOR_DEFINITION(Pad)

}  // namespace xflow::ops
