// Plans large graphs by a policy of GO and by other methods in equal time, as tables in Markdown.
//
//   xflow-bench-go POLICY [--sizes N...] [--seconds S...] [--graphs N] [--cluster NAME] [--no-heads]
//
// POLICY is a file of `xflow train-policy --method go`, whose training has other graphs.
// Methods are HEFT, HEFT with the local search, intervals with the local search, GO alone, and GO in half of
// the time with the local search in the rest. Times of GO contain the plan of HEFT that it begins with.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "src/parallel/large_graphs.h"
#include "src/parallel/ordered_search.h"
#include "src/policy/go_plan.h"
#include "src/policy/go_policy_file.h"

namespace xflow {
namespace {

using Clock = std::chrono::steady_clock;

struct GoArguments {
  std::vector<std::uint32_t> sizes = {1000, 10'000};
  std::vector<double> seconds = {10};
  std::uint64_t graphs = 2;
  std::string cluster = "dgx-h100";
  std::string policy;
  bool has_no_heads = false;
};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double peak_gib() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_maxrss) / (1024 * 1024);
}

// Steps of one graph beside that of HEFT.
class GoRow {
 public:
  GoRow(const parallel::OrderedProblem& problem, const policy::GoPolicy& policy, std::uint64_t seed)
      : problem_(problem), policy_(policy), seed_(seed) {
    const Clock::time_point begin = Clock::now();
    parallel::SearchBudget budget;
    heft_ = parallel::search_ordered(problem, {parallel::OrderedMethod::heft, true, seed}, budget);
    heft_seconds_ = seconds_since(begin);
  }

  double heft() const { return heft_.step; }
  double heft_seconds() const { return heft_seconds_; }
  double searched(parallel::OrderedMethod method, double seconds) const {
    parallel::SearchBudget budget(Seconds(seconds), std::nullopt, {}, 1);
    return parallel::search_ordered(problem_, {method, true, seed_}, budget).step / heft_.step;
  }
  double improved(double seconds) const {
    parallel::SearchBudget budget(Seconds(seconds - heft_seconds_), std::nullopt, {}, 1);
    return parallel::improve_ordered(problem_, heft_.plan, true, seed_, budget).step / heft_.step;
  }
  // The share of the time that GO has; the local search has the rest.
  Result<double> planned(double seconds, double share, const policy::GoHeads& heads) const {
    const Clock::time_point begin = Clock::now();
    const double all = seconds - heft_seconds_;
    parallel::SearchBudget budget(Seconds(share * all), std::nullopt, {}, 1);
    XFLOW_TRY(const parallel::OrderedResult found, policy::plan_by_go(problem_, policy_, heft_.plan, {seed_, heads, 0}, budget));
    if (share >= 1) return found.step / heft_.step;
    parallel::SearchBudget rest(Seconds(all - seconds_since(begin)), std::nullopt, {}, 1);
    return parallel::improve_beside_intervals(problem_, found.plan, true, seed_, rest).step / heft_.step;
  }

 private:
  const parallel::OrderedProblem problem_;
  const policy::GoPolicy& policy_;
  const std::uint64_t seed_;
  parallel::OrderedResult heft_;
  double heft_seconds_ = 0;
};

Result<void> print_methods(const GoArguments& arguments, const parallel::DeviceCluster& cluster, const policy::GoPolicy& policy) {
  fmt::print("| nodes | seed | s | HEFT, ms | local | intervals | HEFT, local | GO | GO, local | peak GiB |\n");
  fmt::print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const std::uint32_t nodes : arguments.sizes) {
    for (std::uint64_t seed = 1; seed <= arguments.graphs; ++seed) {
      XFLOW_TRY(const parallel::LargeGraph graph, parallel::large_graph(nodes, seed, cluster));
      const GoRow row({graph.workload, cluster, graph.fusions}, policy, seed);
      for (const double seconds : arguments.seconds) {
        XFLOW_TRY(const double alone, row.planned(seconds, 1, {}));
        XFLOW_TRY(const double both, row.planned(seconds, 0.5, {}));
        fmt::print("| {} | {} | {} | {:.2f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.2f} |\n", nodes, seed, seconds,
                   1e3 * row.heft(), row.searched(parallel::OrderedMethod::local, seconds),
                   row.searched(parallel::OrderedMethod::intervals, seconds), row.improved(seconds), alone, both, peak_gib());
        std::fflush(stdout);
      }
    }
  }
  return {};
}

