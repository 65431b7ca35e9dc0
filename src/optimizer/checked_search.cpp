#include "src/optimizer/checked_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/optimizer/remeasured_search.h"
#include "src/validation/region_check.h"

namespace xflow::api {
namespace {

using ir::ValueId;

// So often only the places are excluded at which a rewrite did not agree; then a rule that does not agree is excluded everywhere.
constexpr int kRoundsByPlace = 3;
constexpr int kMostRounds = 6;

eval::Options options_of(const Problem& problem) { return problem.limits == nullptr ? eval::Options() : within(*problem.limits); }

std::uint64_t max_bytes_of(const Problem& problem) { return problem.limits == nullptr ? 0 : problem.limits->max_bytes(); }

class CheckedSearch {
 public:
  CheckedSearch(const Problem& problem, const RunInputs& runs, OptimizeReport& report) : problem_(problem), runs_(runs), report_(report) {}

  search::Outcome run(const SearchFunction& search, const search::Options& options,
                      const std::function<void(const search::Outcome&)>& checking) {
    search::Options next = options;
    next.excluded = [this](std::string_view rule, std::span<const ValueId> originals) { return is_excluded(rule, originals); };
    if (options.max_seconds && !next.seconds) next.seconds = wall_seconds;
    const double start = next.seconds ? next.seconds() : 0;
    for (int round = 0;; ++round) {
      search::Outcome outcome = search(round == 0 ? options : next);
      if (const auto reason = round > 0 && options.stop ? options.stop() : std::nullopt) outcome.stop = *reason;
      if (outcome.steps.empty()) {
        std::string reason = no_steps(outcome.stop);
        return original(std::move(outcome), std::move(reason));
      }
      checking(outcome);
      auto checked = check_regions({problem_.arena, problem_.graph, outcome.best, outcome.correspondence, problem_.inputs, runs_,
                                    problem_.name_of, problem_.fold, options_of(problem_), max_bytes_of(problem_)});
      if (!checked && problem_.limits != nullptr && problem_.limits->is_over()) {
        outcome.stop = search::StopReason::time_limit;
        return original(std::move(outcome), "the rewritten parts were not executed: " + problem_.limits->why_over());
      }
      if (!checked) return original(std::move(outcome), "the rewritten parts could not be executed: " + checked.error().text());
      const bool excluded = exclude(outcome, *checked, round < kRoundsByPlace);
      const auto wrong = std::ranges::find_if(checked->regions, [](const CheckedRegion& region) { return !region.agrees; });
      if (wrong != checked->regions.end() && excluded && round < kMostRounds) {
        allow_again(options, outcome, next);
        if (!options.max_seconds) continue;
        const double left = *options.max_seconds - (next.seconds() - start);
        next.max_seconds = std::max(left, seconds_to_restart(outcome));
        continue;
      }
      const std::string reason = wrong == checked->regions.end() ? "" : disagreement(*wrong);
      report_.regions.checked = std::move(checked->regions);
      report_.regions.sizes = std::move(checked->sizes);
      report_.regions.skipped_sizes = std::move(checked->skipped);
      if (reason.empty()) return outcome;
      return original(std::move(outcome), reason);
    }
  }

 private:
  static double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

  // A search that has to end anyway is repeated without the rewrites that did not agree, with half of the time that is left for checks at
  // most: all that it found would be lost otherwise.
  void allow_again(const search::Options& options, const search::Outcome& outcome, search::Options& next) const {
    if (!options.stop || problem_.limits == nullptr) return;
    const double end = wall_seconds() + std::min(seconds_to_restart(outcome), problem_.limits->seconds_left() / 2);
    next.stop = [stop = options.stop, limits = problem_.limits, end]() -> std::optional<search::StopReason> {
      const std::optional<search::StopReason> reason = stop();
      if (!reason || *reason == search::StopReason::memory_limit || limits->is_over() || wall_seconds() >= end) return reason;
      return std::nullopt;
    };
  }

  bool is_excluded(std::string_view rule, std::span<const ValueId> originals) const {
    if (rules_.contains(rule)) return true;
    const auto places = places_.find(rule);
    return places != places_.end() && std::ranges::any_of(originals, [&](ValueId v) { return places->second.contains(v); });
  }

