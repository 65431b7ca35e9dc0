#include "src/cost/cpu/cpu_executor.h"

#include <utility>

namespace xflow::cost::cpu {

ProgramId CpuExecutor::add(std::vector<Program> at_sizes) {
  programs_.push_back(std::move(at_sizes));
  return static_cast<ProgramId>(programs_.size() - 1);
}

Result<Nanoseconds> CpuExecutor::run(ProgramId id, std::size_t sizes, int repeats) {
  Program& graph = program(id, sizes);
  const bool thread_time = device_.info().threads == 1;
  Nanoseconds sum;
  for (int k = 0; k < repeats; ++k) {
    const Program::Times times = graph.run();
    sum += thread_time ? times.thread : times.wall;
  }
  return Nanoseconds{sum.value / repeats};
}

}  // namespace xflow::cost::cpu
