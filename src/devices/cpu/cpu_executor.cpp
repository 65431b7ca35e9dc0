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
  // The wall clock goes on while others have a processor: a run that was interrupted is left out. Threads of OpenMP spin while they wait,
  // so that their processor time is the wall clock's once more, and noise.
  std::vector<double> wall;
  wall.reserve(static_cast<std::size_t>(repeats));
  for (int k = 0; k < repeats && !graph->was_stopped(); ++k) wall.push_back(graph->run().wall.count());
  if (graph->was_stopped()) return stopped();
  return RunTimes{Nanoseconds(median_interval(wall).median), std::nullopt};
}

}  // namespace xflow::cost::cpu
