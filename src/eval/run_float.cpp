#include "src/eval/program_runner.h"
#include "src/eval/run.h"

namespace xflow::eval {

Result<void> run_float(const Program& program, std::vector<Source> sources, float* numbers, std::int64_t* integers,
                       const std::function<bool()>& stop) {
  return run_program(FloatingArithmetic<float>(), program, std::move(sources), numbers, integers, stop);
}

Result<std::unique_ptr<Runner<float>>> make_float_runner(const Program& program, std::vector<Source> sources) {
  return make_runner(FloatingArithmetic<float>(), program, std::move(sources));
}

}  // namespace xflow::eval
