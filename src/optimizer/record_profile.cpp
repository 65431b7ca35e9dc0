#include "src/optimizer/record_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/devices/caches.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/device_costs.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/devices/gpu_roofline.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/runner/runner_device.h"
#include "src/onnx/document/document.h"
#include "src/optimizer/run.h"
#include "src/optimizer/shipping.h"
#include "src/optimizer/stop_device.h"
#include "src/search/rule_rewriter.h"
#include "src/search/run_limits.h"
#include "src/validation/sized_model.h"
#include "src/validation/sizes.h"

namespace xflow::api {
namespace {

constexpr double kSecondsForRemeasuring = 10;  // per model, for timing kernels again that were timed under interference

Result<void> refuse_elsewhere(const OptimizeOptions& options) {
  if (!is_elsewhere(options)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("cannot record a profile on device '{}'; choose a local device or a runner", options.device.name));
}

Result<void> open_here(const OptimizeOptions& options, DeviceCosts& here, const std::function<std::size_t()>& bytes_of_run) {
  XFLOW_CHECK(refuse_elsewhere(options));
  XFLOW_CHECK(here.open(options, bytes_of_run));
  here.database =
      std::make_unique<cost::Database>(cost::Database::open(options.device.cost_database, here.device().info(), options.warning));
  return {};
}

// A model with the sizes at which its kernels are timed.
struct Lifted {
  std::optional<onnx_io::Document> document;
  std::unique_ptr<SizedModel> model;
  Sizes sizes;
};

Result<std::unique_ptr<Lifted>> lift(const std::string& path, const OptimizeOptions& options) {
  auto lifted = std::make_unique<Lifted>();
  XFLOW_TRY(lifted->document, onnx_io::Document::open(path, options.input.allow_external));
  OptimizeOptions at_assumed_sizes = options;
  at_assumed_sizes.input.shapes.clear();
  at_assumed_sizes.input.files.clear();
  XFLOW_TRY(lifted->model, SizedModel::lift(*lifted->document, at_assumed_sizes));
  SizedModel& model = *lifted->model;
  XFLOW_TRY(lifted->sizes, choose_fitting_sizes(model.arena(), model.model().graph, model.inputs(), {}, model.runs().inner));
  return lifted;
}

// `tell` gets the phase and the done part of the model.
Result<void> time_kernels(Lifted& lifted, const OptimizeOptions& options, const rules::VerifiedRules& rules, DeviceCosts& here,
                          const RunLimits& limits, const std::function<void(ProfilePhase, double)>& tell) {
  ir::Arena& arena = lifted.model->arena();
  const ir::Graph& graph = lifted.model->model().graph;
  cost::CostModel model(arena, here.device(), *here.database, lifted.sizes.valuation());
  model.allow_remeasuring(kSecondsForRemeasuring);
  XFLOW_CHECK(model.cost(graph));
  search::Options search_options;
  if (options.search.max_states) search_options.max_states = *options.search.max_states;
  search_options.stop = [&limits] { return limits.ends_search(); };
  const auto most = static_cast<double>(std::max<std::uint64_t>(1, search_options.max_states));
  search_options.progress = [&tell, most](const search::Progress& progress) {
    tell(ProfilePhase::searching, std::min(1.0, static_cast<double>(progress.states) / most));
  };
  tell(ProfilePhase::searching, 0);
  search::RuleRewriter rewriter(rules, {});
  XFLOW_CHECK(remeasured_search(arena, graph, model, rewriter, search_options));
  here.database->flush();
  return {};
}

cost::profile::Profile profile_of(DeviceCosts& costs) {
  cost::profile::Profile profile = cost::profile::profile_of(*costs.database, costs.device().info());
  profile.views = costs.device().views();
  if (costs.opened_gpu != nullptr) cost::add_roofline(profile, *costs.opened_gpu);
  return profile;
}

}  // namespace

Result<cost::profile::Profile> export_profile(const OptimizeOptions& options) {
  // Exports the cache state with the most timed kernels.
  std::unique_ptr<DeviceCosts> fullest;
  for (const std::size_t footprint : cost::cpu::kCacheFootprints) {
    OptimizeOptions one = options;
    if (one.device.caches == CacheState::automatic) one.device.caches = cache_state(footprint);
    auto here = std::make_unique<DeviceCosts>();
    XFLOW_CHECK(open_here(one, *here, [] { return std::size_t{0}; }));
    if (fullest == nullptr || here->database->size() > fullest->database->size()) fullest = std::move(here);
    if (fullest->cpu == nullptr || options.device.caches != CacheState::automatic) break;
  }
  if (fullest->gpu != nullptr && options.device.caches == CacheState::automatic) {
    // A GPU has one other cache state: a run whose data exceed its cache.
    auto here = std::make_unique<DeviceCosts>();
    XFLOW_CHECK(open_here(options, *here, [] { return std::numeric_limits<std::size_t>::max(); }));
    if (here->database->size() > fullest->database->size()) fullest = std::move(here);
  }
  return profile_of(*fullest);
}

Result<cost::profile::Profile> record_profile(std::span<const std::string> models, const OptimizeOptions& options,
                                              const ProfileProgressCallback& progress, Session& session) {
  XFLOW_CHECK(refuse_elsewhere(options));
  const Session::Call call(session, options);
  const RunLimits limits(options.cancel);
  // A profile has one cache state: that of the largest model.
  const auto bytes_of_largest = [&] {
    std::size_t most = 0;
    for (const std::string& path : models)
      if (const auto lifted = lift(path, options))
        most = std::max(most,
                        cost::cpu::bytes_of_run((*lifted)->model->arena(), (*lifted)->model->model().graph, (*lifted)->sizes.valuation()));
    return most;
  };
  constexpr double kForever = std::numeric_limits<double>::infinity();
  XFLOW_TRY(DeviceCosts* const here, session.open(options, bytes_of_largest, kForever));
  const StopDevice stop(here->device(), limits, nullptr);
  const auto is_cancelled = [&limits] { return limits.ends_search().has_value(); };
  const auto rules = session.rules(options, kForever, is_cancelled);
  if (!rules && !is_cancelled()) return fail(rules.error());
  std::size_t recorded = 0;
  for (std::size_t k = 0; k < models.size() && !is_cancelled(); ++k) {
    const std::string& path = models[k];
    const auto tell = [&](ProfilePhase phase, double part) {
      if (!progress) return;
      progress({phase, (static_cast<double>(k) + part) / static_cast<double>(models.size()), path, "timing the kernels of " + path});
    };
    tell(ProfilePhase::measuring, 0);
    const auto done = [&]() -> Result<void> {
      XFLOW_TRY(const std::unique_ptr<Lifted> lifted, lift(path, options));
      return time_kernels(*lifted, options, *rules, *here, limits, tell);
    }();
    if (done) {
      ++recorded;
    } else if (options.warning) {
      options.warning(fmt::format("{}; the model is skipped", done.error().text()));
    }
  }
  XFLOW_CHECK(limits.check());
  if (is_cancelled() && here->database->size() == 0) return fail(ErrorCode::limit, "cancelled");
  if (recorded == 0 && !is_cancelled()) return fail(ErrorCode::unreadable, "no model whose kernels could be timed");
  return profile_of(*here);
}

}  // namespace xflow::api
