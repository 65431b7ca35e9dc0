#include "src/policy/go_trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/parallel/random_numbers.h"
#include "src/policy/adam.h"

namespace xflow::policy {
namespace {

constexpr std::uint64_t kEpochs = 2;
constexpr double kClip = 0.2;
constexpr double kGoMostAdvantage = 3;
constexpr double kFirstRate = 3e-4;
constexpr double kSlowerUpdates = 4'000;  // after which the rate is 1 / e of the first one
constexpr double kGoOpenWeight = 1e-3;
constexpr double kShareOfLoss = 0.1;
constexpr double kLeastDeviation = 1e-3;
constexpr std::uint32_t kChangeCounts = 4;  // 1, 2, 4 or 8 nodes change in a plan
constexpr double kWorstReward = -0.2;       // also of plans that miss memory
constexpr std::uint64_t kSampleSeed = 7;

// Adds the derivatives by scores of -scale (sum of clipped advantages + kGoOpenWeight entropy) for the
// choices of one node. `sums`: for each choice the sum of advantages with those that are clipped left out.
void add_clipped_loss(std::span<const float> probabilities, std::span<const double> sums, double count, double scale,
                      std::span<float> result) {
  double all = 0;
  double entropy = 0;
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    all += sums[k];
    if (probabilities[k] > 0) entropy -= probabilities[k] * std::log(probabilities[k]);
  }
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    const double p = probabilities[k];
    if (!(p > 0)) continue;
    result[k] = static_cast<float>(scale * (p * all - sums[k] + count * kGoOpenWeight * p * (std::log(p) + entropy)));
  }
}

double entropy_of(const Matrix& probabilities) {
  double entropy = 0;
  for (const float p : probabilities.values) entropy -= p > 0 ? p * std::log(p) : 0;
  return entropy;
}

// Rewards become advantages. What counts is how much better plans become: a plan that is worse is not taken.
void center(std::span<double> rewards) {
  for (double& reward : rewards) reward = std::max(reward, kShareOfLoss * reward);
  const auto count = static_cast<double>(rewards.size());
  double mean = 0;
  for (const double reward : rewards) mean += reward / count;
  double squares = 0;
  for (const double reward : rewards) squares += (reward - mean) * (reward - mean) / count;
  const double deviation = std::sqrt(squares);
  for (double& reward : rewards)
    reward = std::clamp((reward - mean) / std::max(deviation, kLeastDeviation), -kGoMostAdvantage, kGoMostAdvantage);
}

}  // namespace

GoPolicy first_go_policy(std::uint64_t seed) {
  GoPolicy policy;
  policy.weights = first_go_weights(seed);
  policy.training.seed = seed;
  policy.training.weights = policy.weights;
  policy.training.moments.reserve(policy.weights.size());
  for (const Matrix& weight : policy.weights) policy.training.moments.emplace_back(weight.rows, weight.columns);
  policy.training.variances = policy.training.moments;
  return policy;
}

GoEpisode::GoEpisode(const parallel::OrderedProblem& problem, const parallel::OrderedPlan& start)
    : graph_(problem, kSampleSeed), view_(graph_), step_(view_.look(start)) {}

Result<GoTrainer> GoTrainer::of(GoPolicy policy) {
  XFLOW_TRY(GoNetwork network, GoNetwork::of(policy.training.weights));
  return GoTrainer(std::move(policy), std::move(network));
}

void GoTrainer::load(std::span<const Matrix> weights) { std::ranges::copy(weights, network_.weights().begin()); }

std::vector<GoTrainer::ChosenSegment> GoTrainer::choose_segments(const GoPlanView& view, parallel::RandomNumbers& random) {
  std::vector<std::uint32_t> order(view.segments());
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(std::span(order));
  order.resize(std::min(order.size(), kSegments));
  std::vector<ChosenSegment> result;
  result.reserve(order.size());
  for (const std::uint32_t number : order) {
    ChosenSegment chosen{number, view.segment(number), {}};
    if (number > 0) network_.compute(view.segment(number - 1), view.summary(), chosen.memory);
    result.push_back(std::move(chosen));
  }
  return result;
}

std::vector<GoTrainer::DrawnPlan> GoTrainer::draw(GoEpisode& episode, const GoProbabilities& probabilities,
                                                  std::span<const ChosenSegment> chosen, parallel::RandomNumbers& random,
                                                  parallel::OrderedPlan& best, GoUpdate& seen) {
  GoPlanView& view = episode.view();
  const double before = episode.step().seconds;
  parallel::OrderedStep best_step = episode.step();
  std::vector<std::uint32_t> numbers(chosen.size());
  std::ranges::transform(chosen, numbers.begin(), [](const ChosenSegment& segment) { return segment.number; });
  std::vector<DrawnPlan> drawn(kPlans);
  std::vector<double> rewards(kPlans);
  double mean = 0;
  for (std::size_t k = 0; k < kPlans; ++k) {
    drawn[k].choices = draw_choices(view, probabilities, numbers, random);
    parallel::OrderedPlan plan = view.plan();
    apply_choices(view, drawn[k].choices, plan);
    const auto step = view.simulate(plan, before * std::exp(-kWorstReward));
    const bool is_valid = step && step->missing <= episode.step().missing && step->seconds > 0;
    rewards[k] = is_valid ? std::max(kWorstReward, std::log(before / step->seconds)) : kWorstReward;
    mean += rewards[k] / kPlans;
    if (!step || std::pair(step->missing, step->seconds) >= std::pair(best_step.missing, best_step.seconds)) continue;
    best_step = *step;
    best = std::move(plan);
  }
  seen.mean_ratio = std::exp(-mean);
  seen.best_ratio = before > 0 ? best_step.seconds / before : 1;
  center(rewards);
  for (std::size_t k = 0; k < kPlans; ++k) drawn[k].advantage = rewards[k];
  return drawn;
}

