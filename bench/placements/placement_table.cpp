// The steps of placements of whole nodes, as rows of a table in Markdown: one device of each kind, graph
// partitioning by Scotch with and without the CPU (the baselines "Scotch" and "MinCut" of Mirhoseini et al.,
// Device Placement Optimization with Reinforcement Learning, ICML 2017), an expert's placement, list
// schedules, the local search, the policy of the method colocrl, and the search of splits.
//
//   xflow-bench-placements MODEL --cluster FILE [--training] [--shape SPEC...] [--expert PATTERN=DEVICE...]
//     [--contiguous N] [--budget SECONDS] [--threads N] [--seeds N] [--reach POLICY]
//
// An expert is a list of regular expressions for names of nodes with the number of a device; the first that
// matches counts, and other nodes follow the node before. --contiguous divides the nodes in their order into
// N ranges with as many nodes. With --reach, the only rows are those of a policy that was trained on other
// graphs (`xflow train-policy --objective step`), and of how many placements the method colocrl and the local
// search try until they have a step as short as its. Scotch is there if libscotch-dev was when the program was built.
#include <fmt/format.h>
#include <xflow/place.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/api/cluster_model.h"
#include "src/api/split_simulation.h"
#include "src/parallel/model_tasks.h"
#include "src/parallel/split_lists.h"
#include "src/parallel/split_search.h"
#include "src/policy/placement_policy.h"
#include "src/policy/policy_file.h"

#ifdef XFLOW_HAS_SCOTCH
#include <scotch/scotch.h>

#include <cstdint>
#include <cstdio>
#endif

namespace xflow {
namespace {

using parallel::SplitModel;
using parallel::SplitPlan;

struct Arguments {
  std::string model;
  std::string cluster;
  bool training = false;
  std::vector<std::string> shapes;
  std::vector<std::string> experts;
  std::uint32_t contiguous = 0;
  double budget = 60;
  std::uint64_t seeds = 1;
  std::size_t threads = 1;
  std::string reached;
};

SplitPlan plan_of(const std::vector<std::uint32_t>& devices) {
  SplitPlan plan;
  for (const std::uint32_t device : devices) plan.push_back({device, {}});
  return plan;
}

class Table {
 public:
  Table(SplitModel& model, const parallel::DeviceCluster& cluster, parallel::StepKind kind)
      : model_(model), cluster_(cluster), kind_(kind), clock_(model, cluster, kind) {
    fmt::print("| placement | step, ms | devices | placements tried | up to the best | s |\n|---|---:|---:|---:|---:|---:|\n");
  }

  void add(const std::string& name, const SplitPlan& plan, const std::string& rest = "| | | |") {
    const parallel::PlanCost cost = *clock_.cost(plan);
    std::map<std::uint32_t, int> used;
    for (const auto& op : plan) ++used[op.base];
    const std::string step = cost.missing > 0 ? "out of memory" : fmt::format("{:.1f}", cost.step * 1e3);
    fmt::print("| {} | {} | {} {}\n", name, step, used.size(), rest);
    std::fflush(stdout);
  }

  SplitModel& model() { return model_; }
  const parallel::DeviceCluster& cluster() const { return cluster_; }
  parallel::StepKind kind() const { return kind_; }

