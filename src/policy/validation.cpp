#include "src/policy/validation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/policy/distribution.h"
#include "src/policy/placement_network.h"

namespace xflow::policy {
namespace {

constexpr std::size_t kGreedyPasses = 2;

}  // namespace

GreedyValidation::GreedyValidation(Environments environments, GraphGradient encoder, GraphGradient scorer)
    : environments_(std::move(environments)), encoder_(std::move(encoder)), scorer_(std::move(scorer)) {}

Result<std::unique_ptr<GreedyValidation>> GreedyValidation::of(Environments environments) {
  const std::vector<Matrix> weights = first_weights(0);  // score() replaces them
  XFLOW_TRY(const Graph encoder, encoder_graph(weights));
  XFLOW_TRY(const Graph scorer, scorer_graph(weights));
  XFLOW_TRY(GraphGradient encoder_gradient, GraphGradient::of(encoder));
  XFLOW_TRY(GraphGradient scorer_gradient, GraphGradient::of(scorer));
  return std::unique_ptr<GreedyValidation>(
      new GreedyValidation(std::move(environments), std::move(encoder_gradient), std::move(scorer_gradient)));
}

Result<double> GreedyValidation::score(std::span<const Matrix> weights) {
  const std::size_t encoded = encoder_.weights().size();
  std::ranges::copy(weights.first(encoded), encoder_.weights().begin());
  std::ranges::copy(weights.subspan(encoded), scorer_.weights().begin());
  double sum = 0;
  for (const auto& environment : environments_) {
    const parallel::GroupDevices start = environment->devices();
    const double first = environment->value();
    double best = first;
    const Matrix* const described[] = {&environment->group_features(), &environment->parents(), &environment->children()};
    const Matrix embeddings = encoder_.compute(described)[0];
    for (std::size_t visit = 0; visit < kGreedyPasses * environment->order().size(); ++visit) {
      const std::uint32_t group = environment->order()[visit % environment->order().size()];
      const auto choices = environment->choices(group, progress_of(*environment, visit));
      const Matrix* const inputs[] = {&embeddings, &choices.features, &choices.own, &choices.parents, &choices.children, &choices.others};
      const Matrix scores = scorer_.compute(inputs)[0];
      environment->move(group, likeliest(probabilities_of(scores.values, choices.possible)));
      best = std::min(best, environment->value());
    }
    if (first > 0) sum += std::log(best / first) / static_cast<double>(environments_.size());
    environment->reset(start);
  }
  return sum;
}

}  // namespace xflow::policy
