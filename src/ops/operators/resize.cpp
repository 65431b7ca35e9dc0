// resize: x sampled at another resolution (ONNX Resize and Upsample). Dimension k of size d becomes
// floor(d * s) with the scale s = numerators[k] / denominators[k]. `coordinates` maps an index i of the
// result to a position u in x:
//
//   asymmetric            u = i / s
//   half_pixel            u = (i + 1/2) / s - 1/2
//   pytorch_half_pixel    as half_pixel, but u = 0 if out = 1 (out must be known)
//   half_pixel_symmetric  u = (i + 1/2) / s - 1/2 + (d - out / s) / 2: the floor cuts off both sides equally
//   align_corners         u = i * (d - 1) / (out - 1), 0 if out = 1
//
// Mode nearest takes the element at u, rounded by `rounding` (floor, ceil, round_prefer_floor,
// round_prefer_ceil). Mode linear interpolates between the two neighbours of u in each dimension. Positions
// outside x are clamped to x.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "src/ops/data_movement.h"

namespace xflow::ops {

// The rational u = above / below, below >= 1.
struct ResizePlace {
  ir::Poly above;
  ir::Poly below;
};

// One dimension of a resize.
struct ResizeDimension {
  ir::Symbols& symbols;
  ir::Poly size;
  ir::Poly result;
  ir::Poly numerator;
  ir::Poly denominator;

  ResizePlace place(const std::string& coordinates, const ir::Poly& i) const {
    if (coordinates == "asymmetric") return {i * denominator, numerator};
    if (coordinates == "align_corners") return {i * (size - 1), symbols.max(result - 1, 1)};
    if (coordinates == "half_pixel_symmetric") return {(2 * i + 1 - result) * denominator + (size - 1) * numerator, 2 * numerator};
    if (coordinates == "pytorch_half_pixel" && result.is_one()) return {0, 1};
    return {(2 * i + 1) * denominator - numerator, 2 * numerator};
  }

  // index(i) clamped to [0, size). `index` must be non-decreasing. Omits a clamp if the index is known to be
  // in range at that end.
  template <typename Index>
  ir::Poly clamped(const Index& index, const ir::Poly& i) const {
    ir::Poly at = index(i);
    if (symbols.lower_bound(index(ir::Poly(0))).value_or(-1) < 0) at = symbols.max(at, 0);
    if (symbols.lower_bound(size - 1 - index(result - 1)).value_or(-1) < 0) at = symbols.min(at, size - 1);
    return at;
  }

