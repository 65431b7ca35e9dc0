// Simulated steps after a move, in full and by what changes, under the same limit of acceptance:
//
//   xflow-bench-steps MODEL... [--cluster NAME] [--proposals N] [--temperature T] [--splits [--start NAME]... [--check]]
//
// Prints a table in Markdown. From each start, a chain of proposals moves a random node to a random device.
// A proposal is accepted if the step is at most `step - T ln(u)`, u random in (0, 1]; T is a share of the first
// step. The chain is run with StepSimulator::move, and with StepSimulator::simulate under the same limit and
// without one; the results of all proposals must be equal.
//
// With --splits a proposal is one of `xflow parallelize` for training steps. The chain is run with SplitClock by
// what a proposal changes, and in full, with what it remembers of plans of operators; with --check also as a
// workload that is built and simulated in full. All have the same limit. Chains begin with data parallel and with a
// random plan, in rows of their own; --start names others, such as 'data 4 x tensor 4'.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/cost/lifted.h"
#include "bench/parallel/cluster_profile.h"
#include "bench/parallel/split_chains.h"
#include "src/cost/kernel_costs.h"
#include "src/devices/profile/profile_device.h"
#include "src/parallel/device_plan.h"
#include "src/parallel/model_workload.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/step_simulator.h"

namespace xflow::bench {
namespace {

using parallel::DeviceCluster;
using parallel::StepSimulator;
using parallel::Workload;
using Devices = std::vector<std::uint32_t>;

struct Settings {
  std::vector<std::string> models;
  std::string cluster = "flexflow-k80";
  std::uint64_t proposals = 20'000;
  double temperature = 0.0005;
  std::uint64_t seed = 1;
  bool splits = false;
  std::vector<std::string> starts = SplitSettings().starts;
  bool checks = false;
};

double seconds_of(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Result<Workload> workload_of_file(const std::string& path, const DeviceCluster& cluster) {
  XFLOW_TRY(const auto lifted, lift(path));
  cost::profile::ProfileDevice device(profile_of(cluster));
  cost::Database database = cost::Database::open({}, device.info());
  cost::KernelCosts costs(device, database);
  const std::vector<cost::KernelCosts*> all(cluster.size(), &costs);
  XFLOW_TRY(auto model, parallel::workload_of(*lifted->document, lifted->model, lifted->arena, lifted->sizes->valuation(), all));
  if (!model.estimated.empty()) return fail(ErrorCode::unsupported, model.estimated[0].reason, path);
  return std::move(model.workload);
}

// The same step for a sample on each device.
Workload copies_of(const Workload& workload, std::uint32_t copies) {
  Workload all;
  const auto nodes = static_cast<std::uint32_t>(workload.nodes.size());
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    all.nodes.insert(all.nodes.end(), workload.nodes.begin(), workload.nodes.end());
    for (parallel::WorkloadTensor tensor : workload.tensors) {
      tensor.source += copy * nodes;
      for (std::uint32_t& reader : tensor.readers) reader += copy * nodes;
      all.tensors.push_back(std::move(tensor));
    }
  }
  return all;
}

enum class Way { move, full, full_without_limit };

struct ChainRun {
  double seconds = 0;
  std::uint64_t tasks = 0;
  std::vector<std::optional<double>> results;  // the step of each proposal that was accepted
};

// A chain by itself, so that its data stay in the caches as they would in a search.
ChainRun run_chain(Way way, const Workload& workload, const DeviceCluster& cluster, const Devices& start, const Settings& settings) {
  parallel::RandomNumbers random(settings.seed);
  StepSimulator simulator(workload, cluster, start);
  Devices devices = start;
  double step = simulator.step();
  const double temperature = settings.temperature * step;
  // The first move prepares what all moves need.
  if (way == Way::move) simulator.move(0, (devices[0] + 1) % cluster.size(), 0);
  const std::uint64_t before = simulator.simulated();
  ChainRun chain;
  chain.seconds = seconds_of([&] {
    for (std::uint64_t k = 0; k < settings.proposals; ++k) {
      const std::uint32_t node = random.below(static_cast<std::uint32_t>(devices.size()));
      const std::uint32_t from = std::exchange(devices[node], (devices[node] + 1 + random.below(cluster.size() - 1)) % cluster.size());
      const double limit = step - temperature * std::log(random.unit());
      std::optional<double> result;
      if (way == Way::move)
        result = simulator.move(node, devices[node], limit);
      else
        result = way == Way::full ? simulator.simulate(devices, limit) : simulator.simulate(devices);
      if (result && *result > limit) result = std::nullopt;
      if (result)
        step = *result;
      else
        devices[node] = from;
      chain.results.push_back(result);
    }
  });
  chain.tasks = simulator.simulated() - before;
  return chain;
}

Result<void> measure_chains(const std::string& model, const DeviceCluster& cluster, const Settings& settings) {
  XFLOW_TRY(const Workload one, workload_of_file(model, cluster));
  const std::uint32_t devices = cluster.size();
  const Workload all = copies_of(one, devices);
  const auto random_devices = [&](const Workload& workload) {
    parallel::RandomNumbers random(settings.seed);
    Devices result;
    for (std::size_t k = 0; k < workload.nodes.size(); ++k) result.push_back(random.below(devices));
    return result;
  };
  Devices a_copy_each;
  for (std::size_t k = 0; k < all.nodes.size(); ++k) a_copy_each.push_back(static_cast<std::uint32_t>(k / one.nodes.size()));
  struct Start {
    const char* name;
    const Workload* workload;
    Devices devices;
  };
  const Start starts[] = {
      {"single", &one, Devices(one.nodes.size(), 0)},
      {"chain", &one, parallel::chain_plan(one, devices)},
      {"round robin", &one, parallel::round_robin_plan(one, devices)},
      {"random", &one, random_devices(one)},
      {"a sample each", &all, a_copy_each},
      {"samples, random", &all, random_devices(all)},
  };
  for (const Start& start : starts) {
    const double first = StepSimulator(*start.workload, cluster, start.devices).step();
    Settings own = settings;
    if (start.workload == &all) own.proposals = std::max<std::uint64_t>(1, settings.proposals / 20);
    const ChainRun moved = run_chain(Way::move, *start.workload, cluster, start.devices, own);
    const ChainRun full = run_chain(Way::full, *start.workload, cluster, start.devices, own);
    const ChainRun whole = run_chain(Way::full_without_limit, *start.workload, cluster, start.devices, own);
    if (moved.results != full.results || moved.results != whole.results)
      return fail(ErrorCode::internal, fmt::format("the chains from '{}' differ", start.name), model);
    const auto n = static_cast<double>(own.proposals);
    std::uint64_t accepted = 0;
    double last = first;
    for (const auto& result : moved.results) {
      accepted += result ? 1 : 0;
      last = result.value_or(last);
    }
    fmt::print("| {} | {} | {} | {} | {:.1f} % | {:.3f} | {:.3f} | {:.0f} | {:.0f} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.1f} |\n",
               std::filesystem::path(model).stem().string(), start.name, start.workload->nodes.size(), own.proposals,
               100 * static_cast<double>(accepted) / n, first * 1e3, last * 1e3, static_cast<double>(moved.tasks) / n,
               static_cast<double>(full.tasks) / n, moved.seconds / n * 1e6, full.seconds / n * 1e6, whole.seconds / n * 1e6,
               full.seconds / moved.seconds, whole.seconds / moved.seconds);
  }
  return {};
}

Result<void> measure_all(const Settings& settings) {
  const auto cluster = parallel::preset_cluster(settings.cluster);
  if (!cluster) return fail(ErrorCode::invalid_argument, "not a cluster that is built in", settings.cluster);
  if (settings.splits) {
    fmt::print(
        "| model | start | operators | proposals | accepted | first step, ms | last, ms | tasks, delta | tasks, full | delta, us | full, "
        "us | "
        "as a workload, us | full / delta | workload / delta |\n|{}\n",
        "---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    const SplitSettings own{settings.proposals, settings.temperature, settings.seed, settings.starts, settings.checks};
    for (const std::string& model : settings.models) XFLOW_CHECK(measure_splits(model, *cluster, own));
    return {};
  }
  fmt::print(
      "| model | start | nodes | proposals | accepted | first step, ms | last, ms | tasks, delta | tasks, full | delta, us | full, us | "
      "full without limit, us | full / delta | without limit / delta |\n|{}\n",
      "---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  for (const std::string& model : settings.models) XFLOW_CHECK(measure_chains(model, *cluster, settings));
  return {};
}

}  // namespace
}  // namespace xflow::bench

int main(int argc, char** argv) {
  xflow::bench::Settings settings;
  CLI::App app("Measures simulated steps after a move");
  app.add_option("MODEL", settings.models, "ONNX models")->required();
  app.add_option("--cluster", settings.cluster, "a cluster that is built in")->capture_default_str();
  app.add_option("--proposals", settings.proposals, "of each chain; a twentieth for copies of the model")->capture_default_str();
  app.add_option("--temperature", settings.temperature, "share of the first step")->capture_default_str();
  app.add_option("--seed", settings.seed, "seed of the proposals")->capture_default_str();
  app.add_flag("--splits", settings.splits, "proposals that split operators");
  app.add_option("--start", settings.starts, "with --splits: plans that chains begin with")->expected(1)->take_all()->capture_default_str();
  app.add_flag("--check", settings.checks, "with --splits: compare with the simulation of the workload as well");
  CLI11_PARSE(app, argc, argv);
  const auto measured = xflow::bench::measure_all(settings);
  if (!measured) fmt::print(stderr, "{}\n", measured.error().text());
  return measured ? 0 : 1;
}
