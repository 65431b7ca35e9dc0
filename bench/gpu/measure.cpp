#include "bench/gpu/measure.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>
#include <vector>

#include "bench/cost/lifted.h"
#include "src/cost/cost_model.h"
#include "src/cost/database.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/device_costs.h"
#include "src/eval/compare.h"
#include "src/runtime/graph_runner.h"
#include "src/runtime/median.h"
#include "src/runtime/plan.h"
#include "src/search/run_limits.h"

namespace xflow::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWarmUps = 3;

Json description(const cost::DeviceInfo& info) {
  return {{"name", info.name}, {"model", info.model}, {"library", info.library}, {"clock", info.clock}, {"threads", info.threads}};
}

// Models on the device of the options, each with seeded inputs.
class Runs {
 public:
  Result<void> open(const Lifted& lifted, const OptimizeOptions& options) {
    XFLOW_CHECK(costs_.open(options, [&] { return cost::cpu::bytes_of_run(lifted.arena, lifted.model.graph, lifted.sizes->valuation()); }));
    costs_.database = std::make_unique<cost::Database>(cost::Database::open(options.device.cost_database, costs_.device().info()));
    runner_ = costs_.device().graph_runner();
    if (runner_ == nullptr) return fail(ErrorCode::invalid_argument, "cannot run graphs on device '" + options.device.name + "'");
    return {};
  }

  const cost::DeviceInfo& info() const { return costs_.device().info(); }

  struct Covered {
    cost::Plan plan;
    cost::Cost cost;
    cost::CostStatistics statistics;
    std::map<std::string, std::size_t> refusals;
  };
  Result<Covered> cover(const Lifted& model) {
    cost::CostModel costs(model.arena, costs_.device(), *costs_.database, model.sizes->valuation());
    Covered covered;
    XFLOW_TRY(covered.cost, costs.cost(model.model.graph));
    XFLOW_TRY(const std::vector<cost::CoveredLaunch> launches, costs.launches(model.model.graph));
    for (const cost::CoveredLaunch& launch : launches)
      if (!launch.supported) ++covered.refusals[launch.supported.reason];
    covered.plan = cost::make_plan(model.arena, model.model.graph, launches, model.sizes->valuation());
    covered.statistics = costs.statistics();
    costs_.database->flush();
    return covered;
  }

  // The model has to stay where it is.
  Result<cost::ProgramId> add(Lifted& model, const cost::Plan& plan) {
    constexpr double kTogether = 3;  // programs in memory; half of it is for everything else
    const cost::Plan& kept = plans_.emplace_back(plan);
    const auto write = [&model](cost::GraphProgram& program, std::size_t) -> Result<void> {
      for (const cost::BufferId id : program.plan().inputs) {
        const ir::ValueId value = program.plan().buffer(id).value;
        const auto input = std::ranges::find(model.inputs, value, &api::NamedInput::value);
        XFLOW_CHECK(program.write(value, model.set.tensors.at(std::string(input->name))));
      }
      return {};
    };
    return runner_->add(model.arena, {{&kept, model.sizes->valuation()}}, static_cast<double>(api::machine_bytes()) / 2 / kTogether, write);
  }

  // Runs in a row that take at least so long, after some that warm up.
  Result<int> repeats_for(cost::ProgramId program, double nanoseconds) {
    XFLOW_CHECK(runner_->run(program, 0, kWarmUps));
    XFLOW_TRY(const cost::RunTimes once, runner_->run(program, 0, 1));
    return std::max(1, static_cast<int>(std::ceil(nanoseconds / std::max(once.time.count(), 1.0))));
  }

  Result<double> sample(cost::ProgramId program, int repeats) {
    XFLOW_TRY(const cost::RunTimes times, runner_->run(program, 0, repeats));
    return times.time.count();
  }

  // What it computes.
  Result<std::vector<eval::Tensor>> outputs(cost::ProgramId program, std::size_t count) {
    XFLOW_CHECK(runner_->run(program, 0, 1));
    std::vector<eval::Tensor> outputs;
    for (std::size_t k = 0; k < count; ++k) {
      XFLOW_TRY(outputs.emplace_back(), runner_->program(program, 0).read(k));
    }
    return outputs;
  }

  std::size_t memory_bytes() const { return costs_.device().peak_bytes(); }

 private:
  api::DeviceCosts costs_;
  std::shared_ptr<cost::GraphRunner> runner_;
  std::deque<cost::Plan> plans_;  // of the programs
};

