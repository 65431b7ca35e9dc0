// The graphs of the network for sequences: the interpreter against the loops of the training, and against
// each other.
#include "src/policy/sequence_network.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/policy/interpreted_network.h"
#include "tests/policy/random_matrix.h"

namespace xflow::policy {
namespace {

constexpr SequenceSizes kSizes{5, 3, 8};

TEST(SequenceNetwork, OfTheInterpreterEqualsTheOneThatIsTrained) {
  const std::vector<Matrix> weights = first_sequence_weights(kSizes, 7);
  parallel::RandomNumbers random(1);
  constexpr std::size_t kGroups = 4;
  constexpr std::size_t kRows = 2;
  std::vector<Matrix> groups;
  for (std::size_t k = 0; k < kGroups; ++k) groups.push_back(random_matrix(1, kSizes.features, random));
  expect_interpreted(*sequence_encoder(kSizes, weights, kGroups), groups);
  const std::size_t seen = kDecisionFeatures * kSizes.devices;
  expect_interpreted(*sequence_decision(kSizes, weights),
                     {groups[0], random_matrix(kGroups, kSizes.hidden, random), random_matrix(kRows, seen, random),
                      random_matrix(kRows, kSizes.hidden, random), random_matrix(kRows, kSizes.hidden, random)});
  std::vector<Matrix> inputs = groups;
  for (std::size_t k = 0; k < kGroups; ++k) inputs.push_back(random_matrix(kRows, seen, random));
  expect_interpreted(*sequence_whole(kSizes, weights, kGroups), inputs);
}

TEST(SequenceNetwork, DecidesOneByOneWhatItDecidesAsAWhole) {
  const std::vector<Matrix> weights = first_sequence_weights(kSizes, 3);
  parallel::RandomNumbers random(2);
  constexpr std::size_t kGroups = 5;
  std::vector<Matrix> inputs;
  for (std::size_t k = 0; k < kGroups; ++k) inputs.push_back(random_matrix(1, kSizes.features, random));
  auto encoder = *GraphGradient::of(*sequence_encoder(kSizes, weights, kGroups));
  const std::vector<Matrix> encoded = encoder.compute(pointers(inputs));
  EXPECT_EQ(kGroups, encoded[0].rows);
  for (std::size_t k = 0; k < kGroups; ++k) inputs.push_back(random_matrix(2, kDecisionFeatures * kSizes.devices, random));
  auto whole = *GraphGradient::of(*sequence_whole(kSizes, weights, kGroups));
  const std::vector<Matrix> scores = whole.compute(pointers(inputs));
  auto decision = *GraphGradient::of(*sequence_decision(kSizes, weights));
  Matrix state = encoded[1];
  Matrix cell = encoded[2];
  for (std::size_t k = 0; k < kGroups; ++k) {
    const Matrix* const own[] = {&inputs[k], encoded.data(), &inputs[kGroups + k], &state, &cell};
    const std::vector<Matrix> outputs = decision.compute(own);
    EXPECT_EQ(scores[k], outputs[0]);
    state = outputs[1];
    cell = outputs[2];
  }
}

TEST(SequenceNetwork, FirstPrefersTheDeviceOfWhatAGroupReads) {
  const std::vector<Matrix> weights = first_sequence_weights(kSizes, 1);
  auto decision = *GraphGradient::of(*sequence_decision(kSizes, weights));
  parallel::RandomNumbers random(4);
  for (std::size_t device = 0; device < kSizes.devices; ++device) {
    Matrix seen(1, kDecisionFeatures * kSizes.devices);
    seen.at(0, kSizes.devices + device) = 1;
    const std::vector<Matrix> inputs = {random_matrix(1, kSizes.features, random), random_matrix(3, kSizes.hidden, random), seen,
                                        random_matrix(1, kSizes.hidden, random), random_matrix(1, kSizes.hidden, random)};
    const std::vector<Matrix> scores = decision.compute(pointers(inputs));
    const auto best = std::ranges::max_element(scores[0].values) - scores[0].values.begin();
    EXPECT_EQ(static_cast<std::ptrdiff_t>(device), best);
  }
}

}  // namespace
}  // namespace xflow::policy
