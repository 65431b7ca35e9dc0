#include "src/devices/profile/error_model.h"

#include <algorithm>
#include <cmath>

#include "src/devices/profile/features.h"
#include "src/kernels/device.h"

namespace xflow::cost::profile {
namespace {

constexpr std::size_t kFew = 20;
constexpr std::size_t kMostInPairs = 400;  // errors whose pairs tell the correlation
constexpr double kQuantile = 0.9;          // of the held-out errors
constexpr double kMostDeviations = 3;      // an error that is further away counts as one that is so far
constexpr std::array<double, 6> kLengths = {0.1, 0.3, 1, 3, 10, 30};

// near^2 and far^2, by least squares of the squared errors.
void fit_variance(const std::vector<HeldOutError>& errors, ErrorModel& model) {
  double n = 0, x = 0, xx = 0, y = 0, xy = 0;
  for (const HeldOutError& each : errors) {
    const double square = each.error * each.error;
    n += 1;
    x += each.alone;
    xx += each.alone * each.alone;
    y += square;
    xy += each.alone * square;
  }
  const double determinant = n * xx - x * x;
  double constant = y / n;
  double slope = 0;
  if (errors.size() >= kFew && determinant > 1e-9 * n * xx) {
    slope = std::max(0.0, (n * xy - x * y) / determinant);
    constant = (y - slope * x) / n;
    if (constant < 0) {
      constant = 0;
      slope = xx > 0 ? xy / xx : 0;
    }
  }
  model.near = std::sqrt(constant);
  model.far = std::sqrt(slope);
}

// Scales the deviations by how many of them hold nine tenths of the errors.
void scale(const std::vector<HeldOutError>& errors, ErrorModel& model) {
  std::vector<double> deviations;
  deviations.reserve(errors.size());
  for (const HeldOutError& each : errors) {
    const double deviation = model.deviation(each.alone);
    if (deviation > 0) deviations.push_back(std::abs(each.error) / deviation);
  }
  if (deviations.empty()) return;
  const auto at = deviations.begin() + std::lround(kQuantile * static_cast<double>(deviations.size() - 1));
  std::ranges::nth_element(deviations, at);
  double factor = *at / kNineTenths;
  if (errors.size() < kFew) factor = std::max(1.0, factor);
  model.near *= factor;
  model.far *= factor;
}

void fit_correlation(const std::vector<HeldOutError>& errors, ErrorModel& model) {
  struct Pair {
    double distance = 0;
    double product = 0;
  };
  std::vector<Pair> pairs;
  const std::size_t step = std::max<std::size_t>(1, errors.size() / kMostInPairs);
  const auto deviations_of = [&](const HeldOutError& each) {
    return std::clamp(each.error / model.deviation(each.alone), -kMostDeviations, kMostDeviations);
  };
  for (std::size_t i = 0; i < errors.size(); i += step) {
    if (model.deviation(errors[i].alone) <= 0) continue;
    for (std::size_t j = 0; j < i; j += step) {
      if (errors[i].base == errors[j].base || model.deviation(errors[j].alone) <= 0) continue;
      pairs.push_back({distance(errors[i].at, errors[j].at), deviations_of(errors[i]) * deviations_of(errors[j])});
    }
  }
  double least = 0;  // the squares less those without correlation
  for (const double length : kLengths) {
    double up = 0, down = 0;
    for (const Pair& pair : pairs) {
      const double near = std::exp(-pair.distance / length);
      up += near * pair.product;
      down += near * near;
    }
    if (down <= 0) continue;
    const double correlation = std::clamp(up / down, 0.0, 1.0);
    const double squares = correlation * correlation * down - 2 * correlation * up;
    if (squares >= least) continue;
    least = squares;
    model.correlation = correlation;
    model.length = length;
  }
}

}  // namespace

double ErrorModel::deviation(double alone) const { return std::sqrt(near * near + far * far * alone); }

double ErrorModel::correlation_at(double distance) const { return correlation * std::exp(-distance / length); }

double variance_of_sum(std::span<const std::pair<TermError, double>> terms) {
  double variance = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto& [a, amount] = terms[i];
    const double own = amount * a.deviation;
    variance += own * own;
    if (a.of == nullptr) continue;
    for (std::size_t j = 0; j < i; ++j) {
      const auto& [b, other] = terms[j];
      if (a.of == b.of) variance += 2 * own * other * b.deviation * a.of->correlation_at(distance(a.at, b.at));
    }
  }
  return std::max(0.0, variance);
}

ErrorModel fit_errors(const std::vector<HeldOutError>& errors) {
  ErrorModel model;
  fit_variance(errors, model);
  scale(errors, model);
  if (errors.size() >= kFew) fit_correlation(errors, model);
  return model;
}

}  // namespace xflow::cost::profile
