// Steps of weights against their derivatives.
#pragma once

#include <cstdint>
#include <span>

#include "src/policy/matrix.h"

namespace xflow::policy {

// Weights with the means of derivatives and of their squares that Adam has (Kingma and Ba, Adam: A Method
// for Stochastic Optimization, 2015). All three have the same sizes.
struct AdamWeights {
  std::span<Matrix> weights;
  std::span<Matrix> moments;
  std::span<Matrix> variances;
};

// Moves weights by the rate against derivatives, which count at most as a vector of length 1 of all.
// `number` is that of the step, from 1. False if a derivative or a weight is not finite; then some may have
// moved.
bool move_weights(const AdamWeights& state, std::span<const Matrix> derivatives, std::uint64_t number, double rate);

}  // namespace xflow::policy
