#include "bench/parallel/split_chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/cost/lifted.h"
#include "bench/parallel/cluster_profile.h"
#include "src/cost/kernel_costs.h"
#include "src/devices/profile/profile_device.h"
#include "src/parallel/model_tasks.h"
#include "src/parallel/operator_groups.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/split_clock.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_proposals.h"
#include "src/parallel/split_search.h"
#include "src/parallel/split_starts.h"
#include "src/parallel/split_workload.h"
#include "src/parallel/step_simulator.h"

namespace xflow::bench {
namespace {

using parallel::DeviceCluster;
using parallel::SplitClock;
using parallel::SplitModel;
using parallel::SplitPlan;
using parallel::StepKind;

enum class Way { moves, full, workload };

struct ChainRun {
  double seconds = 0;
  std::uint64_t tasks = 0;
  std::uint64_t simulated = 0;                 // proposals
  std::vector<std::optional<double>> results;  // the step of each proposal that was accepted
  double first = 0;
};

// The step of a plan if it is at most `limit`.
std::optional<double> step_within(Way way, SplitModel& model, const DeviceCluster& cluster, SplitClock& clock, const SplitPlan& plan,
                                  double limit) {
  if (way != Way::workload) {
    const auto cost = clock.cost(plan, {0, limit});
    return cost ? std::optional(cost->step) : std::nullopt;
  }
  const parallel::SplitStep step = parallel::step_of(model, plan, cluster, StepKind::training);
  const parallel::StepSimulator simulator(step.workload, cluster, step.devices, limit);
  return simulator.is_within_limit() && simulator.step() <= limit ? std::optional(simulator.step()) : std::nullopt;
}

ChainRun run_chain(Way way, SplitModel& model, const DeviceCluster& cluster, const SplitPlan& start, const SplitSettings& settings) {
  parallel::RandomNumbers random(settings.seed);
  const std::vector<double> seconds = parallel::least_seconds(parallel::whole_seconds(model, cluster.size(), StepKind::training));
  parallel::SplitProposals proposals(model, cluster.size(), random, seconds);
  SplitClock clock(model, cluster, StepKind::training);
  ChainRun chain;
  SplitPlan now = start;
  double step = chain.first = clock.cost(now)->step;
  if (way == Way::moves) clock.keep();
  const std::uint64_t before = clock.simulated();
  const double temperature = settings.temperature * step;
  for (std::uint64_t k = 0; k < settings.proposals; ++k) {
    const double limit = step - temperature * std::log(random.unit());
    SplitPlan next = now;
    if (!proposals.propose(next) || next == now) continue;
    const auto begin = std::chrono::steady_clock::now();
    const auto result = step_within(way, model, cluster, clock, next, limit);
    if (result && way == Way::moves) clock.keep();
    chain.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++chain.simulated;
    chain.results.push_back(result);
    if (!result) continue;
    step = *result;
    now = std::move(next);
  }
  chain.tasks = clock.simulated() - before;
  return chain;
}

Result<std::vector<parallel::NamedPlan>> starts_of(SplitModel& model, const DeviceCluster& cluster, const SplitSettings& settings) {
  const std::vector<parallel::NamedPlan> known = parallel::start_plans(model, cluster.size(), StepKind::training);
  std::vector<parallel::NamedPlan> starts;
  for (const std::string& name : settings.starts) {
    const auto found = std::ranges::find(known, name, &parallel::NamedPlan::name);
    if (name == "random") {
      starts.push_back({name, parallel::random_start(model, cluster.size(), settings.seed)});
    } else if (found != known.end()) {
      starts.push_back(*found);
    } else {
      return fail(ErrorCode::invalid_argument, fmt::format("the model has no start plan '{}' on this cluster", name));
    }
  }
  return starts;
}

std::vector<parallel::OperatorSource> sources_of(const onnx_io::Document& document, const parallel::ModelTasks& tasks) {
  std::vector<parallel::OperatorSource> sources;
  sources.reserve(tasks.nodes.size());
  for (const onnx_io::NodeId id : tasks.nodes) sources.push_back({std::string(document.node(id).op_type), "", {}});
  for (const ir::NodeId id : tasks.order)
    if (const auto task = tasks.task_of.find(id); task != tasks.task_of.end()) sources[task->second].operations.push_back(id);
  return sources;
}

}  // namespace

Result<void> measure_splits(const std::string& path, const DeviceCluster& cluster, const SplitSettings& settings) {
  XFLOW_TRY(const auto lifted, lift(path));
  cost::profile::ProfileDevice device(profile_of(cluster));
  cost::Database database = cost::Database::open({}, device.info());
  cost::KernelCosts costs(device, database);
  const std::vector<cost::KernelCosts*> all(cluster.size(), &costs);
  const parallel::ModelTasks tasks = parallel::tasks_of(*lifted->document, lifted->model, lifted->arena);
  XFLOW_TRY(const auto model,
            SplitModel::of(lifted->arena, lifted->model.graph, sources_of(*lifted->document, tasks), lifted->sizes->valuation(), all));
  XFLOW_TRY(const std::vector<parallel::NamedPlan> starts, starts_of(*model, cluster, settings));
  for (const auto& [name, start] : starts) {
    // The first run also finds the parts, and is not counted.
    run_chain(Way::moves, *model, cluster, start, settings);
    const ChainRun moves = run_chain(Way::moves, *model, cluster, start, settings);
    const ChainRun full = run_chain(Way::full, *model, cluster, start, settings);
    const ChainRun workload = settings.checks ? run_chain(Way::workload, *model, cluster, start, settings) : ChainRun();
    if (moves.results != full.results || (settings.checks && moves.results != workload.results))
      return fail(ErrorCode::internal, fmt::format("the chains from '{}' differ", name), path);
    const auto n = static_cast<double>(moves.simulated);
    double last = moves.first;
    std::uint64_t accepted = 0;
    for (const auto& result : moves.results) {
      accepted += result ? 1 : 0;
      last = result.value_or(last);
    }
    fmt::print("| {} | {} | {} | {} | {:.1f} % | {:.3f} | {:.3f} | {:.0f} | {:.0f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n",
               std::filesystem::path(path).stem().string(), name, model->operators().size(), moves.simulated,
               100 * static_cast<double>(accepted) / n, moves.first * 1e3, last * 1e3, static_cast<double>(moves.tasks) / n,
               static_cast<double>(full.tasks) / n, moves.seconds / n * 1e6, full.seconds / n * 1e6, workload.seconds / n * 1e6,
               full.seconds / moves.seconds, workload.seconds / moves.seconds);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace xflow::bench
