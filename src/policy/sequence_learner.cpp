#include "src/policy/sequence_learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/parallel/random_numbers.h"
#include "src/policy/adam.h"
#include "src/policy/distribution.h"
#include "src/policy/loss.h"

namespace xflow::policy {
namespace {

enum GraphNumber : std::size_t { encoder, decision, whole };

std::vector<const Matrix*> pointers_to(const std::vector<Matrix>& matrices) {
  std::vector<const Matrix*> result(matrices.size());
  std::ranges::transform(matrices, result.begin(), [](const Matrix& matrix) { return &matrix; });
  return result;
}

constexpr double kLearningRate = 5e-3;
constexpr double kSlowerSteps = 2'000;  // after which the rate is 1 / e of the first one
constexpr double kOpenWeight = 0.02;
constexpr double kOpenSteps = 200;  // likewise for the entropy term
constexpr double kBaselineDecay = 0.9;
constexpr double kMostAdvantage = 3;
constexpr double kImitation = 1;            // the advantage of the best placement
constexpr std::size_t kRowsOfWhole = 4;     // one of so many placements is drawn as a whole
constexpr std::uint32_t kShortestPart = 8;  // a window has at most this part of the sequence

}  // namespace

SequenceLearner::SequenceLearner(SequenceSizes sizes, std::vector<Matrix> weights, std::uint64_t seed, double reference)
    : sizes_(sizes), weights_(std::move(weights)), seed_(seed), reference_(reference) {
  for (const Matrix& weight : weights_) moments_.emplace_back(weight.rows, weight.columns);
  variances_ = moments_;
}

Result<SequenceLearner> SequenceLearner::of(const StepEnvironment& environment, std::uint64_t seed, const parallel::PlanCost& reference) {
  const SequenceSizes sizes{StepEnvironment::kGroupFeatures, environment.devices()};
  SequenceLearner learner(sizes, first_sequence_weights(sizes, seed), seed, reference.step);
  for (const auto& graph : {sequence_encoder(sizes, learner.weights_, environment.groups()), sequence_decision(sizes, learner.weights_),
                            sequence_whole(sizes, learner.weights_, environment.groups())}) {
    if (!graph) return fail(graph.error());
    XFLOW_TRY(GraphGradient gradient, GraphGradient::of(*graph));
    learner.graphs_.push_back(std::move(gradient));
  }
  for (std::uint32_t group = 0; group < environment.groups(); ++group) {
    Matrix row(1, sizes.features);
    std::ranges::copy(environment.features().row(group), row.values.begin());
    learner.groups_.push_back(std::move(row));
  }
  return learner;
}

void SequenceLearner::load() {
  for (GraphGradient& graph : graphs_) std::ranges::copy(weights_, graph.weights().begin());
}

Matrix SequenceLearner::seen_of(const StepEnvironment& environment, std::uint32_t group, std::span<const GroupPlaces> drawn,
                                std::span<const std::vector<double>> loads) const {
  Matrix seen(drawn.size(), kDecisionFeatures * sizes_.devices);
  for (std::size_t row = 0; row < drawn.size(); ++row) {
    const std::span<float> own = seen.row(row);
    if (group > 0) own[drawn[row][group - 1]] = 1;
    double bytes = 0;
    for (const GroupEdge& edge : environment.sources(group)) bytes += edge.group < group ? edge.bytes : 0;
    for (const GroupEdge& edge : environment.sources(group)) {
      if (edge.group < group && bytes > 0) own[sizes_.devices + drawn[row][edge.group]] += static_cast<float>(edge.bytes / bytes);
    }
    for (std::size_t device = 0; device < sizes_.devices; ++device)
      own[2 * sizes_.devices + device] = static_cast<float>(loads[row][device]);
  }
  return seen;
}

std::vector<GroupPlaces> SequenceLearner::draw(const StepEnvironment& environment, std::size_t count, const GroupPlaces& best) {
  load();
  const std::uint32_t groups = environment.groups();
  std::vector<parallel::RandomNumbers> random;
  windows_.clear();
  for (std::size_t row = 0; row < count; ++row) {
    random.emplace_back((seed_ * 1'000'003 + steps_) * count + row);
    Window window{0, groups, true};
    if (row % kRowsOfWhole != 0) {
      window.begin = random[row].below(groups);
      window.end = std::min(groups, window.begin + 1 + random[row].below(1 + groups / kShortestPart));
      window.is_whole = false;
    }
    windows_.push_back(window);
  }
  random.emplace_back(0);
  windows_.push_back({0, 0, false});
  const std::vector<const Matrix*> inputs = pointers_to(groups_);
  const std::vector<Matrix> encoded = graphs_[encoder].compute(inputs);
  Matrix state = encoded[1];
  Matrix cell = encoded[2];
  double work = 0;
  for (std::uint32_t group = 0; group < groups; ++group) work += environment.seconds(group, 0);
  drawn_.assign(count + 1, {});
  seen_.clear();
  std::vector<std::vector<double>> loads(count + 1, std::vector<double>(sizes_.devices, 0));
  for (std::uint32_t group = 0; group < groups; ++group) {
    seen_.push_back(seen_of(environment, group, drawn_, loads));
    const Matrix* const own[] = {&groups_[group], &encoded[0], &seen_.back(), &state, &cell};
    std::vector<Matrix> outputs = graphs_[decision].compute(own);
    for (std::size_t row = 0; row <= count; ++row) {
      std::uint32_t device = best[group];
      if (windows_[row].contains(group)) {
        const auto probabilities = probabilities_of(outputs[0].row(row), std::vector<bool>(sizes_.devices, true));
        const bool is_random = !windows_[row].is_whole && windows_[row].begin == group;
        device = is_random ? random[row].below(static_cast<std::uint32_t>(sizes_.devices)) : choice_at(probabilities, random[row].unit());
      }
      drawn_[row].push_back(device);
      if (work > 0) loads[row][device] += environment.seconds(group, 0) / work;
    }
    state = std::move(outputs[1]);
    cell = std::move(outputs[2]);
  }
  return {drawn_.begin(), drawn_.end() - 1};
}

double SequenceLearner::reward_of(const parallel::PlanCost& cost) const {
  return -std::sqrt(cost.missing > 0 || !(reference_ > 0) ? kMissingSteps : cost.step / reference_);
}

std::vector<double> SequenceLearner::advantages_of(std::span<const parallel::PlanCost> costs, const parallel::PlanCost& best) {
  std::vector<double> rewards;
  double mean = 0;
  double count = 0;
  for (std::size_t row = 0; row < costs.size(); ++row) {
    rewards.push_back(reward_of(costs[row]));
    if (!windows_[row].is_whole) continue;
    mean += rewards.back();
    ++count;
  }
  mean /= count;
  double squares = 0;
  for (std::size_t row = 0; row < costs.size(); ++row) {
    if (windows_[row].is_whole) squares += (rewards[row] - mean) * (rewards[row] - mean) / count;
  }
  const double decay = steps_ == 0 ? 0 : kBaselineDecay;
  baseline_ = decay * baseline_ + (1 - decay) * mean;
  deviation_ = decay * deviation_ + (1 - decay) * std::sqrt(squares);
  for (std::size_t row = 0; row < rewards.size(); ++row) {
    const double above = rewards[row] - (windows_[row].is_whole ? baseline_ : reward_of(best));
    rewards[row] = deviation_ > 0 ? std::clamp(above / deviation_, -kMostAdvantage, kMostAdvantage) : 0;
  }
  rewards.push_back(kImitation);
  return rewards;
}

bool SequenceLearner::learn(std::span<const parallel::PlanCost> costs, const parallel::PlanCost& best) {
  const std::vector<double> advantages = advantages_of(costs, best);
  std::vector<const Matrix*> inputs = pointers_to(groups_);
  const std::vector<const Matrix*> seen = pointers_to(seen_);
  inputs.insert(inputs.end(), seen.begin(), seen.end());
  const std::vector<Matrix> scores = graphs_[whole].compute(inputs);
  const double entropy = kOpenWeight * std::exp(-static_cast<double>(steps_) / kOpenSteps);
  const double scale = 1.0 / static_cast<double>(drawn_.size() * groups_.size());
  std::vector<Matrix> by_scores;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    Matrix by(drawn_.size(), sizes_.devices);
    for (std::size_t row = 0; row < drawn_.size(); ++row) {
      const bool is_best = row + 1 == drawn_.size();
      if (!is_best && !windows_[row].contains(static_cast<std::uint32_t>(group))) continue;
      const auto probabilities = probabilities_of(scores[group].row(row), std::vector<bool>(sizes_.devices, true));
      set_loss(probabilities, drawn_[row][group], advantages[row], entropy, scale, by.row(row));
    }
    by_scores.push_back(std::move(by));
  }
  std::vector<Matrix> sums;
  sums.reserve(weights_.size());
  for (const Matrix& weight : weights_) sums.emplace_back(weight.rows, weight.columns);
  graphs_[whole].differentiate(by_scores, sums);
  const double rate = kLearningRate * std::exp(-static_cast<double>(steps_) / kSlowerSteps);
  return move_weights({weights_, moments_, variances_}, sums, ++steps_, rate);
}

}  // namespace xflow::policy
