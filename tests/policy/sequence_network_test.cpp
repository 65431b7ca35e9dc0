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
  expect_interpreted(
      *sequence_decision(kSizes, weights),
      {random_matrix(kRows, kSizes.features, random), random_matrix(kGroups, kSizes.hidden, random), random_matrix(kRows, seen, random),
       random_matrix(kRows, kSizes.hidden, random), random_matrix(kRows, kSizes.hidden, random)});
  std::vector<Matrix> inputs = groups;
  for (std::size_t k = 0; k < kGroups; ++k) inputs.push_back(random_matrix(kRows, seen, random));
  constexpr std::size_t kWindows = 3;
  for (int k = 0; k < 2; ++k) inputs.push_back(random_matrix(kWindows, kSizes.hidden, random));
  for (int k = 0; k < 2; ++k) {
    inputs.push_back(random_matrix(kWindows, kSizes.features, random));
    inputs.push_back(random_matrix(kWindows, seen, random));
  }
  expect_interpreted(*sequence_training(kSizes, weights, kGroups, 2), inputs);
}

// The scores of all groups for two placements, decided one group after the other, and of a window of two
// groups that begins at the second group in the one and at the third group in the other.
TEST(SequenceNetwork, DecidesOneByOneWhatItDecidesInATraining) {
  const std::vector<Matrix> weights = first_sequence_weights(kSizes, 3);
  parallel::RandomNumbers random(2);
  constexpr std::size_t kGroups = 5;
  constexpr std::size_t kRows = 2;
  constexpr std::size_t kWindow = 2;
  const auto begin_of = [](std::size_t row) { return row + 1; };
  std::vector<Matrix> groups;
  std::vector<Matrix> seen;
  for (std::size_t k = 0; k < kGroups; ++k) groups.push_back(random_matrix(1, kSizes.features, random));
  for (std::size_t k = 0; k < kGroups; ++k) seen.push_back(random_matrix(kRows, kDecisionFeatures * kSizes.devices, random));
  auto encoder = *GraphGradient::of(*sequence_encoder(kSizes, weights, kGroups));
  const std::vector<Matrix> encoded = encoder.compute(pointers(groups));
  EXPECT_EQ(kGroups, encoded[0].rows);
  auto decision = *GraphGradient::of(*sequence_decision(kSizes, weights));
  Matrix state = encoded[1];
  Matrix cell = encoded[2];
  std::vector<Matrix> one_by_one;
  Matrix window_state(kRows, kSizes.hidden);
  Matrix window_cell(kRows, kSizes.hidden);
  std::vector<Matrix> window_groups(kWindow, Matrix(kRows, kSizes.features));
  std::vector<Matrix> window_seen(kWindow, Matrix(kRows, seen[0].columns));
  for (std::size_t k = 0; k < kGroups; ++k) {
    for (std::size_t row = 0; row < kRows; ++row) {
      if (k == begin_of(row)) {
        std::ranges::copy(state.row(row), window_state.row(row).begin());
        std::ranges::copy(cell.row(row), window_cell.row(row).begin());
      }
      if (k < begin_of(row) || k >= begin_of(row) + kWindow) continue;
      std::ranges::copy(groups[k].values, window_groups[k - begin_of(row)].row(row).begin());
      std::ranges::copy(seen[k].row(row), window_seen[k - begin_of(row)].row(row).begin());
    }
    const Matrix* const own[] = {&groups[k], encoded.data(), &seen[k], &state, &cell};
    std::vector<Matrix> outputs = decision.compute(own);
    one_by_one.push_back(std::move(outputs[0]));
    state = std::move(outputs[1]);
    cell = std::move(outputs[2]);
  }
  std::vector<Matrix> inputs = groups;
  inputs.insert(inputs.end(), seen.begin(), seen.end());
  inputs.insert(inputs.end(), {window_state, window_cell});
  for (std::size_t k = 0; k < kWindow; ++k) inputs.insert(inputs.end(), {window_groups[k], window_seen[k]});
  auto training = *GraphGradient::of(*sequence_training(kSizes, weights, kGroups, kWindow));
  const std::vector<Matrix> scores = training.compute(pointers(inputs));
  ASSERT_EQ(kGroups + kWindow, scores.size());
  for (std::size_t k = 0; k < kGroups; ++k) EXPECT_EQ(one_by_one[k], scores[k]);
  for (std::size_t k = 0; k < kWindow; ++k) {
    for (std::size_t row = 0; row < kRows; ++row)
      EXPECT_TRUE(std::ranges::equal(one_by_one[begin_of(row) + k].row(row), scores[kGroups + k].row(row)));
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
