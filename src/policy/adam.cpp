#include "src/policy/adam.h"

#include <algorithm>
#include <cmath>

namespace xflow::policy {
namespace {

constexpr double kMomentDecay = 0.9;
constexpr double kVarianceDecay = 0.999;
constexpr double kLongestDerivative = 1;

}  // namespace

bool move_weights(const AdamWeights& state, std::span<const Matrix> derivatives, std::uint64_t number, double rate) {
  double squares = 0;
  for (const Matrix& matrix : derivatives) {
    for (const float x : matrix.values) squares += static_cast<double>(x) * x;
  }
  if (!std::isfinite(squares)) return false;
  const double factor = std::min(1.0, kLongestDerivative / std::sqrt(std::max(squares, 1e-300)));
  const auto steps = static_cast<double>(number);
  for (std::size_t k = 0; k < derivatives.size(); ++k) {
    for (std::size_t i = 0; i < derivatives[k].values.size(); ++i) {
      const double derivative = factor * derivatives[k].values[i];
      const double moment = kMomentDecay * state.moments[k].values[i] + (1 - kMomentDecay) * derivative;
      const double variance = kVarianceDecay * state.variances[k].values[i] + (1 - kVarianceDecay) * derivative * derivative;
      state.moments[k].values[i] = static_cast<float>(moment);
      state.variances[k].values[i] = static_cast<float>(variance);
      const double mean = moment / (1 - std::pow(kMomentDecay, steps));
      const double deviation = std::sqrt(variance / (1 - std::pow(kVarianceDecay, steps)));
      float& weight = state.weights[k].values[i];
      const auto next = static_cast<float>(weight - rate * mean / (deviation + 1e-8));
      if (!std::isfinite(next)) return false;
      weight = next;
    }
  }
  return true;
}

}  // namespace xflow::policy
