#include "src/ops/fused_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/ops/kernel_text.h"
#include "src/ops/operator.h"

namespace xflow::ops {
namespace {

// The functions of the column VALUE for T = double.
namespace in_double {

using T = double;
double exp_of(double x) { return std::exp(x); }
double log_of(double x) { return std::log(x); }
double sin_of(double x) { return std::sin(x); }
double cos_of(double x) { return std::cos(x); }
double tanh_of(double x) { return std::tanh(x); }
double erf_of(double x) { return std::erf(x); }
double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }
double round_of(double x) { return std::nearbyint(x); }
double sqrt_of(double x) { return std::sqrt(x); }
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double clip_to(double x, double low, double high) { return x < low ? low : (x > high ? high : x); }

const std::vector<FusedFunction>& rows() {
  static const std::vector<FusedFunction> kRows = {
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) \
  {FunctionId::NAME, #NAME, "", [](double x, [[maybe_unused]] double p, [[maybe_unused]] double q) -> double { return VALUE; }},
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) \
  {FunctionId::NAME, #NAME, GRAPH, [](double x, double /*p*/, double /*q*/) -> double { return VALUE; }},
#include "src/ops/fused_functions.def"
  };
  return kRows;
}

}  // namespace in_double

using in_double::rows;

}  // namespace

std::span<const FusedFunction> fused_functions() { return rows(); }

const FusedFunction* find_function(std::string_view name) {
  const auto found = std::ranges::find(rows(), name, &FusedFunction::name);
  return found == rows().end() ? nullptr : &*found;
}

const FusedFunction* find_function(const StepFunction& function) {
  if (function.fused) return &rows()[static_cast<std::size_t>(*function.fused)];
  return function.op ? find_function(get(id_of(*function.op)).signature.name) : nullptr;
}

std::size_t real_count(const FusedFunction& function) {
  if (!function.is_operator()) return 0;
  const std::vector<AttributeSignature>& attributes = get(id_of(function.name)).signature.attributes;
  return static_cast<std::size_t>(std::ranges::count(attributes, AttributeKind::real, &AttributeSignature::kind));
}

std::array<double, 2> complete_reals(const FusedFunction& function, std::span<const double> given) {
  std::array<double, 2> result{};
  std::size_t next = 0;
  if (function.is_operator()) {
    for (const AttributeSignature& attribute : get(id_of(function.name)).signature.attributes) {
      if (attribute.kind != AttributeKind::real || next >= result.size()) continue;
      if (attribute.default_value) result[next] = std::get<ir::Real>(*attribute.default_value).to_double();
      ++next;
    }
  }
  std::copy_n(given.begin(), std::min(given.size(), result.size()), result.begin());
  return result;
}

Result<FusedGraph> graph_of_function(const StepFunction& function) {
  const FusedFunction* row = function.fused ? find_function(function) : nullptr;
  if (row == nullptr || row->is_operator())
    return fail(ErrorCode::unsupported, fmt::format("'{}' is neither an operator nor a fused function", function_name(function)));
  return parse_fused_graph(function.graph.empty() ? row->graph : function.graph);
}

OnnxFunction OnnxFunction::real(std::string_view name, float otherwise) && {
  reals.push_back({name, otherwise, false});
  return std::move(*this);
}

OnnxFunction OnnxFunction::positive(std::string_view name, float otherwise) && {
  reals.push_back({name, otherwise, true});
  return std::move(*this);
}

OnnxFunction OnnxFunction::word(std::string_view name, std::string_view value, std::string_view otherwise) && {
  condition = Word{name, value, otherwise};
  return std::move(*this);
}

OnnxFunction OnnxFunction::exported(int since_opset, int bfloat16_since) && {
  exported_since = since_opset;
  exported_bfloat16_since = bfloat16_since;
  return std::move(*this);
}

std::span<const OnnxFunction> onnx_functions() {
  static const std::vector<OnnxFunction> kFunctions = {
#define XFLOW_ONNX_FUNCTION(DOMAIN, TYPE, SINCE, GRAPH, ATTRIBUTES) \
  OnnxFunction{DOMAIN, TYPE, SINCE, parse_fused_graph(GRAPH).value()} ATTRIBUTES,  // NOLINT(bugprone-macro-parentheses): calls of members
#include "src/ops/fused_functions.def"
  };
  return kFunctions;
}

}  // namespace xflow::ops
