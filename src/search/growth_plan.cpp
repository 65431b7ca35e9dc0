#include "src/search/growth_plan.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace xflow::search {
namespace {

using cost::Ticks;

double ticks(Ticks time) { return static_cast<double>(time); }

// What the step between two choices saves per byte.
double slope(const GrowthChoice& from, const GrowthChoice& to) {
  return ticks(to.saved - from.saved) / static_cast<double>(to.bytes - from.bytes);
}

// From a choice of a part to the next one.
struct GrowthStep {
  std::size_t part = 0;
  std::size_t to = 0;
  Ticks saved{};
  std::int64_t bytes = 0;
  double slope = 0;
};

}  // namespace

GrowthChoices efficient_choices(GrowthChoices choices) {
  std::ranges::stable_sort(
      choices, [](const GrowthChoice& a, const GrowthChoice& b) { return std::tuple(a.bytes, b.saved) < std::tuple(b.bytes, a.saved); });
  GrowthChoices hull;
  for (const GrowthChoice& choice : choices) {
    if (!hull.empty() && choice.saved <= hull.back().saved) continue;
    while (hull.size() > 1 && slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), choice)) hull.pop_back();
    hull.push_back(choice);
  }
  return hull;
}

GrowthPlan plan_growth(std::span<const GrowthChoices> parts, std::int64_t limit) {
  GrowthPlan plan{std::vector<std::size_t>(parts.size(), 0), {}};
  std::vector<GrowthStep> steps;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const GrowthChoices& choices = parts[part];
    plan.most = plan.most + choices[0].saved;
    limit -= choices[0].bytes;
    for (std::size_t to = 1; to < choices.size(); ++to) {
      const GrowthChoice& from = choices[to - 1];
      steps.push_back({part, to, choices[to].saved - from.saved, choices[to].bytes - from.bytes, slope(from, choices[to])});
    }
  }
  // The slopes of one part decrease.
  std::ranges::stable_sort(steps, std::greater<>(), &GrowthStep::slope);
  bool fits = true;
  for (const GrowthStep& step : steps) {
    if (step.bytes <= limit && plan.chosen[step.part] + 1 == step.to) {
      plan.chosen[step.part] = step.to;
      limit -= step.bytes;
      if (fits) plan.most = plan.most + step.saved;
    } else if (fits) {
      fits = false;
      const double share = static_cast<double>(std::max<std::int64_t>(limit, 0)) / static_cast<double>(step.bytes);
      plan.most = plan.most + static_cast<Ticks>(static_cast<std::int64_t>(std::ceil(share * ticks(step.saved))));
    }
  }
  return plan;
}

}  // namespace xflow::search
