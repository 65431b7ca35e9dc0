#include "src/devices/cpu/cpu_executor.h"

#include "src/runtime/median.h"

namespace xflow::cost::cpu {
namespace {

Unexpected stopped() { return fail(ErrorCode::limit, "time is over"); }

}  // namespace

Result<RunTimes> CpuExecutor::run(ProgramId id, std::size_t sizes, int repeats) {
  XFLOW_TRY(Program* const graph, ready(id, sizes));
  if (clock() != Clock::wall_time) {
    Nanoseconds sum{};
    for (int k = 0; k < repeats && !graph->was_stopped(); ++k) sum += graph->run().thread;
    if (graph->was_stopped()) return stopped();
    return RunTimes{sum / repeats, std::nullopt};
  }
  // The median ignores runs that were interrupted: the wall clock continues while other processes have the
  // processor. CPU time is no alternative: OpenMP threads spin while they wait, so their CPU time is the
  // wall-clock time plus noise.
  std::vector<double> wall;
  wall.reserve(static_cast<std::size_t>(repeats));
  for (int k = 0; k < repeats && !graph->was_stopped(); ++k) wall.push_back(graph->run().wall.count());
  if (graph->was_stopped()) return stopped();
  return RunTimes{Nanoseconds(median_interval(wall).median), std::nullopt};
}

Result<void> Program::run_once() {
  run();
  if (was_stopped()) return stopped();
  return {};
}

Result<Program> CpuRunner::build(ir::Arena& arena, const SizedPlan& plan, double most_bytes) {
  ProgramOptions options;
  options.most_bytes = most_bytes;
  options.most_bytes_in_setting_up = most_bytes;
  options.chosen = &chosen_;
  return Program::build(device(), arena, *plan.plan, plan.sizes, options);
}

std::shared_ptr<GraphRunner> CpuDevice::graph_runner() { return std::make_shared<CpuRunner>(*this); }

}  // namespace xflow::cost::cpu
