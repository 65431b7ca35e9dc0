// The solver of mixed integer programs, if this xflow has one.
#pragma once

#include <xflow/error.h>
#include <xflow/version.h>

#include <string_view>

#include "src/parallel/integer_program.h"

namespace xflow::parallel {

// To be changed with every type of integer_program.h.
constexpr std::string_view kSolverBuild = "xflow " XFLOW_VERSION ", integer programs 1";

// Loads libxflow_cbc.so, as open_plugin() does with the folder of this program or library; later calls
// return the first result. Errors: unsupported, "this xflow was built without cbc: libxflow_cbc.so was not
// found", or that it cannot be loaded or is from another build.
Result<const IntegerSolver*> integer_solver();

}  // namespace xflow::parallel

// The symbols that a solver's plugin exports: xflow_solver_build returns its build, xflow_solver the solver.
extern "C" {
using xflow_solver_build_function = const char*();
using xflow_solver_function = const xflow::parallel::IntegerSolver*();
}
