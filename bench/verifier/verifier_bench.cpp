// The verifier on one core. With the folder of the files that TASO and TENSAT publish:
//
//   XFLOW_TEST_PEERS=FOLDER build/release/bench/bench_verifier --benchmark_counters_tabular=true
//
// Rows decide a set of rules, replay the records of the shipped ones, find which of their guards are needed, and decide 2,000 rules with
// one change each on two cores. Counters: rules and instances (choices of ranks and axes) that were decided, how many rules were proved and
// refuted, processor seconds, milliseconds of processor time of a proof or a replay (median, an instance of it, largest), peak memory.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/verifier/mutants/mutate.h"
#include "tests/verifier/peers/translate.h"

namespace xflow::verifier {
namespace {

double processor_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// The largest memory of the process since this object was made, as Linux counts it.
class PeakMemory {
 public:
  PeakMemory() { std::ofstream("/proc/self/clear_refs") << 5; }
  double mebibytes() const {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
    return 0;
  }
};

// The times of the rules of one set.
class Times {
 public:
  void add(double milliseconds, std::size_t instances) {
    all_.push_back(milliseconds);
    each_.push_back(milliseconds / static_cast<double>(std::max<std::size_t>(1, instances)));
    sum_ += milliseconds;
  }
  double seconds() const { return sum_ / 1e3; }
  void count(benchmark::State& state) {
    if (all_.empty()) return;
    state.counters["median_ms"] = median(all_);
    state.counters["instance_ms"] = median(each_);
    state.counters["largest_ms"] = all_.back();
  }

