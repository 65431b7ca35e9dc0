#include "src/api/record_profile.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "src/api/engine.h"
#include "src/api/settled_search.h"
#include "src/api/sizes.h"
#include "src/cost/cover.h"
#include "src/cost/cpu/cpu_device.h"
#include "src/cost/profile/profile_device.h"
#include "src/cost/runner/runner_device.h"
#include "src/onnx/document.h"
#include "src/onnx/lift.h"
#include "src/search/rule_rewriter.h"

namespace xflow::api {
namespace {

constexpr double kSecondsForAgain = 10;  // of timing kernels again that were timed while something disturbed the machine, for each model

Result<void> open_here(const OptimizeOptions& options, DeviceCosts& here) {
  if (is_elsewhere(options))
    return fail(ErrorCode::invalid_argument, "a profile is recorded on a device that is here: cpu, or a runner; found a profile");
  XFLOW_CHECK(here.open(options));
  here.database = std::make_unique<cost::Database>(cost::Database::open(options.cost_database, here.device().info(), options.warning));
  return {};
}

Result<void> time_kernels(const std::string& path, const OptimizeOptions& options, const rules::VerifiedRules& rules, DeviceCosts& here) {
  XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(path));
  ir::Arena arena;
  XFLOW_TRY(const onnx_io::LiftedModel lifted, onnx_io::lift(document, arena));
  std::vector<NamedInput> inputs;
  inputs.reserve(lifted.inputs.size());
  for (std::size_t k = 0; k < lifted.inputs.size(); ++k) inputs.push_back({lifted.input_names[k], lifted.inputs[k]});
  XFLOW_TRY(const Sizes sizes, choose_fitting_sizes(arena, lifted.graph, inputs, {}));
  cost::CostModel model(arena, here.device(), *here.database, sizes.valuation());
  model.allow_again(kSecondsForAgain);
  XFLOW_CHECK(model.cost(lifted.graph));
  search::Options search_options;
  if (options.max_states) search_options.max_states = *options.max_states;
  search::RuleRewriter rewriter(rules, {});
  settled_search(arena, lifted.graph, model, rewriter, search_options);
  here.database->flush();
  return {};
}

}  // namespace

Result<cost::profile::Profile> export_profile(const OptimizeOptions& options) {
  DeviceCosts here;
  XFLOW_CHECK(open_here(options, here));
  return cost::profile::profile_of(*here.database, here.device().info());
}

Result<cost::profile::Profile> record_profile(std::span<const std::string> models, const OptimizeOptions& options,
                                              const std::function<void(const std::string&)>& progress) {
  DeviceCosts here;
  XFLOW_CHECK(open_here(options, here));
  XFLOW_TRY(const rules::VerifiedRules rules, load_rules(options));
  std::size_t recorded = 0;
  for (const std::string& path : models) {
    if (progress) progress(path);
    const auto done = time_kernels(path, options, rules, here);
    if (done) {
      ++recorded;
    } else if (options.warning) {
      options.warning(fmt::format("{}, which is left out", done.error().text()));
    }
  }
  if (recorded == 0) return fail(ErrorCode::unreadable, "no model whose kernels could be timed");
  return cost::profile::profile_of(*here.database, here.device().info());
}

}  // namespace xflow::api
