#include "src/policy/go_choices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/policy/distribution.h"

namespace xflow::policy {
namespace {

constexpr double kLargestFactor = 60;  // logarithm
constexpr int kHalvings = 40;

// The softmax of scores divided by the temperature, over those that are possible.
void set_softmax(std::span<const float> scores, double temperature, const auto& is_possible, std::span<float> result) {
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < scores.size(); ++k) {
    if (is_possible(k)) most = std::max(most, scores[k] / temperature);
  }
  double sum = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const double p = is_possible(k) ? std::exp(scores[k] / temperature - most) : 0;
    result[k] = static_cast<float>(p);
    sum += p;
  }
  for (float& p : result) p = static_cast<float>(p / sum);
}

void set_certain(std::size_t choice, std::span<float> result) {
  std::ranges::fill(result, 0.0F);
  result[choice] = 1;
}

// Choices that keep the plan of the view.
GoChoices kept_choices(const GoPlanView& view) {
  const std::uint32_t nodes = view.graph().nodes();
  GoChoices result{view.plan().devices, std::vector<std::uint8_t>(nodes, kGoKeepOrder), std::vector<std::uint8_t>(nodes, 0),
                   std::vector<bool>(view.segments(), false)};
  for (std::uint32_t node = 0; node < nodes; ++node) result.fusions[node] = view.is_fused(node) ? 1 : 0;
  return result;
}

template <typename Choose>
void choose_of_segment(const GoPlanView& view, const GoProbabilities& probabilities, std::uint32_t segment, const Choose& choose,
                       GoChoices& result) {
  result.segments[segment] = true;
  const std::uint32_t begin = segment * GoPlanView::kSegment;
  const std::uint32_t end = std::min(view.graph().nodes(), begin + GoPlanView::kSegment);
  for (std::uint32_t node = begin; node < end; ++node) {
    result.devices[node] = choose(probabilities.places.row(node));
    result.orders[node] = static_cast<std::uint8_t>(choose(probabilities.orders.row(node)));
    result.fusions[node] = static_cast<std::uint8_t>(choose(probabilities.fusions.row(node)));
  }
}

// Calls `use` with each row of probabilities of nodes from `begin` to `end`, and the choice that keeps what
// is.
template <typename Use>
void for_each_row(const GoPlanView& view, GoProbabilities& probabilities, std::uint32_t begin, std::uint32_t end, const Use& use) {
  for (std::uint32_t node = begin; node < end; ++node) {
    use(probabilities.places.row(node), view.plan().devices[node]);
    use(probabilities.orders.row(node), kGoKeepOrder);
    use(probabilities.fusions.row(node), view.is_fused(node) ? 1U : 0U);
  }
}

// The odds against the choice.
double odds_against(std::span<const float> probabilities, std::uint32_t choice) {
  double others = 0;
  for (std::uint32_t k = 0; k < probabilities.size(); ++k) others += k == choice ? 0 : probabilities[k];
  return others / std::max(probabilities[choice], std::numeric_limits<float>::min());
}

void scale_rows(const GoPlanView& view, std::uint32_t begin, std::uint32_t end, double factor, GoProbabilities& probabilities) {
  for_each_row(view, probabilities, begin, end, [&](std::span<float> row, std::uint32_t kept) {
    double sum = 0;
    for (std::uint32_t k = 0; k < row.size(); ++k) sum += k == kept ? row[k] : factor * row[k];
    for (std::uint32_t k = 0; k < row.size(); ++k) row[k] = static_cast<float>((k == kept ? row[k] : factor * row[k]) / sum);
  });
}

}  // namespace

double set_change_count(const GoPlanView& view, double count, GoProbabilities& probabilities) {
  std::vector<double> odds;
  for_each_row(view, probabilities, 0, view.graph().nodes(), [&](std::span<const float> row, std::uint32_t kept) {
    const double own = odds_against(row, kept);
    if (own > 0) odds.push_back(own);
  });
  double least = -kLargestFactor;
  double most = kLargestFactor;
  for (int k = 0; k < kHalvings; ++k) {
    const double factor = std::exp((least + most) / 2);
    double changes = 0;
    for (const double own : odds) changes += own * factor / (1 + own * factor);
    (changes > count ? most : least) = (least + most) / 2;
  }
  const double factor = std::exp((least + most) / 2);
  scale_rows(view, 0, view.graph().nodes(), factor, probabilities);
  return factor;
}