  // Excludes the rewrites that made regions that do not agree; false if none is found.
  bool exclude(const search::Outcome& outcome, const CheckedRegions& checked, bool by_place) {
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

  static std::string no_steps(search::StopReason stop) {
    switch (stop) {
      case search::StopReason::time_limit:
      case search::StopReason::memory_limit:
      case search::StopReason::cancelled:
        return nothing_found(stop);
      default:
        return "no proved rule makes it cheaper";
    }
  }

  static std::string disagreement(const CheckedRegion& region) {
    if (region.value.empty()) return "a rewritten value does not agree with the original: " + region.message;
    return fmt::format("the rewritten value '{}' does not agree with the original: {}", region.value, region.message);
  }

  search::Outcome original(search::Outcome outcome, std::string reason) {
    report_.reason = std::move(reason);
    outcome.best = problem_.graph;
    outcome.after = outcome.before;
    outcome.constant_bytes_after = outcome.constant_bytes_before;
    outcome.steps.clear();
    outcome.correspondence.clear();
    outcome.others.clear();
    return outcome;
  }

  const Problem& problem_;
  const RunInputs& runs_;
  OptimizeReport& report_;
  std::set<std::string, std::less<>> rules_;
  std::map<std::string, std::set<ValueId>, std::less<>> places_;
};

}  // namespace

std::string nothing_found(search::StopReason stop) {
  return fmt::format("nothing cheaper was found before the search had to end ({})", search::name(stop));
}

search::Outcome checked_search(const Problem& problem, const RunInputs& runs, const SearchFunction& search, const search::Options& options,
                               const std::function<void(const search::Outcome&)>& checking, OptimizeReport& report) {
  return CheckedSearch(problem, runs, report).run(search, options, checking);
}

std::vector<search::Finalist> finalists(search::Outcome outcome) {
  std::vector<search::Finalist> all = std::move(outcome.others);
  all.insert(all.begin(), {std::move(outcome.best), std::move(outcome.correspondence), outcome.after, std::move(outcome.steps),
                           outcome.constant_bytes_after});
  return all;
}

std::optional<std::size_t> judge_in_turn(const Problem& problem, const RunInputs& runs, std::span<const search::Finalist> finalists,
                                         const OptimizeOptions& options, const std::function<std::string(std::size_t)>& judge,
                                         std::string& against, OptimizeReport& report) {
  against = judge(0);
  if (against.empty()) return 0;
  const OptimizeReport first = report;
  GateReport& run = report.gate;
  if (!run.run || run.comparisons.empty() || run.comparisons.back().verdict == GateVerdict::failed) return std::nullopt;
  std::vector<std::string> others;
  const auto is_over = [&] { return problem.limits != nullptr && problem.limits->ends_gate(); };
  for (std::size_t k = 1; k < finalists.size() && run.time < options.validation.max_measure_time && !is_over(); ++k) {
    if (!agrees(problem, runs, finalists[k], report)) continue;
    std::string reason = judge(k);
    if (reason.empty()) {
      run.others = std::move(others);
      run.others.insert(run.others.begin(), against);
      report.predicted.after = Nanoseconds(finalists[k].after.value);
      report.constant_bytes.after = finalists[k].constant_bytes;
      for (RuleCount& count : report.search.rules) {
        const auto applied = std::ranges::count(finalists[k].steps, count.rule, &search::Step::rule);
        count.applied = static_cast<std::uint64_t>(applied);
      }
      return k;
    }
    others.push_back(std::move(reason));
  }
  const Seconds time = run.time;
  report = first;
  run.others = std::move(others);
  run.time = time;
  return std::nullopt;
}

bool agrees(const Problem& problem, const RunInputs& runs, const search::Finalist& finalist, OptimizeReport& report) {
  auto checked = check_regions({problem.arena, problem.graph, finalist.graph, finalist.correspondence, problem.inputs, runs,
                                problem.name_of, problem.fold, options_of(problem), max_bytes_of(problem)});
  if (!checked || !std::ranges::all_of(checked->regions, &CheckedRegion::agrees)) return false;
  report.regions.checked = std::move(checked->regions);
  report.regions.sizes = std::move(checked->sizes);
  report.regions.skipped_sizes = std::move(checked->skipped);
  return true;
}

}  // namespace xflow::api
