#include "src/eval/program_runner.h"
#include "src/eval/rational.h"
#include "src/eval/run.h"

namespace xflow::eval {

Result<void> run_rational(bool uninterpreted, const Program& program, std::vector<Source> sources, Exact* numbers, std::int64_t* integers) {
  return run_program(RationalArithmetic(uninterpreted), program, std::move(sources), numbers, integers);
}

}  // namespace xflow::eval
