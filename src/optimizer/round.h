// The state of one round of an optimisation.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/devices/device_costs.h"
#include "src/optimizer/gains.h"
#include "src/optimizer/kernel_changes.h"
#include "src/optimizer/model.h"
#include "src/optimizer/region_validation.h"
#include "src/optimizer/remeasured_search.h"
#include "src/optimizer/replay.h"
#include "src/optimizer/stop_device.h"
#include "src/rules/verified_rules.h"
#include "src/search/rule_rewriter.h"
#include "src/search/search.h"
#include "src/validation/sizes.h"
#include "xflow/optimize.h"

namespace xflow::api {

// The state of one round, from `load` to `write`.
struct Round {
  Round(std::unique_ptr<Model> what, const OptimizeOptions& given) : model(std::move(what)), options(given) {}

  std::unique_ptr<Model> model;
  OptimizeOptions options;
  OptimizeReport report;
  double start = 0;  // seconds
  std::optional<Problem> problem;
  std::vector<Simplification> simplifications;
  Sizes sizes;
  std::optional<rules::VerifiedRules> loaded;
  const rules::VerifiedRules* rules = nullptr;
  DeviceCosts* costs = nullptr;
  OptimizeProgress progress;
  std::size_t measured = 0;

  // Set during the search.
  std::optional<StopDevice> stop;
  std::optional<cost::CostModel> cost_model;
  std::optional<search::RuleRewriter> rewriter;
  std::optional<RegionValidation> validation;
  std::optional<RemeasuredSearch> searching;
  search::Outcome outcome;
  FoundKernels kernels;
  std::vector<std::vector<PartGain>> gains;  // of the finalists
  int unsure_searches = 0;                   // that were repeated because a gain was not sure
  const TracedSearch* traced = nullptr;      // what is applied instead of a search; null: nothing is replayed

  bool improved = false;
  bool declares_shapes = false;
  std::vector<search::Finalist> finalists;
  std::size_t shipped = 0;
};

}  // namespace xflow::api