  ir::Poly rounded(const ResizePlace& u, const std::string& rounding) const {
    if (rounding == "floor") return symbols.floor_div(u.above, u.below);
    if (rounding == "ceil") return symbols.floor_div(u.above + u.below - 1, u.below);
    if (rounding == "round_prefer_ceil") return symbols.floor_div(2 * u.above + u.below, 2 * u.below);
    return symbols.floor_div(2 * u.above + u.below - 1, 2 * u.below);  // ceil(u - 1/2)
  }
};

namespace {

bool is_one_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The exact scale of a dimension. ONNX gives the scale s as a float and computes the size as floor(d * s) in
// float arithmetic. Error::unsupported if that may differ from the exact size.
Result<std::pair<ir::Poly, ir::Poly>> exact_scale(const OnnxNode& node, const ir::Poly& size, const ir::Real& scale) {
  const auto s = scale.rational();
  if (!s || s->numerator() < 1) return movement::cannot(fmt::format("lift {} by {}", node.type(), scale.to_string()));
  if (const auto d = size.constant()) {
    const float product = static_cast<float>(*d) * static_cast<float>(s->to_double());
    if (!(product < 1e18F)) return movement::cannot(fmt::format("lift {} of {} by {}", node.type(), *d, scale.to_string()));
    const auto in_float = static_cast<std::int64_t>(std::floor(product));
    const auto exact = node.symbols().floor_div(*d * ir::Poly(s->numerator()), ir::Poly(s->denominator())).constant();
    if (!exact || *exact != in_float)
      return movement::cannot(fmt::format("lift {} of {} by {}, which rounds", node.type(), *d, scale.to_string()));
  } else if (s->numerator() > 256 || s->denominator() > 256) {
    // d * s is exact in float for d < 2^24 / 256.
    return movement::cannot(fmt::format("lift {} of a dynamic dimension by {}", node.type(), scale.to_string()));
  }
  return std::pair(ir::Poly(s->numerator()), ir::Poly(s->denominator()));
}

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

// Whether runtimes, which compute positions in float, round every position of a dimension as the exact
// position. This holds if the scale is a float of few bits. Otherwise no position may be so close to a jump
// of the rounding that a float error could change the result.
bool rounds_as_exact(const ResizeDimension& dimension, const std::string& coordinates, const std::string& rounding) {
  if (coordinates == "align_corners") return true;  // a quotient of integers, rounded once
  const auto above = dimension.numerator.constant();
  const auto below = dimension.denominator.constant();
  const bool few_bits = dimension.denominator.is_one() || (above && below && *above <= 256 && *below <= 256 && is_power_of_two(*below));
  if (few_bits) return true;
  const auto result = dimension.result.constant();
  if (!result || *result > 65536) return false;
  for (std::int64_t i = 0; i < *result; ++i) {
    ResizePlace u = dimension.place(coordinates, i);
    if (u.above.is_zero()) continue;
    if (rounding == "round_prefer_floor" || rounding == "round_prefer_ceil") u = {2 * u.above + u.below, 2 * u.below};
    const auto a = u.above.constant();
    const auto b = u.below.constant();
    if (!a || !b) return false;
    std::int64_t over = *a % *b;
    if (over < 0) over += *b;
    const double distance = static_cast<double>(std::min(over, *b - over)) / static_cast<double>(*b);
    if (distance < 1e-5 * std::max(1.0, std::abs(static_cast<double>(*a) / static_cast<double>(*b)))) return false;
  }
  return true;
}

// wanted / size, reduced as far as polynomials allow.
std::pair<ir::Poly, ir::Poly> scale_to(const ir::Poly& size, const ir::Poly& wanted) {
  if (wanted == size) return {1, 1};
  if (const auto ratio = ir::exact_divide(wanted, size)) return {*ratio, 1};
  if (const auto ratio = ir::exact_divide(size, wanted)) return {1, *ratio};
  const auto a = wanted.constant();
  const auto b = size.constant();
  if (const auto ratio = a && b ? ir::Rational::make(*a, *b) : std::nullopt) return {ratio->numerator(), ratio->denominator()};
  return {wanted, size};
}

// The scales as floats. Error::unsupported if a scale is not exactly a float.
Result<std::vector<float>> float_scales(const Operation& operation) {
  const auto numerators = operation.attributes.known_integers("numerators");
  const auto denominators = operation.attributes.known_integers("denominators");
  std::vector<float> scales;
  for (std::size_t k = 0; numerators && denominators && k < numerators->size(); ++k) {
    const auto above = static_cast<double>((*numerators)[k]);
    const auto below = static_cast<double>((*denominators)[k]);
    const auto scale = static_cast<float>(above / below);
    if (static_cast<double>(scale) * below != above) break;
    scales.push_back(scale);
  }
  if (scales.size() != operation.operands[0].rank()) return movement::cannot("write scales that no float is equal to");
  return scales;
}

}  // namespace

struct Resize {
  static Signature signature() {
    return {.name = "resize",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "numerators", .kind = AttributeKind::integers},
                           {.name = "denominators", .kind = AttributeKind::integers},
                           {.name = "mode", .kind = AttributeKind::word, .default_value = std::string("nearest")},
                           {.name = "coordinates", .kind = AttributeKind::word, .default_value = std::string("asymmetric")},
                           {.name = "rounding", .kind = AttributeKind::word, .default_value = std::string("floor")}}};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    const std::string& mode = operation.attributes.word("mode");
    const std::string& coordinates = operation.attributes.word("coordinates");
    const std::string& rounding = operation.attributes.word("rounding");
    if (!is_one_of(mode, {"nearest", "linear"})) return movement::ill_typed(fmt::format("expected mode nearest or linear, found {}", mode));
    if (!is_one_of(coordinates, {"asymmetric", "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners"})) {
      return movement::ill_typed(fmt::format(
          "expected coordinates asymmetric, half_pixel, pytorch_half_pixel, half_pixel_symmetric or align_corners, found {}", coordinates));
    }
    if (!is_one_of(rounding, {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"})) {
      return movement::ill_typed(fmt::format("expected rounding floor, ceil, round_prefer_floor or round_prefer_ceil, found {}", rounding));
    }
    if (mode == "linear" && !ir::is_floating(x.data_type)) {
      return movement::ill_typed(
          fmt::format("expected operand 'x' of mode linear to be of a floating type, found {}", ir::name(x.data_type)));
    }
    for (const std::string_view list : {"numerators", "denominators"}) {
      XFLOW_CHECK(require_size(operation.attributes, list, x.rank()));
      XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, list, 1));
    }
    ir::Shape shape;
    for (std::size_t k = 0; k < x.rank(); ++k) {
      shape.push_back(typing.symbols().floor_div(x.shape[k] * operation.attributes.integers("numerators")[k],
                                                 operation.attributes.integers("denominators")[k]));
      if (coordinates == "pytorch_half_pixel" && !shape[k].is_constant() && shape[k] != x.shape[k]) {
        return movement::ill_typed(
            fmt::format("expected a known size for coordinates pytorch_half_pixel, found {}", typing.symbols().to_string(shape[k])));
      }
    }
    return one_type(x.data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::adds); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    std::vector<ir::Poly> from(index.begin(), index.end());
    return sampled(builder, operation, index, from, 0);
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(const ir::Shape shape, movement::ranked_shape(node, 0));
    const bool plain = node.type() == "Upsample" || node.opset() < 11;
    const std::string mode = node.word("mode", "nearest");
    if (mode != "nearest" && mode != "linear") return movement::cannot(fmt::format("lift {} in mode {}", node.type(), mode));
    if (node.integer("exclude_outside", 0) != 0) return movement::cannot("lift Resize with exclude_outside");
    if (node.integer("antialias", 0) != 0) return movement::cannot("lift Resize with antialias");
    if (node.word("keep_aspect_ratio_policy", "stretch") != "stretch") return movement::cannot("lift Resize with keep_aspect_ratio_policy");

