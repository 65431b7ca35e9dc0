#include "src/cost/cpu/cpu_executor.h"

#include <utility>

#include "src/cost/sign_test.h"

namespace xflow::cost::cpu {

Result<ProgramId> CpuExecutor::add(Make make) {
  XFLOW_TRY(std::vector<Program> at_sizes, make());
  programs_.push_back({std::move(make), std::move(at_sizes)});
  return static_cast<ProgramId>(programs_.size() - 1);
}

Result<RunTimes> CpuExecutor::run(ProgramId id, std::size_t sizes, int repeats) {
  Loaded& loaded = programs_.at(static_cast<std::size_t>(id));
  if (loaded.is_old) {
    // What there was is freed afterwards, so that its memory is not that of the new one.
    XFLOW_TRY(loaded.at_sizes, loaded.make());
    loaded.is_old = false;
  }
  Program& graph = loaded.at_sizes.at(sizes);
  if (!has_wall_clock()) {
    Nanoseconds sum;
    for (int k = 0; k < repeats; ++k) sum += graph.run().thread;
    return RunTimes{{sum.value / repeats}, std::nullopt};
  }
  // The wall clock goes on while others have a processor: a run that was interrupted is left out. Threads of OpenMP spin while they wait,
  // so that their processor time is the wall clock's once more, and noise.
  std::vector<double> wall;
  wall.reserve(static_cast<std::size_t>(repeats));
  for (int k = 0; k < repeats; ++k) wall.push_back(graph.run().wall.value);
  return RunTimes{{median_interval(wall).median}, std::nullopt};
}

void CpuExecutor::renew() {
  for (Loaded& loaded : programs_) loaded.is_old = true;
}

}  // namespace xflow::cost::cpu
