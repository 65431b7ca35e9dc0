#include "src/eval/interpreter.h"
#include "src/eval/run.h"

namespace xflow::eval {

Result<void> run_double(const Program& program, std::vector<Source> sources, double* numbers, std::int64_t* integers) {
  return run_program(FloatingArithmetic<double>(), program, std::move(sources), numbers, integers);
}

}  // namespace xflow::eval
