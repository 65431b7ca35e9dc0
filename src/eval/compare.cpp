#include "src/eval/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace xflow::eval {

namespace {

std::string index_text(std::uint64_t element, const std::vector<std::int64_t>& dims) {
  std::vector<std::uint64_t> index(dims.size());
  for (std::size_t k = dims.size(); k-- > 0;) {
    index[k] = element % static_cast<std::uint64_t>(dims[k]);
    element /= static_cast<std::uint64_t>(dims[k]);
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

// The result for an element that no error bound permits.
Comparison differs(const Tensor& reference, const Tensor& actual, std::uint64_t element) {
  Comparison result;
  result.worst = element;
  result.error = std::numeric_limits<double>::infinity();
  result.reason = fmt::format("{} instead of {} at {}", element_text(actual, element), element_text(reference, element),
                              index_text(element, reference.dims));
  return result;
}

Comparison unusable(std::string reason) {
  Comparison result;
  result.error = std::numeric_limits<double>::infinity();
  result.reason = std::move(reason);
  return result;
}

// Each element must equal A's result in double or, for numbers that were compared or rounded to integers, in
// float.
template <typename T>
Comparison compare_exactly(const Tensor& reference, const Tensor& actual, const std::vector<T>& a, const std::vector<T>& f,
                           const std::vector<T>& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] != b[k] && (k >= f.size() || f[k] != b[k])) return differs(reference, actual, k);
  }
  Comparison result;
  result.agrees = true;
  return result;
}

// The largest difference between finite elements of `a` and `b`.
double largest_error(const std::vector<double>& a, const std::vector<double>& b) {
  double error = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (std::isfinite(a[k]) && std::isfinite(b[k])) error = std::max(error, std::fabs(a[k] - b[k]));
  }
  return error;
}

Comparison compare_numbers(const Tensor& reference, const Tensor& own, const Tensor& actual, const Tolerance& tolerance) {
  const auto a = doubles(reference);
  const auto f = doubles(own);
  const auto b = doubles(actual);
  if (!a) return unusable(a.error().message);
  if (!f) return unusable(f.error().message);
  if (!b) return unusable(b.error().message);
  Comparison result;
  double magnitude = 0;
  for (std::size_t k = 0; k < a->size(); ++k) {
    const double x = (*a)[k];
    const double y = (*b)[k];
    if (std::isfinite(x)) magnitude = std::max(magnitude, std::fabs(x));
    if (std::isnan(x) && std::isnan(y)) continue;
    if (std::isfinite(x) && std::isfinite(y)) {
      const double error = std::fabs(x - y);
      if (error > result.error) {
        result.error = error;
        result.worst = k;
      }
    } else if (x != y) {
      // An element that overflows in A's own float arithmetic may overflow in B, with the same sign, or as
      // NaN if A's float result is NaN.
      const double z = (*f)[k];
      if (!(z == y || (std::isnan(z) && std::isnan(y) && !std::isnan(x)))) return differs(reference, actual, k);
    }
  }
  result.allowed = tolerance.own_error_factor * largest_error(*a, *f) + tolerance.magnitude_factor * magnitude;
  result.agrees = result.error <= result.allowed;
  if (!result.agrees) {
    result.reason = fmt::format("{} instead of {} at {} (error {:.3g}, allowed {:.3g})", (*b)[result.worst], (*a)[result.worst],
                                index_text(result.worst, reference.dims), result.error, result.allowed);
  }
  return result;
}

}  // namespace

double Comparison::severity() const {
  if (agrees && error == 0) return 0;
  if (!agrees && allowed == 0) return std::numeric_limits<double>::infinity();
  return error / allowed;
}

Comparison compare(const Tensor& reference, const Tensor& own, const Tensor& actual, const Tolerance& tolerance) {
  if (reference.data_type != actual.data_type) {
    return unusable(fmt::format("{} instead of {}", type_text(actual), type_text(reference)));
  }
  if (reference.dims != actual.dims) {
    return unusable(fmt::format("shape [{}] instead of [{}]", fmt::join(actual.dims, ","), fmt::join(reference.dims, ",")));
  }
  if (const auto* a = std::get_if<std::vector<std::string>>(&reference.elements)) {
    const auto* b = std::get_if<std::vector<std::string>>(&actual.elements);
    return b != nullptr ? compare_exactly(reference, actual, *a, *a, *b) : unusable("no strings");
  }
  if (ir::is_floating(reference.data_type)) return compare_numbers(reference, own, actual, tolerance);
  const auto a = integers(reference);
  const auto f = integers(own);
  const auto b = integers(actual);
  if (!a) return unusable(a.error().message);
  if (!b) return unusable(b.error().message);
  return compare_exactly(reference, actual, *a, f ? *f : *a, *b);
}

Result<Acceptance> agree_with_reference(ir::Arena& arena, const ir::Graph& graph, const Bindings& inputs, std::span<const Tensor> outputs) {
  Options single;
  single.number = Number::float32;
  XFLOW_TRY(const std::vector<Tensor> reference, evaluate(arena, graph, inputs));
  XFLOW_TRY(const std::vector<Tensor> own, evaluate(arena, graph, inputs, single));
  for (std::size_t k = 0; k < reference.size(); ++k) {
    const Comparison compared = compare(reference[k], own[k], outputs[k]);
    if (!compared.agrees) return refused(fmt::format("output {}: {}", k, compared.reason));
  }
  return accepted();
}

}  // namespace xflow::eval