    std::vector<std::size_t> axes(shape.size());
    for (std::size_t k = 0; k < axes.size(); ++k) axes[k] = k;
    if (const auto given = node.integer_list("axes")) {
      XFLOW_TRY(axes, movement::known_axes(ir::polys(*given), shape.size()));
    }
    Scales scales{std::vector<ir::Poly>(shape.size(), ir::Poly(1)), std::vector<ir::Poly>(shape.size(), ir::Poly(1))};
    XFLOW_CHECK(read_scales(node, shape, axes, plain, scales));
    std::string coordinates = "asymmetric";
    std::string rounding = "floor";
    if (!plain) {
      XFLOW_TRY(coordinates, lifted_coordinates(node, shape, scales));
      rounding = node.word("nearest_mode", "round_prefer_floor");
    }
    if (mode == "linear") rounding = "floor";  // not used by mode linear
    for (std::size_t k = 0; mode == "nearest" && k < shape.size(); ++k) {
      if (scales.numerators[k] == scales.denominators[k]) continue;
      const ir::Poly result = node.symbols().floor_div(shape[k] * scales.numerators[k], scales.denominators[k]);
      const ResizeDimension dimension{node.symbols(), shape[k], result, scales.numerators[k], scales.denominators[k]};
      if (rounds_as_exact(dimension, coordinates, rounding)) continue;
      return movement::cannot(fmt::format("lift {} of {} to {}, whose places depend on how floats round", node.type(),
                                          node.symbols().to_string(shape[k]), node.symbols().to_string(result)));
    }
    return Lifted{{0},
                  {{"numerators", std::move(scales.numerators)},
                   {"denominators", std::move(scales.denominators)},
                   {"mode", mode},
                   {"coordinates", std::move(coordinates)},
                   {"rounding", std::move(rounding)}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    if (opset < 11) return export_plain(operation, opset);
    Exported exported{
        {Exported::OperandInput{0}},
        {{"coordinate_transformation_mode", operation.attributes.word("coordinates")}, {"mode", operation.attributes.word("mode")}}};
    if (operation.attributes.word("mode") == "nearest")
      exported.attributes.emplace_back("nearest_mode", operation.attributes.word("rounding"));
    // An unused roi or scales input is an empty tensor before opset 13, and absent from opset 13 on.
    const auto nothing = [&]() -> Result<Exported::Input> {
      if (opset >= 13) return Exported::Input(Exported::Absent{});
      XFLOW_TRY(ir::Constant empty, ir::make_constant(ir::DataType::float32, {0}, std::vector<double>{}));
      return Exported::Input(Exported::ConstantInput{std::move(empty)});
    };
    XFLOW_TRY(Exported::Input roi, nothing());
    exported.inputs.push_back(std::move(roi));
    if (const auto scales = float_scales(operation)) {
      XFLOW_TRY(ir::Constant constant, scales_constant(*scales));
      exported.inputs.emplace_back(Exported::ConstantInput{std::move(constant)});
      return exported;
    }
    const ir::Shape& shape = operation.operands[0].shape;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const bool exact = operation.outputs[0].shape[k] * operation.attributes.integers("denominators")[k] ==
                         shape[k] * operation.attributes.integers("numerators")[k];
      if (!exact) return movement::cannot("write a scale that is neither a float nor a ratio of sizes");
    }
    XFLOW_TRY(Exported::Input scales, nothing());
    exported.inputs.push_back(std::move(scales));
    exported.inputs.emplace_back(Exported::IntegersInput{operation.outputs[0].shape});
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        {.domain = "", .type = "Resize", .since = 10, .lift = lift, .to_onnx = to_onnx},
        {.domain = "", .type = "Upsample", .since = 7, .until = 9, .lift = lift, .to_onnx = export_plain},
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) {
    return movement::copy_kernel(operation, {"mode", "coordinates", "rounding"});
  }