void scale_changes(const GoPlanView& view, std::uint32_t segment, double factor, GoProbabilities& probabilities) {
  const std::uint32_t begin = segment * GoPlanView::kSegment;
  scale_rows(view, begin, std::min(view.graph().nodes(), begin + GoPlanView::kSegment), factor, probabilities);
}

void set_probabilities(const GoPlanView& view, const GoSegment& segment, const GoScores& scores, const GoHeads& heads, double temperature,
                       GoProbabilities& probabilities) {
  const std::uint32_t devices = view.graph().devices();
  const auto all = [](std::size_t /*choice*/) { return true; };
  for (std::size_t k = 0; k < segment.nodes.rows; ++k) {
    const auto node = static_cast<std::uint32_t>(segment.begin + k);
    const bool is_fused = view.is_fused(node);
    if (is_fused || !heads.places) {
      set_certain(view.plan().devices[node], probabilities.places.row(node));
    } else {
      set_softmax(
          std::span(scores.places.values).subspan(k * devices, devices), temperature,
          [&](std::size_t device) { return segment.possible[k * devices + device]; }, probabilities.places.row(node));
    }
    if (is_fused || !heads.orders) {
      set_certain(kGoKeepOrder, probabilities.orders.row(node));
    } else {
      set_softmax(scores.orders.row(k), temperature, all, probabilities.orders.row(node));
    }
    if (view.graph().choice_of(node) == GoGraph::kNoChoice || !heads.fusions) {
      set_certain(is_fused ? 1 : 0, probabilities.fusions.row(node));
    } else {
      set_softmax(scores.fusions.row(k), temperature, all, probabilities.fusions.row(node));
    }
  }
}

GoProbabilities kept_probabilities(const GoPlanView& view) {
  const std::uint32_t nodes = view.graph().nodes();
  GoProbabilities result{Matrix(nodes, view.graph().devices()), Matrix(nodes, kGoOrderCount), Matrix(nodes, kGoFusionCount)};
  for (std::uint32_t node = 0; node < nodes; ++node) {
    result.places.at(node, view.plan().devices[node]) = 1;
    result.orders.at(node, kGoKeepOrder) = 1;
    result.fusions.at(node, view.is_fused(node) ? 1 : 0) = 1;
  }
  return result;
}

GoProbabilities go_probabilities(const GoPlanView& view, GoNetwork& network, const GoHeads& heads, double temperature) {
  GoProbabilities result = kept_probabilities(view);
  Matrix memory;
  for (std::uint32_t number = 0; number < view.segments(); ++number) {
    const GoSegment segment = view.segment(number);
    set_probabilities(view, segment, network.compute(segment, view.summary(), memory), heads, temperature, result);
  }
  return result;
}

GoChoices draw_choices(const GoPlanView& view, const GoProbabilities& probabilities, std::span<const std::uint32_t> segments,
                       parallel::RandomNumbers& random) {
  GoChoices result = kept_choices(view);
  const auto draw = [&](std::span<const float> row) { return choice_at(row, random.unit()); };
  for (const std::uint32_t segment : segments) choose_of_segment(view, probabilities, segment, draw, result);
  return result;
}

GoChoices likeliest_choices(const GoPlanView& view, const GoProbabilities& probabilities) {
  GoChoices result = kept_choices(view);
  for (std::uint32_t segment = 0; segment < view.segments(); ++segment)
    choose_of_segment(
        view, probabilities, segment, [](std::span<const float> row) { return likeliest(row); }, result);
  return result;
}

void apply_choices(const GoPlanView& view, const GoChoices& choices, parallel::OrderedPlan& plan) {
  const GoGraph& graph = view.graph();
  const double unit = GoPlanView::kPriorityStep * graph.mean_seconds();
  for (std::uint32_t node = graph.nodes(); node-- > 0;) {
    if (choices.devices[node] != view.plan().devices[node]) plan.devices[node] = choices.devices[node];
    if (choices.orders[node] != kGoKeepOrder) plan.priorities[node] += static_cast<float>(kGoOrders[choices.orders[node]] * unit);
    const std::uint32_t choice = graph.choice_of(node);
    if (choice == GoGraph::kNoChoice) continue;
    if ((choices.fusions[node] == 1) != view.is_fused(node)) plan.fused[choice] = choices.fusions[node] == 1;
    if (!plan.fused[choice]) continue;
    const std::uint32_t into = graph.problem().fusions[choice].into;
    plan.devices[node] = plan.devices[into];
    plan.priorities[node] = plan.priorities[into];
  }
}

}  // namespace xflow::policy
