// Mixed integer linear programs, and what a solver says of one. Plain data: solvers are plugins.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace xflow::parallel {

// A factor of a row.
struct RowEntry {
  std::uint32_t column = 0;
  double factor = 0;
};

// lower <= sum of factor * column <= upper; either may be infinite.
struct ProgramRow {
  std::vector<RowEntry> entries = {};
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

struct ProgramColumn {
  double cost = 0;  // in the objective
  double lower = 0;
  double upper = 1;
  // Integer columns are branched on in this order, smallest number first; nothing: a continuous column.
  std::optional<std::uint32_t> priority = std::nullopt;
};

// The smallest sum of cost * column. Solvers have absolute tolerances, so costs, bounds and solutions
// should be about 1.
struct IntegerProgram {
  std::vector<ProgramColumn> columns;
  std::vector<ProgramRow> rows;
  std::vector<double> start;  // a solution, or empty
  // Solutions that are not below it are of no interest.
  double cutoff = std::numeric_limits<double>::infinity();
  bool first_solution = false;  // any solution below the cutoff ends the search
};

struct IntegerResult {
  // The search ended by itself: there is no solution below `bound`.
  bool complete = false;
  // No solution of the program is below it, up to kSolverTolerance for each column; minus infinity if the
  // search ended too early for one. Not above the cutoff.
  double bound = -std::numeric_limits<double>::infinity();
  std::vector<double> solution;  // the best one found, or empty
};

// Of a solver: how far a reduced cost may be from the sign that makes it prove a bound. A column whose range
// is 1 moves a bound by so much.
inline constexpr double kSolverTolerance = 1e-9;

// Takes how much work was done since the last call, in steps, and says whether to go on.
using SpendSteps = std::function<bool(std::uint64_t)>;

class IntegerSolver {
 public:
  IntegerSolver() = default;
  IntegerSolver(const IntegerSolver&) = delete;
  IntegerSolver& operator=(const IntegerSolver&) = delete;
  virtual ~IntegerSolver() = default;

  // Runs in one thread; the same program and answers of `spend` give the same result. A step is eight rows
  // of an iteration of the simplex method; a program costs a thousand besides.
  virtual IntegerResult solve(const IntegerProgram& program, const SpendSteps& spend) const = 0;
};

}  // namespace xflow::parallel