 private:
  struct Scales {
    std::vector<ir::Poly> numerators;
    std::vector<ir::Poly> denominators;
  };

  // Samples the dimensions from `k` on. `from` holds the indices of the dimensions before `k`.
  static Expr sampled(Builder& builder, const Operation& operation, std::span<const ir::Poly> index, std::vector<ir::Poly>& from,
                      std::size_t k) {
    const ir::Attributes& attributes = operation.attributes;
    while (k < index.size() && attributes.integers("numerators")[k] == attributes.integers("denominators")[k]) ++k;
    if (k == index.size()) return builder.read(0, from);
    const ResizeDimension dimension{builder.symbols(), operation.operands[0].shape[k], operation.outputs[0].shape[k],
                                    attributes.integers("numerators")[k], attributes.integers("denominators")[k]};
    const std::string& coordinates = attributes.word("coordinates");
    if (attributes.word("mode") == "nearest") {
      const std::string& rounding = attributes.word("rounding");
      from[k] =
          dimension.clamped([&](const ir::Poly& i) { return dimension.rounded(dimension.place(coordinates, i), rounding); }, index[k]);
      return sampled(builder, operation, index, from, k + 1);
    }
    // (1 - t) x[floor(u)] + t x[floor(u) + 1] with t = u - floor(u).
    const auto lower = [&](const ir::Poly& i) { return dimension.rounded(dimension.place(coordinates, i), "floor"); };
    const auto upper = [&](const ir::Poly& i) { return lower(i) + 1; };
    const ResizePlace u = dimension.place(coordinates, index[k]);
    const ir::Poly above = builder.symbols().mod(u.above, u.below);
    if (above.is_zero()) {
      from[k] = dimension.clamped(lower, index[k]);
      return sampled(builder, operation, index, from, k + 1);
    }
    from[k] = dimension.clamped(lower, index[k]);
    const Expr at_lower = sampled(builder, operation, index, from, k + 1);
    from[k] = dimension.clamped(upper, index[k]);
    const Expr at_upper = sampled(builder, operation, index, from, k + 1);
    const auto over = [&](const ir::Poly& p) { return builder.integer(p) / builder.integer(u.below); };
    return over(u.below - above) * at_lower + over(above) * at_upper;
  }

