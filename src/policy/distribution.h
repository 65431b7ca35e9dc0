// Probabilities of choices from their scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace xflow::policy {

// The softmax over possible choices; 0 for others. One is possible.
inline std::vector<double> probabilities_of(std::span<const float> scores, const std::vector<bool>& possible) {
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < scores.size(); ++k) {
    if (possible[k]) most = std::max(most, static_cast<double>(scores[k]));
  }
  std::vector<double> result(scores.size());
  double sum = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    if (possible[k]) sum += result[k] = std::exp(static_cast<double>(scores[k]) - most);
  }
  for (double& p : result) p /= sum;
  return result;
}

// The choice in whose share `at`, from 0 to 1, lies.
std::uint32_t choice_at(const auto& probabilities, double at) {
  std::uint32_t last = 0;
  for (std::uint32_t k = 0; k < probabilities.size(); ++k) {
    if (!(probabilities[k] > 0)) continue;
    last = k;
    at -= probabilities[k];
    if (at <= 0) break;
  }
  return last;
}

// The most probable choice, the first one of several.
std::uint32_t likeliest(const auto& probabilities) {
  return static_cast<std::uint32_t>(std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
}

}  // namespace xflow::policy
