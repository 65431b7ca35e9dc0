// Compares the results of two models.
//
//   auto report = xflow::check_files("model.onnx", "faster.onnx");
//   if (!report) return report_error(report.error().text());
//   if (!report->equal) print(report->difference);
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/optimize.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xflow {

// The phase of a comparison.
enum class CheckPhase : std::uint8_t {
  running_a,  // A runs on a set of inputs
  running_b,  // B runs on the same set
};
// Returns the name of a phase, for people.
constexpr const char* to_string(CheckPhase phase) {
  switch (phase) {
    case CheckPhase::running_a:
      return "running A";
    case CheckPhase::running_b:
      return "running B";
  }
  return "";
}

// How far a comparison is.
struct CheckProgress {
  CheckPhase phase = CheckPhase::running_a;  // what runs now
  double fraction = 0;                       // of all runs of both models, from 0 to 1
  std::string message;                       // one line of text: "A in double, inputs 1 of 3"
};

// The options of check_files.
struct CheckOptions {
  // .npz files, .pb files and folders of .pb files. Empty: seeded inputs.
  std::vector<std::string> inputs;
  // Sizes of dynamic inputs. Empty: seeded inputs have three choices of sizes. An unknown first dimension is
  // 1, 2 and 3, any other unknown dimension 128, 64 and 32. If A accepts none of the three, they are 1
  // and 1024, then 256 for the last dimension of an input and 1 for others.
  std::vector<InputShape> shapes;
  std::uint64_t seed = 1;  // of the generated inputs
  int runs = 1;            // number of seeds for each choice of sizes
  // Shell command of a program that runs both models (docs/runner.md). Empty: xflow evaluates them.
  std::string runner;
  // As InputOptions::allow_external, for both models.
  std::vector<std::string> allow_external;
  // Wall clock of the whole call. A comparison that is not complete by then returns ErrorCode::limit.
  Seconds time_limit{300};
  // Cancels the call from another thread or a signal handler. finish() acts as the time limit: the call
  // returns the report if a difference was found or all inputs were compared by then, and ErrorCode::limit
  // otherwise. stop() returns ErrorCode::limit, "cancelled".
  CancellationToken cancel;
  // Called while the models run, from the calling thread.
  std::function<void(const CheckProgress&)> progress;
};

// The result of check_files.
struct CheckReport {
  // The comparison of one output of A and B, in the worst of all runs.
  struct Output {
    std::string name;     // of the output
    std::string type;     // "float32[1,10]"
    bool agrees = false;  // in all runs
    // Empty if it agrees. "shape [2,3] instead of [3,2]", "0.5 instead of 0.25 at [0,1] (error 0.25, allowed
    // 2.5e-06)"
    std::string reason;
    double error = 0;    // largest absolute difference of elements that are finite in both
    double allowed = 0;  // largest `error` that is accepted
    std::string inputs;  // label of the inputs of that run; empty if the output was not compared
    // The compared elements of that run, and all elements of the output. Fewer are compared only if whole
    // models take more than a check may (docs/eval.md, *Limits of a comparison*).
    std::uint64_t checked_values = 0;
    std::uint64_t values = 0;  // all elements of the output
  };
  bool equal = false;                // all outputs agree on all inputs
  std::vector<std::string> runs;     // labels of the inputs that were run
  std::vector<std::string> skipped;  // with the reason: "x: float32[2,3,64,64], seed 1: A cannot run: ..."
  std::vector<Output> outputs;       // in A's order; empty if the models differ before they are run
  std::string difference;            // one line about the worst output; empty if equal

  // A line for each run and output, then the verdict.
  XFLOW_API std::string to_text() const;
  // The same for programs, with the names of the fields.
  XFLOW_API std::string to_json() const;
};

// Compares the models in the files `a` and `b`. One of the paths may be "-", standard input.
//
// Without a runner, A runs in double and in float, and B in float. B is equal if its error against A's
// result in double is at most 4 times A's own error in float plus 1e-5 of the output's largest magnitude.
// Integers and booleans must be those that A has in double or in float, strings must be identical, and NaN
// must be where A has NaN.
//
// With a runner, A runs on the inputs and on perturbed inputs, which differ by eight units in the last
// place. B runs on the inputs. B may differ from A by 4 times the difference of A's two results, plus 1e-3
// of the output's largest magnitude (5e-2 in half precision), since a runtime may sum in another order.
//
// Models are not equal if names, order or types of inputs or outputs differ, or if B refuses sizes that A
// accepts. An input with a default keeps it unless the files of inputs give another value.
//
// Errors:
// - unreadable, io: a model, or inputs that do not fit A.
// - unsupported: without a runner "cannot execute: If at NAME; ..." (`where` is the model); a runner that
//   does not start.
// - invalid_argument: shapes.
// - limit: the time limit was reached, or the call was cancelled, before all inputs were compared, and no
//   difference was found by then; "cancelled" after CancellationToken::stop().
XFLOW_API Result<CheckReport> check_files(const std::string& a, const std::string& b, const CheckOptions& options = {});

}  // namespace xflow