 private:
  static double median(std::vector<double>& list) {
    std::sort(list.begin(), list.end());
    return list[list.size() / 2];
  }
  std::vector<double> all_;
  std::vector<double> each_;
  double sum_ = 0;
};

std::string in_repository(const std::string& path) { return std::string(XFLOW_SOURCE_DIR) + "/" + path; }

void decide_rules(benchmark::State& state, const std::vector<rules::Rule>& rules, const Options& options, int jobs) {
  const PeakMemory memory;
  std::vector<RuleDecision> decisions;
  for (auto _ : state) decisions = decide(rules, options, jobs);
  const auto with = [&](Verdict v) {
    return static_cast<double>(std::count_if(decisions.begin(), decisions.end(), [&](const RuleDecision& d) { return d.verdict == v; }));
  };
  Times proofs;
  double milliseconds = 0;
  double instances = 0;
  for (const RuleDecision& d : decisions) {
    const double time = static_cast<double>(d.microseconds) / 1e3;
    milliseconds += time;
    instances += static_cast<double>(d.instances);
    if (d.verdict == Verdict::proved) proofs.add(time, d.instances);
  }
  state.counters["rules"] = static_cast<double>(rules.size());
  state.counters["instances"] = instances;
  state.counters["proved"] = with(Verdict::proved);
  state.counters["refuted"] = with(Verdict::refuted);
  state.counters["cpu_s"] = milliseconds / 1e3;
  proofs.count(state);
  state.counters["peak_MiB"] = memory.mebibytes();
}

// What `xflow verify` does.
Options as_the_command() {
  Options options;
  options.refute_first = true;
  return options;
}

void decide_folder(benchmark::State& state, const char* folder) {
  const auto rules = read_rules(in_repository(folder));
  if (!rules || rules->empty()) {
    state.SkipWithError("cannot read the rules");
    return;
  }
  decide_rules(state, *rules, as_the_command(), 1);
}

// Published rules. ------------------------------------------------------------------------------------------------------------------

enum class Published : std::uint8_t { taso, taso_windows, taso_groups, tensat };

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void decide_published(benchmark::State& state, Published set) {
  const char* folder = std::getenv("XFLOW_TEST_PEERS");
  if (folder == nullptr) {
    state.SkipWithError("XFLOW_TEST_PEERS names no folder");
    return;
  }
  const std::string path = std::string(folder) + "/";
  auto published = set == Published::tensat
                       ? peers::read_tensat(text_of(path + "tensat_converted.txt"), text_of(path + "tensat_converted_multi.txt"))
                       : peers::read_taso(text_of(path + "taso_graph_subst.pb"));
  if (!published) {
    state.SkipWithError(published.error().text().c_str());
    return;
  }
  const bool windows = set == Published::taso_windows || set == Published::taso_groups;
  std::vector<rules::Rule> rules;
  for (const peers::Rule& r : *published) {
    if (windows && !peers::has_convolution(r)) continue;
    auto translated = peers::translate(r, {.window = windows, .groups = set == Published::taso_groups});
    if (!translated) {
      state.SkipWithError(translated.error().text().c_str());
      return;
    }
    rules.push_back(*std::move(translated));
  }
  decide_rules(state, rules, as_the_command(), 1);
}

// Shipped rules. --------------------------------------------------------------------------------------------------------------------

// Replaying the records: without search.
void replay_shipped(benchmark::State& state) {
  const std::string folder = in_repository("substitutions");
  const auto rules = read_rules(folder);
  const auto records = replay_records(folder, {}, 1);
  if (!rules || !records) {
    state.SkipWithError(records ? "cannot read the rules" : records.error().message.c_str());
    return;
  }
  const PeakMemory memory;
  Times times;
  double instances = 0;
  for (auto _ : state) {
    times = {};
    instances = 0;
    for (std::size_t k = 0; k < rules->size(); ++k) {
      const double start = processor_milliseconds();
      if (!replay((*rules)[k], (*records)[k])) state.SkipWithError("a record was not accepted");
      times.add(processor_milliseconds() - start, (*records)[k].instances.size());
      instances += static_cast<double>((*records)[k].instances.size());
    }
  }
  state.counters["rules"] = static_cast<double>(rules->size());
  state.counters["instances"] = instances;
  state.counters["cpu_s"] = times.seconds();
  times.count(state);
  state.counters["peak_MiB"] = memory.mebibytes();
}

// What `xflow verify` adds to replaying: which guards a proof needs.
void needed_guards_of_shipped(benchmark::State& state) {
  const auto rules = read_rules(in_repository("substitutions"));
  if (!rules) {
    state.SkipWithError("cannot read the rules");
    return;
  }
  const PeakMemory memory;
  Times times;
  for (auto _ : state) {
    times = {};
    for (const rules::Rule& rule : *rules) {
      const double start = processor_milliseconds();
      benchmark::DoNotOptimize(needed_guards(rule, {}));
      times.add(processor_milliseconds() - start, 1);
    }
  }
  state.counters["rules"] = static_cast<double>(rules->size());
  state.counters["cpu_s"] = times.seconds();
  times.count(state);
  state.counters["peak_MiB"] = memory.mebibytes();
}

// With the limits of tests/verifier/mutants_test.cpp, on two cores.
void decide_mutants(benchmark::State& state) {
  std::vector<rules::Rule> parents;
  for (const char* folder : {"substitutions", "tests/verifier/proved"}) {
    auto rules = read_rules(in_repository(folder));
    if (!rules) {
      state.SkipWithError("cannot read the rules");
      return;
    }
    for (rules::Rule& r : *rules) parents.push_back(std::move(r));
  }
  std::vector<rules::Rule> rules;
  for (mutants::Mutant& m : mutants::mutate(parents, 2000, 1)) rules.push_back(std::move(m.rule));
  Options options;
  options.z3_rlimit = 1'000'000;
  options.steps = 100'000;
  options.shrink = false;
  decide_rules(state, rules, options, 2);
}

BENCHMARK_CAPTURE(decide_published, taso, Published::taso)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(decide_published, taso_any_windows, Published::taso_windows)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(decide_published, taso_any_windows_and_groups, Published::taso_groups)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(decide_published, tensat, Published::tensat)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(replay_shipped)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decide_folder, shipped, "substitutions")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(needed_guards_of_shipped)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(decide_folder, must_be_provable, "tests/verifier/proved")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(decide_folder, wrong, "tests/verifier/refuted")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(decide_mutants)->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime();

}  // namespace
}  // namespace xflow::verifier
