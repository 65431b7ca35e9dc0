// Placements for the max load as mixed integer programs.
#pragma once

#include <optional>

#include "src/parallel/integer_program.h"
#include "src/parallel/load_search.h"
#include "src/parallel/placement_problem.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

// What a bound of a solver, as a share of a time, is reduced by: the solver's tolerance for each column,
// and a millionth for rounding in its arithmetic.
constexpr double program_margin(std::size_t columns) { return 1e-6 + kSolverTolerance * static_cast<double>(columns); }

// Columns and rows for the groups and tensors of one accelerator.
struct DeviceColumns {
  std::vector<std::uint32_t> of_group;   // 1 if the accelerator has the group
  std::vector<std::uint32_t> of_tensor;  // 1 if it has some groups of the tensor, but not all
};
// Adds them to a program, with the rows that say which tensors are divided, and the memory if it matters. No
// group that alone takes longer than `limit` is on the accelerator, and no tensor that does is divided.
DeviceColumns add_accelerator(const PlacementProblem& problem, double limit, std::span<const std::uint32_t> priorities,
                              IntegerProgram& program);
// The load of the accelerator, as a share of `unit`.
ProgramRow load_row(const PlacementProblem& problem, const DeviceColumns& columns, double unit);
// 0 for the group with the largest weight, 1 for the next, and so on.
std::vector<std::uint32_t> priorities_of(std::span<const double> weights);

// What is known after a program was solved.
struct SolvedPlacement {
  bool complete = false;  // no placement is better
  double bound = 0;       // proved
  std::optional<GroupDevices> devices;
};

// The number of columns of the program of solve_placement().
std::size_t program_columns(const PlacementProblem& problem);

// The smallest max load T of all placements, with a column x for each group and device:
//
//   sum over devices of x[g, d] = 1          load of d <= T
//   c[t, d] >= x[g, d] - x[h, d] for groups g, h of a tensor t, which is divided at the accelerator d
//
// Accelerators are alike: the k-th heaviest group is on one of the first k, and so for CPUs. `best` is the
// start, and `lower` a bound.
SolvedPlacement solve_placement(const PlacementProblem& problem, const IntegerSolver& solver, double lower, const BestPlacement& best,
                                SearchBudget& budget);

}  // namespace xflow::parallel
