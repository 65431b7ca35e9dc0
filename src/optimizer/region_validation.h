// Validates the result of a search: executes the rewritten regions against the regions that they replace.
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

// The message for a search that ended early: "nothing cheaper was found before the search stopped (time
// limit)".
std::string nothing_found(search::StopReason stop);

// Executes rewritten regions against the originals (see check_regions). If a region disagrees, the rewrites
// that made it are excluded, first at that place only, later everywhere, and the search must be repeated.
class RegionValidation {
 public:
  // All arguments must outlive the object. `options`: the options of the first search.
  RegionValidation(const Problem& problem, const RunInputs& runs, search::Options options, OptimizeReport& report);
  RegionValidation(const RegionValidation&) = delete;
  RegionValidation& operator=(const RegionValidation&) = delete;

  // The options of the next search.
  const search::Options& options() const { return next_; }

  // Excludes rewrites of the outcome, and prepares the options() of a search without them. `by_place`: at
  // their places only; otherwise their rules everywhere.
  void leave_out(const search::Outcome& outcome, std::span<const std::size_t> steps, bool by_place);
  // Makes the outcome the original.
  void keep_original(search::Outcome& outcome, std::string reason);

  // Returns true if the search must be repeated with the new options(). If false, either all regions of the
  // outcome agree and are in the report, or the outcome is the original, without steps, and report.reason
  // says why. Calls `checking` before regions are executed.
  bool restarts(search::Outcome& outcome, const std::function<void(const search::Outcome&)>& checking);

 private:
  // Excludes the rewrites that made disagreeing regions. Returns false if it finds none.
  bool exclude(const search::Outcome& outcome, const CheckedRegions& checked, bool by_place);
  void begin_next(const search::Outcome& outcome);
  void allow_repetition(const search::Outcome& outcome);
  bool is_excluded(std::string_view rule, std::span<const ir::ValueId> originals) const;

  const Problem& problem_;
  const RunInputs& runs_;
  OptimizeReport& report_;
  const search::Options first_;
  search::Options next_;
  double start_ = 0;
  int searches_ = 0;
  std::set<std::string, std::less<>> rules_;                          // excluded everywhere
  std::map<std::string, std::set<ir::ValueId>, std::less<>> places_;  // by rule: values at which it is excluded
};

// Executes the regions of another finalist against the original. If all agree, replaces the regions in the
// report by them. Returns false if a region disagrees or cannot be executed.
bool agrees(const Problem& problem, const RunInputs& runs, const search::Finalist& finalist, OptimizeReport& report);

}  // namespace xflow::api
