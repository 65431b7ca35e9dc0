#include "src/eval/interpreter.h"
#include "src/eval/run.h"

namespace xflow::eval {

Result<void> run_float(const Program& program, std::vector<Source> sources, float* numbers, std::int64_t* integers) {
  return run_program(FloatingArithmetic<float>(), program, std::move(sources), numbers, integers);
}

}  // namespace xflow::eval
