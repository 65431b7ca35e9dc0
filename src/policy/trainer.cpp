#include "src/policy/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "src/parallel/random_numbers.h"
#include "src/policy/adam.h"
#include "src/policy/distribution.h"
#include "src/policy/loss.h"
#include "src/policy/placement_network.h"

namespace xflow::policy {
namespace {

constexpr std::size_t kEpisodes = 8;
constexpr int kEpisodePasses = 2;
constexpr double kDiscount = 0.9;
constexpr double kRandomVisits = 0.1;  // of the groups of a window after the first one
constexpr double kEntropy = 0.02;
constexpr double kEntropySteps = 300;  // after which the entropy term is 1 / e of the first one
constexpr double kRate = 3e-3;
constexpr double kRateSteps = 1'000;  // likewise for the rate
constexpr std::size_t kVisitsPerBatch = 64;

// Choices of several visits below each other.
class ChoiceBatch {
 public:
  void add(const VisitEnvironment::Choices& choices) {
    const std::array<const Matrix*, 5> added = {&choices.features, &choices.own, &choices.parents, &choices.children, &choices.others};
    for (std::size_t k = 0; k < added.size(); ++k) {
      Matrix& to = matrices_[k];
      to.columns = added[k]->columns;
      to.rows += added[k]->rows;
      to.values.insert(to.values.end(), added[k]->values.begin(), added[k]->values.end());
    }
    possible_.push_back(choices.possible);
  }
  bool is_full() const { return possible_.size() == kVisitsPerBatch; }
  std::size_t size() const { return possible_.size(); }
  const std::vector<bool>& possible(std::size_t visit) const { return possible_[visit]; }
  std::array<const Matrix*, 5> inputs() const { return {matrices_.data(), &matrices_[1], &matrices_[2], &matrices_[3], &matrices_[4]}; }

 private:
  std::array<Matrix, 5> matrices_;
  std::vector<std::vector<bool>> possible_;
};

// Advantages of all episodes, of mean 0 at each visit and of variance 1 in all.
std::vector<std::vector<double>> advantages_of(const std::vector<std::vector<double>>& returns) {
  std::vector<std::vector<double>> result = returns;
  double squares = 0;
  for (std::size_t visit = 0; visit < returns[0].size(); ++visit) {
    double mean = 0;
    for (const auto& episode : returns) mean += episode[visit] / static_cast<double>(returns.size());
    for (auto& episode : result) {
      episode[visit] -= mean;
      squares += episode[visit] * episode[visit];
    }
  }
  const double deviation = std::sqrt(squares / static_cast<double>(returns.size() * returns[0].size()));
  for (auto& episode : result) {
    for (double& advantage : episode) advantage = deviation > 0 ? advantage / deviation : 0;
  }
  return result;
}

}  // namespace

Trainer::Trainer(Policy policy, GraphGradient encoder, GraphGradient scorer, GraphGradient whole)
    : policy_(std::move(policy)), encoder_(std::move(encoder)), scorer_(std::move(scorer)), whole_(std::move(whole)) {}

Result<Trainer> Trainer::of(Policy policy) {
  const auto gradient = [&](Result<Graph> (*graph)(std::span<const Matrix>)) -> Result<GraphGradient> {
    XFLOW_TRY(const Graph made, graph(policy.training.weights));
    return GraphGradient::of(made);
  };
  XFLOW_TRY(GraphGradient encoder, gradient(encoder_graph));
  XFLOW_TRY(GraphGradient scorer, gradient(scorer_graph));
  XFLOW_TRY(GraphGradient whole, gradient(whole_graph));
  return Trainer(std::move(policy), std::move(encoder), std::move(scorer), std::move(whole));
}

void Trainer::load(std::span<const Matrix> weights) {
  const std::size_t encoded = encoder_.weights().size();
  std::ranges::copy(weights.first(encoded), encoder_.weights().begin());
  std::ranges::copy(weights.subspan(encoded), scorer_.weights().begin());
  std::ranges::copy(weights, whole_.weights().begin());
}

Trainer::Episode Trainer::sample(VisitEnvironment& environment, const Windows& windows, std::uint64_t seed) {
  parallel::RandomNumbers random(seed);
  const Matrix* const described[] = {&environment.group_features(), &environment.parents(), &environment.children()};
  const Matrix embeddings = encoder_.compute(described)[0];
  Episode episode;
  const std::size_t visits = kEpisodePasses * environment.order().size();
  std::vector<double> rewards;
  for (std::size_t visit = 0; visit < visits; ++visit) {
    if (windows.begins(visit)) environment.reset(windows.start);
    const std::uint32_t group = environment.order()[visit % environment.order().size()];
    const auto choices = environment.choices(group, progress_of(environment, visit));
    const Matrix* const inputs[] = {&embeddings, &choices.features, &choices.own, &choices.parents, &choices.children, &choices.others};
    const Matrix scores = scorer_.compute(inputs)[0];
    const bool is_random = windows.are_short && (windows.begins(visit) || random.unit() < kRandomVisits);
    const std::uint32_t choice =
        choice_at(probabilities_of(is_random ? std::vector<float>(scores.rows) : scores.values, choices.possible), random.unit());
    const double before = environment.potential();
    environment.move(group, choice);
    episode.choices.push_back(choice);
    const std::pair reached(environment.value(), environment.potential());
    if (reached < passed_value_) {
      passed_value_ = reached;
      passed_ = environment.devices();
    }
    rewards.push_back(before > 0 && environment.potential() > 0 ? std::log(before / environment.potential()) : 0);
  }
  episode.returns.resize(visits);
  double later = 0;
  for (std::size_t visit = visits; visit-- > 0;) {
    episode.returns[visit] = later = rewards[visit] + kDiscount * later;
    if (windows.begins(visit)) later = 0;
  }
  return episode;
}

void Trainer::differentiate(VisitEnvironment& environment, const Windows& windows, const Episode& episode,
                            std::span<const double> advantages, std::vector<Matrix>& sums) {
  const double entropy_weight = kEntropy * std::exp(-static_cast<double>(policy_.training.steps) / kEntropySteps);
  const double scale = 1.0 / static_cast<double>(kEpisodes * episode.choices.size());
  const std::uint32_t devices = environment.device_count();
  std::size_t first = 0;
  ChoiceBatch batch;
  for (std::size_t visit = 0; visit < episode.choices.size(); ++visit) {
    if (windows.begins(visit)) environment.reset(windows.start);
    const std::uint32_t group = environment.order()[visit % environment.order().size()];
    batch.add(environment.choices(group, progress_of(environment, visit)));
    environment.move(group, episode.choices[visit]);
    if (!batch.is_full() && visit + 1 < episode.choices.size()) continue;
    std::vector<const Matrix*> inputs = {&environment.group_features(), &environment.parents(), &environment.children()};
    for (const Matrix* input : batch.inputs()) inputs.push_back(input);
    const Matrix scores = whole_.compute(inputs)[0];
    Matrix by_scores(scores.rows, 1);
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const auto probabilities = probabilities_of(std::span(scores.values).subspan(k * devices, devices), batch.possible(k));
      set_loss(probabilities, episode.choices[first + k], advantages[first + k], entropy_weight, scale,
               std::span(by_scores.values).subspan(k * devices, devices));
    }
    whole_.differentiate(std::span(&by_scores, 1), sums);
    first = visit + 1;
    batch = {};
  }
}

