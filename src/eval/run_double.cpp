#include "src/eval/program_runner.h"
#include "src/eval/run.h"

namespace xflow::eval {

Result<void> run_double(const Program& program, std::vector<Source> sources, double* numbers, std::int64_t* integers,
                        const std::function<bool()>& stop) {
  return run_program(FloatingArithmetic<double>(), program, std::move(sources), numbers, integers, stop);
}

Result<std::unique_ptr<Runner<double>>> make_double_runner(const Program& program, std::vector<Source> sources) {
  return make_runner(FloatingArithmetic<double>(), program, std::move(sources));
}

}  // namespace xflow::eval