bool GoTrainer::update(GoEpisode& episode, GoUpdate& seen) {
  load(policy_.training.weights);
  const GoPlanView& view = episode.view();
  parallel::RandomNumbers random(policy_.training.seed * 1'000'003 + policy_.training.steps);
  const std::vector<ChosenSegment> chosen = choose_segments(view, random);
  GoProbabilities probabilities = kept_probabilities(view);
  double nodes = 0;
  for (const ChosenSegment& segment : chosen) {
    Matrix memory = segment.memory;
    set_probabilities(view, segment.inputs, network_.compute(segment.inputs, view.summary(), memory), {}, 1, probabilities);
    nodes += static_cast<double>(segment.inputs.nodes.rows);
  }
  const double factor = set_change_count(view, 1U << random.below(kChangeCounts), probabilities);
  seen.entropy = (entropy_of(probabilities.places) + entropy_of(probabilities.orders) + entropy_of(probabilities.fusions)) / nodes;
  parallel::OrderedPlan best;
  const std::vector<DrawnPlan> drawn = draw(episode, probabilities, chosen, random, best, seen);
  const TrainingState before = policy_.training;
  if (!move(view, chosen, probabilities, factor, drawn)) {
    policy_.training = before;
    return false;
  }
  if (!best.devices.empty()) episode.go_to(best);
  return true;
}

GoScores GoTrainer::loss_of(const GoPlanView& view, const ChosenSegment& chosen, const GoProbabilities& before, const GoProbabilities& now,
                            std::span<const DrawnPlan> drawn, double scale) {
  const GoSegment& segment = chosen.inputs;
  const std::uint32_t devices = view.graph().devices();
  GoScores by{Matrix(segment.devices.rows, 1), Matrix(segment.nodes.rows, kGoOrderCount), Matrix(segment.nodes.rows, kGoFusionCount)};
  std::vector<double> sums;
  const auto add = [&](const Matrix& old_rows, const Matrix& new_rows, std::uint32_t node, const auto& choice_of, std::span<float> result) {
    const std::span<const float> now_row = new_rows.row(node);
    sums.assign(now_row.size(), 0);
    double count = 0;
    for (const DrawnPlan& plan : drawn) {
      if (!plan.choices.segments[chosen.number]) continue;
      ++count;
      const std::uint32_t choice = choice_of(plan.choices);
      const double ratio = now_row[choice] / std::max(1e-12F, old_rows.at(node, choice));
      const bool is_clipped = plan.advantage > 0 ? ratio > 1 + kClip : ratio < 1 - kClip;
      if (!is_clipped) sums[choice] += plan.advantage * ratio;
    }
    add_clipped_loss(now_row, sums, count, scale, result);
  };
  for (std::uint32_t k = 0; k < segment.nodes.rows; ++k) {
    const std::uint32_t node = segment.begin + k;
    const bool is_fused = view.is_fused(node);
    if (!is_fused) {
      add(
          before.places, now.places, node, [&](const GoChoices& own) { return own.devices[node]; },
          std::span(by.places.values).subspan(static_cast<std::size_t>(k) * devices, devices));
      add(
          before.orders, now.orders, node, [&](const GoChoices& own) { return own.orders[node]; }, by.orders.row(k));
    }
    if (view.graph().choice_of(node) != GoGraph::kNoChoice)
      add(
          before.fusions, now.fusions, node, [&](const GoChoices& own) { return own.fusions[node]; }, by.fusions.row(k));
  }
  return by;
}

bool GoTrainer::move(const GoPlanView& view, std::span<const ChosenSegment> chosen, const GoProbabilities& before, double factor,
                     std::span<const DrawnPlan> drawn) {
  double nodes = 0;
  for (const DrawnPlan& plan : drawn) nodes += static_cast<double>(std::ranges::count(plan.choices.segments, true)) * GoPlanView::kSegment;
  TrainingState& state = policy_.training;
  const double rate = kFirstRate * std::exp(-static_cast<double>(state.steps) / kSlowerUpdates);
  GoProbabilities now = before;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    load(state.weights);
    std::vector<Matrix> sums;
    sums.reserve(state.weights.size());
    for (const Matrix& weight : state.weights) sums.emplace_back(weight.rows, weight.columns);
    for (const ChosenSegment& segment : chosen) {
      Matrix memory = segment.memory;
      const GoScores scores = network_.compute(segment.inputs, view.summary(), memory);
      set_probabilities(view, segment.inputs, scores, {}, 1, now);
      scale_changes(view, segment.number, factor, now);
      network_.differentiate(loss_of(view, segment, before, now, drawn, 1 / nodes), sums);
    }
    if (!move_weights({state.weights, state.moments, state.variances}, sums, kEpochs * state.steps + epoch + 1, rate)) return false;
  }
  ++state.steps;
  return true;
}

}  // namespace xflow::policy
