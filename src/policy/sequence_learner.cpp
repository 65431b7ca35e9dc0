#include "src/policy/sequence_learner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "src/parallel/random_numbers.h"
#include "src/policy/adam.h"

namespace xflow::policy {
namespace {

constexpr double kLearningRate = 5e-3;
constexpr double kSlowerSteps = 2'000;  // after which the rate is 1 / e of the first one
constexpr double kOpenWeight = 0.02;
constexpr double kOpenSteps = 200;  // likewise for the entropy term
constexpr double kBaselineDecay = 0.9;
constexpr double kMostAdvantage = 3;
constexpr double kImitation = 1;           // the advantage of the best placement, in all samplers together
constexpr double kShareOfWindows = 0.2;    // of the advantage of a window; they are many, and most of them lose
constexpr std::size_t kRowsOfWhole = 32;   // of so many placements, each sampler draws one as a whole
constexpr std::uint32_t kWindowPart = 16;  // a window has this part of the sequence,
constexpr std::uint32_t kShortest = 4;     // and at least so many groups if there are as many
constexpr std::size_t kSamplers = 2;

}  // namespace

SequenceLearner::SequenceLearner(SequenceSizes sizes, std::vector<Matrix> weights, std::uint64_t seed, double reference)
    : sizes_(sizes), weights_(std::move(weights)), seed_(seed), reference_(reference) {
  for (const Matrix& weight : weights_) moments_.emplace_back(weight.rows, weight.columns);
  variances_ = moments_;
}

Result<SequenceLearner> SequenceLearner::of(const StepEnvironment& environment, std::uint64_t seed, const parallel::PlanCost& reference,
                                            std::size_t threads) {
  const SequenceSizes sizes{StepEnvironment::kGroupFeatures, environment.devices()};
  SequenceLearner learner(sizes, first_sequence_weights(sizes, seed), seed, reference.step);
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  learner.threads_ = std::min(kSamplers, threads > 0 ? threads : processors);
  learner.window_ = std::min(environment.groups(), std::max(kShortest, environment.groups() / kWindowPart));
  for (std::size_t k = 0; k < kSamplers; ++k) {
    XFLOW_TRY(SequenceSampler sampler, SequenceSampler::of(environment, sizes, learner.weights_, learner.window_));
    learner.samplers_.push_back(std::move(sampler));
  }
  return learner;
}

void SequenceLearner::for_each_sampler(const std::function<void(std::size_t)>& body) {
  const auto work = [&](std::size_t thread) {
    for (std::size_t k = thread; k < kSamplers; k += threads_) body(k);
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < threads_; ++thread) others.push_back(std::async(std::launch::async, work, thread));
  work(0);
  for (std::future<void>& other : others) other.get();
}

std::vector<GroupPlaces> SequenceLearner::draw(const StepEnvironment& environment, std::size_t count, const GroupPlaces& best) {
  std::array<std::vector<SequenceRow>, kSamplers> rows;
  is_whole_.clear();
  for (std::size_t number = 0; number < count; ++number) {
    SequenceRow row{std::nullopt, parallel::RandomNumbers((seed_ * 1'000'003 + steps_) * count + number)};
    is_whole_.push_back(number % kRowsOfWhole < kSamplers);
    if (!is_whole_.back()) row.begin = row.random.below(environment.groups() - window_ + 1);
    rows[number % kSamplers].push_back(std::move(row));
  }
  for_each_sampler([&](std::size_t k) { samplers_[k].draw(environment, weights_, std::move(rows[k]), best); });
  std::vector<GroupPlaces> drawn;
  drawn.reserve(count);
  for (std::size_t number = 0; number < count; ++number) drawn.push_back(samplers_[number % kSamplers].rows()[number / kSamplers].drawn);
  return drawn;
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
    if (!is_whole_[row]) continue;
    mean += rewards.back();
    ++count;
  }
  mean /= count;
  double squares = 0;
  for (std::size_t row = 0; row < costs.size(); ++row) {
    if (is_whole_[row]) squares += (rewards[row] - mean) * (rewards[row] - mean) / count;
  }
  const double decay = steps_ == 0 ? 0 : kBaselineDecay;
  baseline_ = decay * baseline_ + (1 - decay) * mean;
  deviation_ = decay * deviation_ + (1 - decay) * std::sqrt(squares);
  for (std::size_t row = 0; row < rewards.size(); ++row) {
    const double above = rewards[row] - (is_whole_[row] ? baseline_ : reward_of(best));
    rewards[row] = deviation_ > 0 ? std::clamp(above / deviation_, -kMostAdvantage, kMostAdvantage) : 0;
    if (!is_whole_[row]) rewards[row] *= kShareOfWindows;
  }
  return rewards;
}

bool SequenceLearner::learn(std::span<const parallel::PlanCost> costs, const parallel::PlanCost& best) {
  const std::vector<double> advantages = advantages_of(costs, best);
  const double entropy = kOpenWeight * std::exp(-static_cast<double>(steps_) / kOpenSteps);
  const double scale = 1.0 / static_cast<double>((advantages.size() + 1) * samplers_[0].rows()[0].drawn.size());
  std::array<std::vector<Matrix>, kSamplers> sums;
  for_each_sampler([&](std::size_t k) {
    std::vector<double> own;
    for (std::size_t row = k; row < advantages.size(); row += kSamplers) own.push_back(advantages[row]);
    for (const Matrix& weight : weights_) sums[k].emplace_back(weight.rows, weight.columns);
    samplers_[k].differentiate(own, kImitation / kSamplers, entropy, scale, sums[k]);
  });
  for (std::size_t k = 1; k < kSamplers; ++k) {
    for (std::size_t weight = 0; weight < weights_.size(); ++weight)
      std::ranges::transform(sums[0][weight].values, sums[k][weight].values, sums[0][weight].values.begin(), std::plus());
  }
  const double rate = kLearningRate * std::exp(-static_cast<double>(steps_) / kSlowerSteps);
  return move_weights({weights_, moments_, variances_}, sums[0], ++steps_, rate);
}

}  // namespace xflow::policy
