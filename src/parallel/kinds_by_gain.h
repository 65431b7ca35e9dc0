// Kinds of proposals, drawn by what they have gained.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "src/parallel/random_numbers.h"

namespace xflow::parallel {

// Half of the draws are by fixed weights, and half by what late proposals of a kind have gained in the mean.
// While nothing was gained, all are by weights.
template <std::size_t count>
class KindsByGain {
 public:
  using Weights = std::array<double, count>;

  // A kind whose weight is not 0; one weight at least is more than 0.
  std::size_t draw(const Weights& weights, RandomNumbers& random) {
    Weights gains = {};
    for (std::size_t kind = 0; kind < count; ++kind)
      if (weights[kind] > 0) gains[kind] = std::max(0.0, gains_[kind]);
    const bool is_by_gain = *std::ranges::max_element(gains) > 0 && random.below(2) == 0;
    const Weights& drawn_from = is_by_gain ? gains : weights;
    double drawn = random.unit() * std::accumulate(drawn_from.begin(), drawn_from.end(), 0.0);
    for (std::size_t kind = 0; kind < count; ++kind) {
      if (drawn_from[kind] <= 0) continue;
      last_ = kind;  // rounding may leave a little at the end
      if (drawn < drawn_from[kind]) break;
      drawn -= drawn_from[kind];
    }
    return last_;
  }

  // What the proposal of the kind that was drawn last made better: 0 if it was not taken, less if it made
  // something worse.
  void learn(double gain) {
    constexpr double kLate = 0.02;
    gains_[last_] += kLate * (gain - gains_[last_]);
  }

 private:
  std::size_t last_ = 0;
  Weights gains_ = {};
};

}  // namespace xflow::parallel
