#include <algorithm>
#include <cmath>
#include <coin/CbcCompareDepth.hpp>
#include <coin/CbcEventHandler.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglGomory.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/CglProbing.hpp>
#include <coin/ClpEventHandler.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>
#include <cstdint>
#include <exception>
#include <limits>
#include <vector>

#include "src/parallel/integer_solver.h"

namespace xflow::parallel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// To set up a program, however small.
constexpr std::uint64_t kStepsPerProgram = 1000;

// Counts the iterations of the simplex method.
class Work {
 public:
  Work(const SpendSteps& spend, std::size_t rows) : spend_(&spend), steps_per_iteration_(rows / kRowsPerStep + 1) {}

  // Takes a total; false to stop.
  bool go_on(std::int64_t iterations) {
    const std::int64_t more = std::max<std::int64_t>(iterations - counted_, 0);
    counted_ += more;
    return (*spend_)(static_cast<std::uint64_t>(more + 1) * steps_per_iteration_);
  }
  // Totals count from 0 again.
  void restart() { counted_ = 0; }

 private:
  static constexpr std::size_t kRowsPerStep = 8;

  const SpendSteps* spend_;
  std::uint64_t steps_per_iteration_;
  std::int64_t counted_ = 0;
};

// Ends the simplex method.
class IterationHandler : public ClpEventHandler {
 public:
  explicit IterationHandler(Work& work) : work_(&work) {}
  int event(Event which) override {
    constexpr int kStop = 0;
    constexpr int kGoOn = -1;
    return which != endOfFactorization || work_->go_on(model_->numberIterations()) ? kGoOn : kStop;
  }
  ClpEventHandler* clone() const override { return new IterationHandler(*this); }

 private:
  Work* work_;
};

// Ends the search after a node or a pass of cuts.
class NodeHandler : public CbcEventHandler {
 public:
  explicit NodeHandler(Work& work) : work_(&work) {}
  CbcAction event(CbcEvent which) override {
    if (which != node && which != generatedCuts) return noAction;
    return work_->go_on(getModel()->getIterationCount()) ? noAction : stop;
  }
  CbcEventHandler* clone() const override { return new NodeHandler(*this); }

 private:
  Work* work_;
};

double coin_number(double value) { return std::isinf(value) ? std::copysign(COIN_DBL_MAX, value) : value; }

void load(const IntegerProgram& program, OsiClpSolverInterface& solver) {
  std::vector<int> rows;
  std::vector<int> columns;
  std::vector<double> factors;
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  for (std::size_t k = 0; k < program.rows.size(); ++k) {
    for (const RowEntry& entry : program.rows[k].entries) {
      rows.push_back(static_cast<int>(k));
      columns.push_back(static_cast<int>(entry.column));
      factors.push_back(entry.factor);
    }
    row_lower.push_back(coin_number(program.rows[k].lower));
    row_upper.push_back(coin_number(program.rows[k].upper));
  }
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> cost;
  for (const ProgramColumn& column : program.columns) {
    lower.push_back(coin_number(column.lower));
    upper.push_back(coin_number(column.upper));
    cost.push_back(column.cost);
  }
  CoinPackedMatrix matrix(true, rows.data(), columns.data(), factors.data(), static_cast<CoinBigIndex>(factors.size()));
  matrix.setDimensions(static_cast<int>(row_lower.size()), static_cast<int>(cost.size()));
  solver.loadProblem(matrix, lower.data(), upper.data(), cost.data(), row_lower.data(), row_upper.data());
  for (std::size_t k = 0; k < program.columns.size(); ++k) {
    if (program.columns[k].priority) solver.setInteger(static_cast<int>(k));
  }
}

// The relaxation without integers. False if it was ended.
bool solve_relaxation(OsiClpSolverInterface& solver, Work& work) {
  ClpSimplex& simplex = *solver.getModelPtr();
  IterationHandler handler(work);
  simplex.passInEventHandler(&handler);
  solver.initialSolve();
  const ClpEventHandler none;
  simplex.passInEventHandler(&none);
  return simplex.status() == 0 || simplex.status() == 1;
}

void add_cuts(CbcModel& model) {
  constexpr int kWhileTheyHelp = -1;
  CglProbing probing;
  probing.setUsingObjective(1);
  probing.setMaxPass(1);
  probing.setMaxProbe(10);
  probing.setMaxLook(10);
  probing.setRowCuts(3);
  CglGomory gomory;
  gomory.setLimit(300);
  CglMixedIntegerRounding2 rounding;
  CglKnapsackCover covers;
  model.addCutGenerator(&probing, kWhileTheyHelp, "probing");
  model.addCutGenerator(&gomory, kWhileTheyHelp, "gomory");
  model.addCutGenerator(&rounding, kWhileTheyHelp, "rounding");
  model.addCutGenerator(&covers, kWhileTheyHelp, "covers");
}

