// What a search rewrote, executed against what it replaced.
#pragma once

#include <xflow/optimize.h>

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "src/optimizer/problem.h"
#include "src/search/search.h"
#include "src/validation/region_check.h"

namespace xflow::api {

// "nothing cheaper was found before the search had to end (time limit)"
std::string nothing_found(search::StopReason stop);

// Executes what was rewritten against what it replaced (see check_regions). Where a region does not agree, the rewrites that made it are
// excluded at that place, later everywhere, and the search has to be repeated.
class RegionValidation {
 public:
  // All arguments must outlive it. `options`: of the first search.
  RegionValidation(const Problem& problem, const RunInputs& runs, search::Options options, OptimizeReport& report);
  RegionValidation(const RegionValidation&) = delete;
  RegionValidation& operator=(const RegionValidation&) = delete;

  // Of the next search.
  const search::Options& options() const { return next_; }

  // Whether the search has to be repeated with other options. If not, the outcome is one all of whose regions agree, with these in the
  // report, or, without steps and with report.reason, the original. `checking` is called before regions are executed.
  bool restarts(search::Outcome& outcome, const std::function<void(const search::Outcome&)>& checking);

 private:
  // Excludes the rewrites that made regions that do not agree; false if none is found.
  bool exclude(const search::Outcome& outcome, const CheckedRegions& checked, bool by_place);
  void begin_next(const search::Outcome& outcome);
  void allow_again(const search::Outcome& outcome);
  bool is_excluded(std::string_view rule, std::span<const ir::ValueId> originals) const;
  void keep_original(search::Outcome& outcome, std::string reason);

  const Problem& problem_;
  const RunInputs& runs_;
  OptimizeReport& report_;
  const search::Options first_;
  search::Options next_;
  double start_ = 0;
  int searches_ = 0;
  std::set<std::string, std::less<>> rules_;                          // excluded everywhere
  std::map<std::string, std::set<ir::ValueId>, std::less<>> places_;  // excluded there
};

// Executes another graph that was found against the original, and puts its regions in the place of those in the report if all agree. False
// if they do not, or could not be executed.
bool agrees(const Problem& problem, const RunInputs& runs, const search::Finalist& finalist, OptimizeReport& report);

}  // namespace xflow::api