Result<void> print_passes(const GoArguments& arguments, const parallel::DeviceCluster& cluster, const policy::GoPolicy& policy) {
  fmt::print("\n| nodes | HEFT, s | one pass, s | a plan, s | peak GiB |\n|---:|---:|---:|---:|---:|\n");
  XFLOW_TRY(policy::GoNetwork network, policy::GoNetwork::of(policy.weights));
  for (const std::uint32_t nodes : arguments.sizes) {
    XFLOW_TRY(const parallel::LargeGraph graph, parallel::large_graph(nodes, 1, cluster));
    const parallel::OrderedProblem problem{graph.workload, cluster, graph.fusions};
    Clock::time_point begin = Clock::now();
    parallel::SearchBudget budget;
    const parallel::OrderedResult heft = parallel::search_ordered(problem, {parallel::OrderedMethod::heft, true, 1}, budget);
    const double heft_seconds = seconds_since(begin);
    policy::GoEpisode episode(problem, heft.plan);
    begin = Clock::now();
    const policy::GoProbabilities probabilities = policy::go_probabilities(episode.view(), network, {}, 1);
    const double pass = seconds_since(begin);
    begin = Clock::now();
    parallel::RandomNumbers random(1);
    parallel::OrderedPlan plan = heft.plan;
    std::vector<std::uint32_t> segments(episode.view().segments());
    std::iota(segments.begin(), segments.end(), 0);
    policy::apply_choices(episode.view(), policy::draw_choices(episode.view(), probabilities, segments, random), plan);
    episode.view().simulate(plan, std::numeric_limits<double>::infinity());
    fmt::print("| {} | {:.3f} | {:.3f} | {:.4f} | {:.2f} |\n", nodes, heft_seconds, pass, seconds_since(begin), peak_gib());
  }
  return {};
}

Result<void> print_heads(const GoArguments& arguments, const parallel::DeviceCluster& cluster, const policy::GoPolicy& policy) {
  fmt::print("\n| nodes | seed | s | devices | devices, order | devices, order, fusions |\n|---:|---:|---:|---:|---:|---:|\n");
  for (const std::uint32_t nodes : arguments.sizes) {
    for (std::uint64_t seed = 1; seed <= arguments.graphs; ++seed) {
      XFLOW_TRY(const parallel::LargeGraph graph, parallel::large_graph(nodes, seed, cluster));
      const GoRow row({graph.workload, cluster, graph.fusions}, policy, seed);
      const double seconds = arguments.seconds.front();
      XFLOW_TRY(const double places, row.planned(seconds, 1, {true, false, false}));
      XFLOW_TRY(const double orders, row.planned(seconds, 1, {true, true, false}));
      XFLOW_TRY(const double fusions, row.planned(seconds, 1, {true, true, true}));
      fmt::print("| {} | {} | {} | {:.3f} | {:.3f} | {:.3f} |\n", nodes, seed, seconds, places, orders, fusions);
      std::fflush(stdout);
    }
  }
  return {};
}

Result<void> run(const GoArguments& arguments) {
  XFLOW_TRY(const parallel::DeviceCluster cluster, parallel::open_cluster(arguments.cluster));
  XFLOW_TRY(const policy::GoPolicy policy, policy::read_go_policy(arguments.policy));
  XFLOW_CHECK(print_methods(arguments, cluster, policy));
  if (!arguments.has_no_heads) XFLOW_CHECK(print_heads(arguments, cluster, policy));
  return print_passes(arguments, cluster, policy);
}

int main_of(int argc, char** argv) {
  CLI::App app("Plans of large graphs by GO and by other methods, as tables in Markdown.");
  GoArguments arguments;
  app.add_option("POLICY", arguments.policy, "file of the policy")->required();
  app.add_option("--sizes", arguments.sizes, "nodes of graphs that are planned");
  app.add_option("--seconds", arguments.seconds, "of each method");
  app.add_option("--graphs", arguments.graphs, "of each size");
  app.add_option("--cluster", arguments.cluster);
  app.add_flag("--no-heads", arguments.has_no_heads, "without the table of what is planned");
  CLI11_PARSE(app, argc, argv);
  const auto done = run(arguments);
  if (done) return 0;
  fmt::print(stderr, "xflow-bench-go: {}\n", done.error().text());
  return 1;
}

}  // namespace
}  // namespace xflow

int main(int argc, char** argv) { return xflow::main_of(argc, argv); }
