#include "src/parallel/integer_solver.h"

#include <fmt/format.h>

#include "src/support/shared_library.h"

namespace xflow::parallel {
namespace {

Result<const IntegerSolver*> load_solver() {
  XFLOW_TRY(const cost::SharedLibrary library, cost::open_plugin(cost::own_folder(), "cbc"));
  XFLOW_TRY(auto* const build, library.function<xflow_solver_build_function>("xflow_solver_build"));
  if (build() != kSolverBuild) return fail(ErrorCode::unsupported, fmt::format("libxflow_cbc.so is from another build: {}", build()));
  XFLOW_TRY(auto* const solver, library.function<xflow_solver_function>("xflow_solver"));
  return solver();
}

}  // namespace

Result<const IntegerSolver*> integer_solver() {
  static const Result<const IntegerSolver*> loaded = load_solver();
  return loaded;
}

}  // namespace xflow::parallel
