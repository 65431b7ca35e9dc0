// The loss of REINFORCE at one choice.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace xflow::policy {

// Sets the derivatives by scores of -scale (advantage log p(choice) + entropy_weight entropy(p)), where the
// probabilities p are the softmax of scores. Scores of probability 0 stay as they are.
inline void set_loss(std::span<const double> probabilities, std::uint32_t choice, double advantage, double entropy_weight, double scale,
                     std::span<float> result) {
  double entropy = 0;
  for (const double p : probabilities) entropy -= p > 0 ? p * std::log(p) : 0;
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    const double p = probabilities[k];
    if (!(p > 0)) continue;
    const double of_reward = advantage * (p - (k == choice ? 1 : 0));
    const double of_entropy = entropy_weight * p * (std::log(p) + entropy);
    result[k] = static_cast<float>(scale * (of_reward + of_entropy));
  }
}

}  // namespace xflow::policy
