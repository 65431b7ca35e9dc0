// Compares two models: do they compute the same?
//
//   auto report = xflow::check_files("model.onnx", "faster.onnx");
//   if (!report) return report_error(report.error().text());
//   if (!report->equal) print(report->difference);
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/optimize.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xflow {

struct CheckOptions {
  std::vector<std::string> inputs;  // .npz files, .pb files and folders of these; empty: seeded inputs
  // Sizes of dynamic inputs. Without them seeded inputs come in three choices: an unknown first dimension is 1, 2, 3 and any other 128,
  // 64, 32; where A takes none of these, it is 1 and any other 1024.
  std::vector<InputShape> shapes;
  std::uint64_t seed = 1;
  int runs = 1;  // seeds for each choice of sizes
  // The program that runs both models (docs/runner.md), as a command of the shell. Empty: xflow's own evaluation.
  std::string runner;
  std::vector<std::string> allow_external;           // as InputOptions::allow_external, of both models
  Seconds time_limit{300};                           // of everything; a comparison that does not end by then says nothing: Error::limit
  std::function<void(const std::string&)> progress;  // one line, from the calling thread
};

struct CheckReport {
  // How one output of B compares with that of A, in the worst of all runs.
  struct Output {
    std::string name;
    std::string type;     // "float32[1,10]"
    bool agrees = false;  // in all runs
    std::string reason;   // where not: "shape [2,3] instead of [3,2]", "0.5 instead of 0.25 at [0,1] (error 0.25, allowed 2.5e-06)"
    double error = 0;     // the largest difference of elements that are finite in both
    double allowed = 0;   // what `error` may be
    std::string inputs;   // label of that run's inputs; empty if the output was not compared
  };
  bool equal = false;
  std::vector<std::string> runs;     // labels of the inputs that were run
  std::vector<std::string> skipped;  // "x: float32[2,3,64,64], seed 1: A cannot run: ..."
  std::vector<Output> outputs;       // in A's order; empty if the models differ before they are run
  std::string difference;            // where not equal: one line, of the worst output

  XFLOW_API std::string to_text() const;  // a line for each run and output, then the verdict
};

// Runs A in double and in float and B in float. B is equal if its error against A's result in double is at most 4 times A's own error in
// float plus 1e-5 of the output's largest magnitude; integers, booleans and strings exactly, NaN where A has NaN. With a runner A is run
// there on the inputs and again on inputs that differ by eight units in the last place, and B on the inputs: B may differ from A by 4 times
// what A differs from itself then, plus 1e-3 of the output's largest magnitude (5e-2 in half precision), as a runtime may sum in another
// order. Models with other names, order or types of inputs or outputs, or where B refuses sizes that A takes, are not equal. An input with
// a default keeps it unless the inputs' files give another value. A path "-" is standard input, for one of them. Errors: unreadable or io
// (a model, inputs that do not fit A), unsupported ("cannot execute: If at NAME; ..." without a runner, `where` is the model; a runner that
// cannot be started), invalid_argument (shapes), limit (time is over and no difference was found: models that were not compared on all
// inputs are not equal).
XFLOW_API Result<CheckReport> check_files(const std::string& a, const std::string& b, const CheckOptions& options = {});

}  // namespace xflow