  // Reads the scales from the attribute of Upsample-7, from input 1 of Upsample-9 and Resize-10, or from the
  // scales or sizes of Resize (inputs 2 and 3).
  static Result<void> read_scales(const OnnxNode& node, const ir::Shape& shape, const std::vector<std::size_t>& axes, bool plain,
                                  Scales& result) {
    const std::size_t at = plain ? 1 : 2;
    if (!plain && node.has_input(3)) {
      XFLOW_TRY(const std::vector<ir::Poly> sizes, movement::known_input(node, 3, "sizes"));
      if (sizes.size() != axes.size()) return movement::ill_typed(fmt::format("expected {} sizes, found {}", axes.size(), sizes.size()));
      for (std::size_t k = 0; k < axes.size(); ++k) {
        if (node.symbols().lower_bound(sizes[k]).value_or(0) < 1) return movement::cannot("lift Resize to a size that may be 0");
        std::tie(result.numerators[axes[k]], result.denominators[axes[k]]) = scale_to(shape[axes[k]], sizes[k]);
      }
      return {};
    }
    std::optional<std::vector<ir::Real>> scales;
    if (node.type() == "Upsample" && node.opset() < 9) {
      if (const auto list = node.real_list("scales")) {
        scales.emplace();
        for (const float scale : *list) scales->push_back(ir::Real::from_double(static_cast<double>(scale)));
      }
    } else if (node.has_input(at)) {
      scales = node.reals(at);
    }
    if (!scales) return movement::cannot(fmt::format("lift {} with scales that are not known", node.type()));
    if (scales->size() != axes.size()) return movement::ill_typed(fmt::format("expected {} scales, found {}", axes.size(), scales->size()));
    for (std::size_t k = 0; k < axes.size(); ++k) {
      XFLOW_TRY(const auto scale, exact_scale(node, shape[axes[k]], (*scales)[k]));
      std::tie(result.numerators[axes[k]], result.denominators[axes[k]]) = scale;
      // Before version 11, runtimes round differently when the tensor shrinks.
      const bool grows = node.symbols().lower_bound(scale.first - scale.second).value_or(-1) >= 0;
      if (plain && !grows) return movement::cannot(fmt::format("lift {} that shrinks", node.type()));
    }
    return {};
  }

  // The coordinates of a node. Variants of half_pixel become half_pixel if they are equivalent.
  static Result<std::string> lifted_coordinates(const OnnxNode& node, const ir::Shape& shape, const Scales& scales) {
    const std::string word = node.word("coordinate_transformation_mode", "half_pixel");
    if (is_one_of(word, {"asymmetric", "half_pixel"})) return word;
    if (!is_one_of(word, {"align_corners", "pytorch_half_pixel", "half_pixel_symmetric"})) {
      return movement::cannot(fmt::format("lift Resize with coordinates {}", word));
    }
    bool known = true;   // every size is known
    bool whole = true;   // no size is rounded
    bool larger = true;  // no size is 1
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (scales.numerators[k] == scales.denominators[k]) continue;
      const ir::Poly wanted = shape[k] * scales.numerators[k];
      const ir::Poly size = node.symbols().floor_div(wanted, scales.denominators[k]);
      known = known && size.is_constant();
      whole = whole && size * scales.denominators[k] == wanted;
      larger = larger && node.symbols().lower_bound(size - 2).value_or(-1) >= 0;
    }
    if (word == "align_corners") {
      // For `out`, the ONNX reference takes the size before the floor, runtimes the size after it. The same
      // holds for pytorch_half_pixel below.
      if (!whole) return movement::cannot("lift Resize with coordinates align_corners to a size that is rounded");
      return word;
    }
    if (word == "half_pixel_symmetric") return whole ? std::string("half_pixel") : word;
    if (larger) return std::string("half_pixel");
    if (!known || !whole) return movement::cannot("lift Resize with coordinates pytorch_half_pixel to a size that may be 1");
    return word;
  }

  static Result<ir::Constant> scales_constant(const std::vector<float>& scales) {
    return ir::make_constant(ir::DataType::float32, {static_cast<std::int64_t>(scales.size())},
                             std::vector<double>(scales.begin(), scales.end()));
  }

  // Exports Upsample and Resize-10: asymmetric coordinates, mode nearest with floor or linear, no dimension
  // shrinks.
  static Result<Exported> export_plain(const Operation& operation, int opset) {
    const ir::Attributes& attributes = operation.attributes;
    if (attributes.word("coordinates") != "asymmetric" || attributes.word("rounding") != "floor") {
      return movement::cannot("write coordinates other than asymmetric, rounded down, before opset 11");
    }
    XFLOW_TRY(const std::vector<float> scales, float_scales(operation));
    if (std::any_of(scales.begin(), scales.end(), [](float scale) { return scale < 1; })) {
      return movement::cannot("write a resize that shrinks before opset 11");
    }
    Exported exported{{Exported::OperandInput{0}}, {{"mode", attributes.word("mode")}}};
    if (opset < 9) {
      exported.attributes.emplace_back("scales", scales);
      return exported;
    }
    XFLOW_TRY(ir::Constant constant, scales_constant(scales));
    exported.inputs.emplace_back(Exported::ConstantInput{std::move(constant)});
    return exported;
  }
};

XFLOW_OPERATOR_DEFINITION(Resize)

}  // namespace xflow::ops