void set_branching(const IntegerProgram& program, CbcModel& model) {
  std::vector<int> priorities;
  for (const ProgramColumn& column : program.columns) {
    if (column.priority) priorities.push_back(static_cast<int>(*column.priority) + 1);
  }
  model.findIntegers(false);
  model.passInPriorities(priorities.data(), false);
  for (int k = 0; k < model.numberObjects(); ++k) {
    if (auto* const object = dynamic_cast<CbcObject*>(model.modifiableObject(k))) object->setPreferredWay(1);
  }
}

IntegerResult search(const IntegerProgram& program, OsiClpSolverInterface& solver, Work& work) {
  CbcModel model(solver);
  model.setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  model.setRandomSeed(1);
  // Nothing but what ends the search, and tolerances that the bound's margin allows for.
  model.setMaximumSeconds(COIN_DBL_MAX);
  model.setCutoffIncrement(kSolverTolerance);
  model.setAllowableGap(kSolverTolerance);
  model.setAllowableFractionGap(0);
  add_cuts(model);
  set_branching(program, model);
  if (!program.start.empty()) model.setBestSolution(program.start.data(), static_cast<int>(program.start.size()), COIN_DBL_MAX, true);
  if (program.cutoff < kInfinity) model.setCutoff(program.cutoff);
  if (program.first_solution) {
    model.setMaximumSolutions(1);
    CbcCompareDepth deepest;
    model.setNodeComparison(deepest);
  }
  work.restart();
  NodeHandler handler(work);
  model.passInEventHandler(&handler);
  model.branchAndBound();
  IntegerResult result;
  constexpr int kFinished = 0;
  constexpr int kLimit = 1;
  constexpr int kEvent = 5;
  result.complete = model.status() == kFinished;
  if (const double* const best = model.bestSolution()) result.solution.assign(best, best + program.columns.size());
  const double found = result.solution.empty() ? kInfinity : model.getObjValue();
  if (result.complete) {
    result.bound = std::min(program.cutoff, found);
  } else if ((model.status() == kLimit || model.status() == kEvent) && std::abs(model.getBestPossibleObjValue()) < COIN_DBL_MAX / 2) {
    result.bound = std::min({model.getBestPossibleObjValue(), program.cutoff, found});
  }
  return result;
}

IntegerResult solve_program(const IntegerProgram& program, const SpendSteps& spend) {
  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  load(program, solver);
  solver.setDblParam(OsiDualTolerance, kSolverTolerance);
  solver.setDblParam(OsiPrimalTolerance, kSolverTolerance);
  if (!spend(kStepsPerProgram)) return {};
  Work work(spend, program.rows.size());
  if (!solve_relaxation(solver, work)) return {};
  IntegerResult relaxed;
  if (solver.isProvenPrimalInfeasible()) {
    relaxed.complete = true;
    relaxed.bound = program.cutoff;
    return relaxed;
  }
  if (!solver.isProvenOptimal()) return {};
  const bool has_integers = std::ranges::any_of(program.columns, [](const ProgramColumn& column) { return column.priority.has_value(); });
  relaxed.bound = std::min(solver.getObjValue(), program.cutoff);
  if (!has_integers) {
    relaxed.complete = true;
    relaxed.solution.assign(solver.getColSolution(), solver.getColSolution() + program.columns.size());
    return relaxed;
  }
  if (!work.go_on(0)) return relaxed;
  const IntegerResult result = search(program, solver, work);
  return result.bound >= relaxed.bound ? result : IntegerResult{result.complete, relaxed.bound, result.solution};
}

class CbcSolver : public IntegerSolver {
 public:
  // No result, which proves nothing, where Cbc throws.
  IntegerResult solve(const IntegerProgram& program, const SpendSteps& spend) const override {
    try {
      return solve_program(program, spend);
    } catch (const CoinError&) {
      return {};
    } catch (const std::exception&) {
      return {};
    }
  }
};

}  // namespace
}  // namespace xflow::parallel

extern "C" {
__attribute__((visibility("default"))) const char* xflow_solver_build() { return xflow::parallel::kSolverBuild.data(); }
__attribute__((visibility("default"))) const xflow::parallel::IntegerSolver* xflow_solver() {
  static const xflow::parallel::CbcSolver solver;
  return &solver;
}
}
