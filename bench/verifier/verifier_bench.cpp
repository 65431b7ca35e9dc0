// Deciding rules: the shipped ones, those that must be provable, and wrong ones; replaying the shipped records; one thread.
//
// Counters: rules; instances (choices of ranks and axes) decided; the median and the largest time of a rule in milliseconds, and the median
// over the rules of the time of one of its instances.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>

#include "src/verifier/prove_rules.h"

namespace xflow::verifier {
namespace {

void decide_folder(benchmark::State& state, const char* folder) {
  const auto rules = read_rules(std::string(XFLOW_SOURCE_DIR) + "/" + folder);
  if (!rules || rules->empty()) {
    state.SkipWithError("cannot read the rules");
    return;
  }
  std::size_t instances = 0;
  std::vector<double> milliseconds;
  for (auto _ : state) {
    instances = 0;
    milliseconds.clear();
    for (const RuleDecision& d : decide(*rules, {}, 1)) {
      instances += d.instances;
      milliseconds.push_back(static_cast<double>(d.microseconds) / 1000.0);
    }
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  state.counters["rules"] = static_cast<double>(rules->size());
  state.counters["instances"] = static_cast<double>(instances);
  state.counters["median_ms"] = milliseconds[milliseconds.size() / 2];
  state.counters["largest_ms"] = milliseconds.back();
}

double processor_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Replaying the shipped records: without search.
void replay_shipped(benchmark::State& state) {
  const std::string folder = std::string(XFLOW_SOURCE_DIR) + "/substitutions";
  const auto rules = read_rules(folder);
  const auto records = replay_records(folder, {}, 1);
  if (!rules || !records) {
    state.SkipWithError(records ? "cannot read the rules" : records.error().message.c_str());
    return;
  }
  std::vector<double> milliseconds;
  std::vector<double> each;
  for (auto _ : state) {
    milliseconds.clear();
    each.clear();
    for (std::size_t k = 0; k < rules->size(); ++k) {
      const double start = processor_milliseconds();
      if (!replay((*rules)[k], (*records)[k])) state.SkipWithError("a record was not accepted");
      milliseconds.push_back(processor_milliseconds() - start);
      each.push_back(milliseconds.back() / static_cast<double>((*records)[k].instances.size()));
    }
  }
  const auto median = [](std::vector<double>& list) {
    std::sort(list.begin(), list.end());
    return list[list.size() / 2];
  };
  state.counters["rules"] = static_cast<double>(rules->size());
  state.counters["median_ms"] = median(milliseconds);
  state.counters["median_ms_of_an_instance"] = median(each);
  state.counters["largest_ms"] = milliseconds.back();
}

BENCHMARK(replay_shipped)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decide_folder, shipped, "substitutions")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(decide_folder, must_be_provable, "tests/verifier/proved")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decide_folder, wrong, "tests/verifier/refuted")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xflow::verifier
