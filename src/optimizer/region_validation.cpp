#include "src/optimizer/region_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/optimizer/remeasured_search.h"
#include "src/support/acceptance.h"
#include "src/validation/region_check.h"

namespace xflow::api {
namespace {

using ir::ValueId;

// In the first rounds a disagreeing rewrite is excluded at its place only, in later rounds the rule is
// excluded everywhere.
constexpr int kRoundsByPlace = 3;
constexpr int kMostChecks = 6;

eval::Options options_of(const Problem& problem) { return problem.limits == nullptr ? eval::Options() : within(*problem.limits); }

std::uint64_t max_bytes_of(const Problem& problem) { return problem.limits == nullptr ? 0 : problem.limits->max_bytes(); }

double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string no_steps(search::StopReason stop) {
  switch (stop) {
    case search::StopReason::time_limit:
    case search::StopReason::memory_limit:
    case search::StopReason::cancelled:
      return nothing_found(stop);
    default:
      return "no proved rule makes it cheaper";
  }
}

std::string disagreement(const CheckedRegion& region) {
  if (region.value.empty()) return "a rewritten value does not agree with the original: " + region.message;
  return fmt::format("the rewritten value '{}' does not agree with the original: {}", region.value, region.message);
}

Result<CheckedRegions> check(const Problem& problem, const RunInputs& runs, const ir::Graph& graph, const ir::ValueMap& correspondence) {
  return check_regions({problem.arena, problem.graph, graph, correspondence, problem.inputs, runs, problem.name_of, problem.fold,
                        options_of(problem), max_bytes_of(problem)});
}

}  // namespace

std::string nothing_found(search::StopReason stop) {
  return fmt::format("nothing cheaper was found before the search stopped ({})", to_string(stop));
}

RegionValidation::RegionValidation(const Problem& problem, const RunInputs& runs, search::Options options, OptimizeReport& report)
    : problem_(problem), runs_(runs), report_(report), first_(std::move(options)), next_(first_) {
  if (first_.max_seconds && !first_.seconds) next_.seconds = wall_seconds;
  start_ = next_.seconds ? next_.seconds() : 0;
}

bool RegionValidation::restarts(search::Outcome& outcome, const std::function<void(const search::Outcome&)>& checking) {
  const int round = searches_++;
  if (const auto reason = round > 0 && first_.stop ? first_.stop() : std::nullopt) outcome.stop = *reason;
  if (outcome.steps.empty()) {
    keep_original(outcome, no_steps(outcome.stop));
    return false;
  }
  checking(outcome);
  auto checked = check(problem_, runs_, outcome.best, outcome.correspondence);
  if (!checked && problem_.limits != nullptr && problem_.limits->is_over()) {
    outcome.stop = search::StopReason::time_limit;
    keep_original(outcome, "the rewritten parts were not executed: " + problem_.limits->may_continue().reason);
    return false;
  }
  if (!checked) {
    keep_original(outcome, "the rewritten parts could not be executed: " + checked.error().text());
    return false;
  }
  const bool excluded = exclude(outcome, *checked, round < kRoundsByPlace);
  const auto wrong = std::ranges::find_if(checked->regions, [](const CheckedRegion& region) { return !region.agrees; });
  if (wrong != checked->regions.end() && excluded && round < kMostChecks) {
    begin_next(outcome);
    return true;
  }
  const Acceptance acceptance = wrong == checked->regions.end() ? accepted() : refused(disagreement(*wrong));
  report_.regions.checked = std::move(checked->regions);
  report_.regions.sizes = std::move(checked->sizes);
  report_.regions.skipped_sizes = std::move(checked->skipped);
  if (!acceptance) keep_original(outcome, acceptance.reason);
  return false;
}

void RegionValidation::leave_out(const search::Outcome& outcome, std::span<const std::size_t> steps, bool by_place) {
  for (const std::size_t k : steps) {
    const search::Step& step = outcome.steps[k];
    if (by_place && !step.originals.empty()) {
      places_[step.rule].insert(step.originals.begin(), step.originals.end());
    } else {
      rules_.insert(step.rule);
    }
  }
  begin_next(outcome);
}

void RegionValidation::begin_next(const search::Outcome& outcome) {
  next_.excluded = [this](std::string_view rule, std::span<const ValueId> originals) { return is_excluded(rule, originals); };
  allow_repetition(outcome);
  if (!first_.max_seconds) return;
  const double left = *first_.max_seconds - (next_.seconds() - start_);
  next_.max_seconds = std::max(left, seconds_to_restart(outcome));
}

// Extends a search that has reached its end, so that it can be repeated without the disagreeing rewrites;
// otherwise all that it found would be lost. The extension takes at most half of the time that is left for
// checks.
void RegionValidation::allow_repetition(const search::Outcome& outcome) {
  if (!first_.stop || problem_.limits == nullptr) return;
  const double end = wall_seconds() + std::min(seconds_to_restart(outcome), problem_.limits->seconds_left() / 2);
  next_.stop = [stop = first_.stop, limits = problem_.limits, end]() -> std::optional<search::StopReason> {
    const std::optional<search::StopReason> reason = stop();
    if (!reason || *reason == search::StopReason::memory_limit || limits->is_over() || wall_seconds() >= end) return reason;
    return std::nullopt;
  };
}

bool RegionValidation::is_excluded(std::string_view rule, std::span<const ValueId> originals) const {
  if (rules_.contains(rule)) return true;
  const auto places = places_.find(rule);
  return places != places_.end() && std::ranges::any_of(originals, [&](ValueId v) { return places->second.contains(v); });
}

bool RegionValidation::exclude(const search::Outcome& outcome, const CheckedRegions& checked, bool by_place) {
  std::set<std::size_t> withdrawn;
  for (std::size_t k = 0; k < checked.regions.size(); ++k) {
    const CheckedRegion& region = checked.regions[k];
    if (region.agrees) continue;
    const std::set<ValueId> replaced(checked.replaced[k].begin(), checked.replaced[k].end());
    for (std::size_t s = 0; s < outcome.steps.size(); ++s) {
      const search::Step& step = outcome.steps[s];
      const auto here = std::ranges::find_if(step.originals, [&](ValueId v) { return replaced.contains(v); });
      if (here == step.originals.end() || !withdrawn.insert(s).second) continue;
      report_.regions.withdrawn.push_back({step.rule, problem_.place_of ? problem_.place_of(*here) : "", region.value, region.message});
      if (by_place) {
        places_[step.rule].insert(step.originals.begin(), step.originals.end());
      } else {
        rules_.insert(step.rule);
      }
    }
  }
  return !withdrawn.empty();
}

void RegionValidation::keep_original(search::Outcome& outcome, std::string reason) {
  report_.reason = std::move(reason);
  outcome.best = problem_.graph;
  outcome.after = outcome.before;
  outcome.constant_bytes_after = outcome.constant_bytes_before;
  outcome.steps.clear();
  outcome.correspondence.clear();
  outcome.others.clear();
}

bool agrees(const Problem& problem, const RunInputs& runs, const search::Finalist& finalist, OptimizeReport& report) {
  auto checked = check(problem, runs, finalist.graph, finalist.correspondence);
  if (!checked || !std::ranges::all_of(checked->regions, &CheckedRegion::agrees)) return false;
  report.regions.checked = std::move(checked->regions);
  report.regions.sizes = std::move(checked->sizes);
  report.regions.skipped_sizes = std::move(checked->skipped);
  return true;
}

}  // namespace xflow::api