Result<Json> run_original(Runs& runs, cost::ProgramId original, const MeasureOptions& options) {
  XFLOW_TRY(const int repeats, runs.repeats_for(original, options.sample_ns));
  std::vector<double> samples;
  for (std::size_t k = 0; k < options.turns; ++k) {
    XFLOW_TRY(samples.emplace_back(), runs.sample(original, repeats));
  }
  return Json{{"repeats", repeats}, {"samples", samples}};
}

// Error::internal where the outputs are not those of the reference, by the rule of `xflow check`.
Result<void> compare_with_reference(Runs& runs, cost::ProgramId program, Lifted& model) {
  eval::Bindings bindings;
  for (const api::NamedInput& input : model.inputs) bindings.emplace(input.value, model.set.tensors.at(std::string(input.name)));
  XFLOW_TRY(const std::vector<eval::Tensor> found, runs.outputs(program, model.model.graph.outputs.size()));
  XFLOW_TRY(const Acceptance agrees, eval::agree_with_reference(model.arena, model.model.graph, bindings, found));
  if (!agrees) return fail(ErrorCode::internal, "it differs from the reference: " + agrees.reason);
  return {};
}

// In an order that is drawn for each turn.
Result<Json> run_interleaved(Runs& runs, cost::ProgramId original, cost::ProgramId result, const MeasureOptions& options) {
  XFLOW_TRY(const int repeats, runs.repeats_for(original, options.sample_ns));
  XFLOW_CHECK(runs.repeats_for(result, options.sample_ns));
  std::vector<double> before(options.turns);
  std::vector<double> after(options.turns);
  std::vector<double> ratios(options.turns);
  std::mt19937_64 random(1);
  for (std::size_t k = 0; k < options.turns; ++k) {
    const bool original_first = (random() & 1U) == 0;
    for (const bool is_original : {original_first, !original_first}) {
      XFLOW_TRY((is_original ? before : after)[k], runs.sample(is_original ? original : result, repeats));
    }
    ratios[k] = after[k] / before[k];
  }
  const cost::MedianInterval ratio = cost::median_interval(ratios);
  return Json{{"repeats", repeats},
              {"original", before},
              {"result", after},
              {"ratio", {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}}}};
}

Result<void> measure(Runs& runs, Lifted& model, const std::string& path, const std::string& output, const MeasureOptions& options,
                     Json& measurement) {
  XFLOW_TRY(const Runs::Covered covered, runs.cover(model));
  measurement["predicted"] = covered.cost.time.count();
  measurement["launches"] = covered.plan.launches.size();
  measurement["share_not_run"] = covered.plan.share_not_run();
  measurement["profiling"] = {{"kernels", covered.statistics.measured},
                              {"seconds", covered.statistics.measured_seconds},
                              {"cannot_run", covered.cost.unmeasured},
                              {"refusals", covered.refusals}};
  XFLOW_TRY(const cost::ProgramId original, runs.add(model, covered.plan));
  if (options.compare) {
    XFLOW_CHECK(compare_with_reference(runs, original, model));
    measurement["compared"] = true;
  }
  XFLOW_TRY(measurement["original"], run_original(runs, original, options));
  const cost::MedianInterval time = cost::median_interval(measurement["original"]["samples"].get<std::vector<double>>());
  measurement["error"] = covered.cost.time.count() / time.median - 1;
  XFLOW_TRY(const OptimizeReport report, optimize_file(path, output, options.optimize));
  measurement["report"] = Json::parse(report.to_json());
  if (report.improved) {
    XFLOW_TRY(const std::unique_ptr<Lifted> better, lift(output));
    XFLOW_TRY(const Runs::Covered better_cover, runs.cover(*better));
    XFLOW_TRY(const cost::ProgramId result, runs.add(*better, better_cover.plan));
    XFLOW_TRY(measurement["turns"], run_interleaved(runs, original, result, options));
  }
  if (runs.memory_bytes() > 0) measurement["memory_bytes"] = runs.memory_bytes();
  return {};
}

}  // namespace

Result<Json> describe_device(const OptimizeOptions& options) {
  api::DeviceCosts costs;
  XFLOW_CHECK(costs.open(options, [] { return std::size_t{0}; }));
  return description(costs.device().info());
}

Result<Json> measure_model(const std::string& path, const std::string& output, const MeasureOptions& options) {
  XFLOW_TRY(const std::unique_ptr<Lifted> model, lift(path));
  Runs runs;
  XFLOW_CHECK(runs.open(*model, options.optimize));
  Json measurement{{"device", description(runs.info())}};
  if (const auto measured = measure(runs, *model, path, output, options, measurement); !measured)
    measurement["failure"] = measured.error().text();
  return measurement;
}

}  // namespace xflow::bench
