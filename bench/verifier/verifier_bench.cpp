// Deciding rules: the shipped ones, those that must be provable, and wrong ones; one thread.
//
// Counters: rules; instances (choices of ranks and axes) decided; the median and the largest time of a rule in milliseconds.
#include <benchmark/benchmark.h>

#include <algorithm>

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

BENCHMARK_CAPTURE(decide_folder, shipped, "substitutions")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(decide_folder, must_be_provable, "tests/verifier/proved")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decide_folder, wrong, "tests/verifier/refuted")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xflow::verifier