bool Trainer::step(VisitEnvironment& environment, std::size_t window) {
  load(policy_.training.weights);
  const std::size_t visits = kEpisodePasses * environment.order().size();
  const Windows windows{environment.devices(), std::min(window, visits), window < visits};
  passed_ = windows.start;
  passed_value_ = {environment.value(), environment.potential()};
  std::vector<Episode> episodes;
  std::vector<std::vector<double>> returns;
  for (std::size_t k = 0; k < kEpisodes; ++k) {
    episodes.push_back(sample(environment, windows, (policy_.training.seed * 1'000'003 + policy_.training.steps) * kEpisodes + k));
    returns.push_back(episodes.back().returns);
  }
  const auto advantages = advantages_of(returns);
  std::vector<Matrix> sums;
  sums.reserve(policy_.training.weights.size());
  for (const Matrix& weight : policy_.training.weights) sums.emplace_back(weight.rows, weight.columns);
  for (std::size_t k = 0; k < kEpisodes; ++k) {
    differentiate(environment, windows, episodes[k], advantages[k], sums);
  }
  return move_weights(sums);
}

bool Trainer::move_weights(const std::vector<Matrix>& derivatives) {
  TrainingState next = policy_.training;
  const double rate = kRate * std::exp(-static_cast<double>(next.steps) / kRateSteps);
  ++next.steps;
  if (!policy::move_weights({next.weights, next.moments, next.variances}, derivatives, next.steps, rate)) return false;
  policy_.training = std::move(next);
  return true;
}

Result<double> Trainer::begin(Validation& validation) {
  XFLOW_TRY(policy_.training.best_score, validation.score(policy_.weights));
  return policy_.training.best_score;
}

Result<double> Trainer::validate(Validation& validation) {
  XFLOW_TRY(const double score, validation.score(policy_.training.weights));
  if (score < policy_.training.best_score) {
    policy_.training.best_score = score;
    policy_.weights = policy_.training.weights;
  }
  return score;
}

}  // namespace xflow::policy