 private:
  SplitModel& model_;
  const parallel::DeviceCluster& cluster_;
  parallel::StepKind kind_;
  parallel::SplitClock clock_;
};

#ifdef XFLOW_HAS_SCOTCH
// Maps operators, weighed by their time, to devices, weighed by their speed, so that few bytes pass between
// devices. Only the first `devices` are used.
SplitPlan scotch_plan(Table& table, std::uint32_t devices) {
  SplitModel& model = table.model();
  const auto operators = static_cast<std::uint32_t>(model.operators().size());
  std::vector<std::vector<double>> seconds(operators, std::vector<double>(table.cluster().size(), 0));
  std::vector<double> of_device(devices, 0);
  double most = 0;
  for (std::uint32_t op = 0; op < operators; ++op) {
    const auto& own = model.operators()[op];
    if (own.outputs.empty()) continue;
    const auto* work = model.part(op, model.values()[own.outputs[0]].whole, std::nullopt);
    for (std::uint32_t device = 0; device < table.cluster().size() && work != nullptr; ++device) {
      const std::uint32_t source = model.source_of(device);
      seconds[op][device] = work->seconds[source] + (table.kind() == parallel::StepKind::training ? work->backward[source] : 0);
      if (device < devices) of_device[device] += seconds[op][device];
    }
    most = std::max(most, seconds[op][0]);
  }
  std::vector<std::map<std::uint32_t, double>> neighbours(operators);
  double most_bytes = 0;
  for (std::uint32_t op = 0; op < operators; ++op) {
    for (const std::uint32_t read : model.operators()[op].reads) {
      const parallel::SplitValue& value = model.values()[read];
      if (value.maker == parallel::kNoOperator || value.maker == op) continue;
      const double bytes = value.is_sized ? parallel::elements(value.whole) * value.element_bytes : 0;
      neighbours[op][value.maker] += bytes;
      neighbours[value.maker][op] += bytes;
      most_bytes = std::max(most_bytes, neighbours[op][value.maker]);
    }
  }
  constexpr double kLoads = 10'000;  // integers that Scotch can add up
  std::vector<SCOTCH_Num> begins;
  std::vector<SCOTCH_Num> ends;
  std::vector<SCOTCH_Num> loads;
  std::vector<SCOTCH_Num> edge_loads;
  for (std::uint32_t op = 0; op < operators; ++op) {
    begins.push_back(static_cast<SCOTCH_Num>(ends.size()));
    loads.push_back(1 + static_cast<SCOTCH_Num>(kLoads * seconds[op][0] / most));
    for (const auto& [other, bytes] : neighbours[op]) {
      ends.push_back(static_cast<SCOTCH_Num>(other));
      edge_loads.push_back(1 + static_cast<SCOTCH_Num>(kLoads * bytes / std::max(most_bytes, 1.0)));
    }
  }
  begins.push_back(static_cast<SCOTCH_Num>(ends.size()));
  constexpr double kSpeeds = 100;
  std::vector<SCOTCH_Num> speeds;
  const double fastest = *std::ranges::min_element(of_device);
  for (const double all : of_device) speeds.push_back(std::max<SCOTCH_Num>(1, static_cast<SCOTCH_Num>(kSpeeds * fastest / all)));
  SCOTCH_Graph graph;
  SCOTCH_Arch arch;
  SCOTCH_Strat strategy;
  SCOTCH_randomReset();
  SCOTCH_graphInit(&graph);
  SCOTCH_archInit(&arch);
  SCOTCH_stratInit(&strategy);
  std::vector<SCOTCH_Num> parts(operators, 0);
  const bool is_mapped = SCOTCH_graphBuild(&graph, 0, static_cast<SCOTCH_Num>(operators), begins.data(), nullptr, loads.data(), nullptr,
                                           static_cast<SCOTCH_Num>(ends.size()), ends.data(), edge_loads.data()) == 0 &&
                         SCOTCH_archCmpltw(&arch, static_cast<SCOTCH_Num>(devices), speeds.data()) == 0 &&
                         SCOTCH_graphMap(&graph, &arch, &strategy, parts.data()) == 0;
  SCOTCH_stratExit(&strategy);
  SCOTCH_archExit(&arch);
  SCOTCH_graphExit(&graph);
  if (!is_mapped) fmt::print(stderr, "xflow-bench-placements: Scotch failed\n");
  return plan_of({parts.begin(), parts.end()});
}

void add_scotch(Table& table) {
  const auto& devices = table.cluster().devices;
  table.add("Scotch, all devices", scotch_plan(table, table.cluster().size()));
  const auto first_kind = static_cast<std::uint32_t>(std::ranges::count(
      devices, devices[0].kind, [](const parallel::ClusterDevice& device) -> const std::string& { return device.kind; }));
  if (first_kind < table.cluster().size()) table.add("Scotch, devices of the first kind (minimum cut)", scotch_plan(table, first_kind));
}
#else
void add_scotch(Table& /*table*/) { fmt::print("| Scotch: the program was built without libscotch-dev | | | | | |\n"); }
#endif

void add_single(Table& table) {
  std::vector<std::string> kinds;
  for (std::uint32_t device = 0; device < table.cluster().size(); ++device) {
    const std::string& kind = table.cluster().devices[device].kind;
    if (std::ranges::find(kinds, kind) != kinds.end()) continue;
    kinds.push_back(kind);
    table.add("one " + kind, plan_of(std::vector<std::uint32_t>(table.model().operators().size(), device)));
  }
}

void add_expert(Table& table, const Arguments& arguments, const std::vector<std::string>& names) {
  std::vector<std::uint32_t> devices(names.size(), 0);
  if (arguments.contiguous > 0) {
    for (std::size_t op = 0; op < devices.size(); ++op)
      devices[op] = static_cast<std::uint32_t>(op * arguments.contiguous / devices.size());
    table.add("expert", plan_of(devices));
    return;
  }
  if (arguments.experts.empty()) return;
  std::vector<std::pair<std::regex, std::uint32_t>> patterns;
  for (const std::string& text : arguments.experts) {
    const std::size_t at = text.rfind('=');
    patterns.emplace_back(text.substr(0, at), static_cast<std::uint32_t>(std::stoul(text.substr(at + 1))));
  }
  for (std::size_t op = 0; op < names.size(); ++op) {
    devices[op] = op == 0 ? 0 : devices[op - 1];
    const auto found = std::ranges::find_if(patterns, [&](const auto& own) { return std::regex_search(names[op], own.first); });
    if (found != patterns.end()) devices[op] = found->second;
  }
  table.add("expert", plan_of(devices));
}

// The placements that policies begin with.
std::vector<policy::GroupPlaces> add_starts(Table& table, policy::StepEnvironment& environment) {
  std::vector<policy::GroupPlaces> starts;
  fmt::print("| groups: {} | | | | | |\n", environment.groups());
  for (std::uint32_t device : {0U, table.cluster().size() - 1}) starts.emplace_back(environment.groups(), device);
  for (const auto method : {parallel::ListMethod::heft, parallel::ListMethod::earliest, parallel::ListMethod::filled}) {
    const SplitPlan plan = parallel::list_plan(table.model(), table.cluster(), method);
    table.add(parallel::name(method), plan);
    starts.push_back(environment.places(plan));
  }
  return starts;
}

// Runs a policy until it has a step of at most `reached` seconds, and adds its row.
Result<policy::FoundPlaces> add_reaching(Table& table, policy::StepEnvironment& environment, std::span<const policy::GroupPlaces> starts,
                                         const std::string& name, policy::PlacementPolicy& own, double seconds, double reached) {
  const auto begin = std::chrono::steady_clock::now();
  const auto since_begin = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const CancellationToken cancel;
  parallel::SearchBudget budget(Seconds(seconds), std::nullopt, cancel, 1);
  XFLOW_TRY(policy::FoundPlaces found, own.place(environment, starts, budget, [&](std::uint64_t, double step) {
    if (step <= reached) cancel.finish();
  }));
  const bool is_there = found.cost.step <= reached;
  table.add(
      name, environment.plan(found.places),
      fmt::format("| {} | {} | {:.1f} |", found.samples, is_there ? std::to_string(found.best_after) : "not as short", since_begin()));
  return found;
}

Result<void> add_reached(Table& table, const Arguments& arguments) {
  policy::StepEnvironment environment(table.model(), table.cluster(), table.kind());
  const std::vector<policy::GroupPlaces> starts = add_starts(table, environment);
  XFLOW_TRY(policy::Policy trained, policy::read_policy(arguments.reached));
  const auto placeto = policy::placeto_policy(std::move(trained), 1, false);
  constexpr double kAnyStep = std::numeric_limits<double>::infinity();
  XFLOW_TRY(const policy::FoundPlaces found, add_reaching(table, environment, starts, "placeto", *placeto, arguments.budget, kAnyStep));
  for (std::uint64_t seed = 1; seed <= arguments.seeds; ++seed) {
    const auto learned = policy::sequence_policy(seed, arguments.threads);
    const auto local = policy::local_policy(seed);
    XFLOW_CHECK(
        add_reaching(table, environment, starts, fmt::format("colocrl, seed {}", seed), *learned, arguments.budget, found.cost.step));
    XFLOW_CHECK(add_reaching(table, environment, starts, fmt::format("local, seed {}", seed), *local, arguments.budget, found.cost.step));
  }
  return {};
}

Result<void> add_policies(Table& table, const Arguments& arguments) {
  policy::StepEnvironment environment(table.model(), table.cluster(), table.kind());
  const std::vector<policy::GroupPlaces> starts = add_starts(table, environment);
  for (std::uint64_t seed = 1; seed <= arguments.seeds; ++seed) {
    for (const bool is_learned : {false, true}) {
      parallel::SearchBudget budget(Seconds(arguments.budget), std::nullopt, {}, 1);
      const auto begin = std::chrono::steady_clock::now();
      XFLOW_TRY(const policy::FoundPlaces found,
                (is_learned ? policy::sequence_policy(seed, arguments.threads) : policy::local_policy(seed))
                    ->place(environment, starts, budget, {}));
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      table.add(fmt::format("{}, seed {}", is_learned ? "colocrl" : "local", seed), environment.plan(found.places),
                fmt::format("| {} | {} | {:.0f} |", found.samples, found.best_after, seconds));
    }
  }
  return {};
}

void add_splits(Table& table, const Arguments& arguments) {
  parallel::SplitSearchOptions options;
  options.kind = table.kind();
  parallel::SearchBudget budget(Seconds(arguments.budget), std::nullopt, {}, 1);
  const auto begin = std::chrono::steady_clock::now();
  const parallel::FoundSplit found = parallel::search_split(table.model(), table.cluster(), options, budget);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  table.add(fmt::format("splits, from '{}'", found.best_start), found.plan, fmt::format("| {} | | {:.0f} |", found.proposals, seconds));
}

Result<void> run(const Arguments& arguments) {
  XFLOW_TRY(const parallel::DeviceCluster cluster, parallel::open_cluster(arguments.cluster));
  std::vector<InputShape> shapes;
  for (const std::string& text : arguments.shapes) {
    XFLOW_TRY(InputShape shape, parse_input_shape(text));
    shapes.push_back(std::move(shape));
  }
  XFLOW_TRY(const auto model, api::ClusterModel::open(arguments.model, shapes, {}, cluster, {arguments.cluster, {}, {}}));
  const parallel::ModelTasks tasks = parallel::tasks_of(model->document(), model->lifted(), model->arena());
  XFLOW_TRY(const auto split, SplitModel::of(model->arena(), model->lifted().graph, api::operator_sources(model->document(), tasks),
                                             model->sizes(), model->costs()));
  std::vector<std::string> names;
  for (const onnx_io::NodeId id : tasks.nodes) names.emplace_back(model->document().node(id).name);
  Table table(*split, cluster, arguments.training ? parallel::StepKind::training : parallel::StepKind::inference);
  if (!arguments.reached.empty()) return add_reached(table, arguments);
  add_single(table);
  add_scotch(table);
  add_expert(table, arguments, names);
  XFLOW_CHECK(add_policies(table, arguments));
  add_splits(table, arguments);
  return {};
}

int main_of(int argc, char** argv) {
  CLI::App app("Steps of placements of whole nodes, as a table in Markdown.");
  Arguments arguments;
  app.add_option("MODEL", arguments.model)->required();
  app.add_option("--cluster", arguments.cluster)->required();
  app.add_flag("--training", arguments.training);
  app.add_option("--shape", arguments.shapes)->take_all();
  app.add_option("--expert", arguments.experts)->take_all();
  app.add_option("--contiguous", arguments.contiguous);
  app.add_option("--budget", arguments.budget, "seconds of each search");
  app.add_option("--threads", arguments.threads, "threads of colocrl; other methods have one");
  app.add_option("--seeds", arguments.seeds);
  app.add_option("--reach", arguments.reached);
  CLI11_PARSE(app, argc, argv);
  const auto done = run(arguments);
  if (done) return 0;
  fmt::print(stderr, "xflow-bench-placements: {}\n", done.error().text());
  return 1;
}

}  // namespace
}  // namespace xflow

int main(int argc, char** argv) { return xflow::main_of(argc, argv); }
