// Proves that two ONNX models compute the same, whoever made the second one. docs/verify-models.md says what
// a proof means.
//
//   auto proof = xflow::verify_files("model.onnx", "faster.onnx");
//   if (!proof) return report_error(proof.error().text());
//   print(proof->to_text());
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/input_shape.h>
#include <xflow/time.h>
#include <xflow/verify.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace xflow {

// How far a proof is.
struct VerifyModelsProgress {
  int attempt = 1;             // with rules that clean up alone, or 2: with all rules
  std::uint64_t operations{};  // of B, compared so far
  std::uint64_t all{};         // operations of B
  Seconds time{};              // since the start
  Seconds time_left{};         // until the time limit

  // One line of text.
  XFLOW_API std::string to_text() const;
};

// The options of verify_files.
struct VerifyModelsOptions {
  // Sizes of dynamic inputs for the runs that find corresponding values and refute. Proofs hold for all
  // sizes. Empty: 1 for an unknown first dimension and 128 for any other, or sizes that A accepts.
  std::vector<InputShape> shapes;
  std::uint64_t seed = 1;  // of the inputs of these runs
  // As InputOptions::allow_external, for both models.
  std::vector<std::string> allow_external;
  // Wall clock of the whole call. What is not decided by then is `timeout`.
  Seconds time_limit{60};
  // Wall clock of the proof of one part; a tenth of `time_limit` if that is less.
  Seconds part_time_limit{5};
  // Cancels the call from another thread or a signal handler. finish() acts as the time limit. stop()
  // returns ErrorCode::limit, "cancelled".
  CancellationToken cancel = {};
  // Called a few times per second while values of B are compared with those of A, from the calling thread.
  // Null: never.
  std::function<void(const VerifyModelsProgress&)> progress = {};
};

// What verify_files found.
struct ModelProof {
  // A value of B that is computed in another way than in A, and the equal value of A if there is one.
  struct Part {
    std::string value_a;                 // name of the value of A, or of the first named value after it
    std::string value_b;                 // the same for B
    std::uint64_t operations_a{};        // operations that the proof is about; 0: nothing was tried
    std::uint64_t operations_b{};        // the same for B
    Verdict verdict = Verdict::unknown;  // of the part
    std::string open;                    // unknown, timeout: the open question, in index notation
    Seconds time{};                      // wall clock
  };
  // A constant of B that was rounded otherwise than the same constant of A.
  struct Constant {
    std::string value_a;  // name of the constant of A
    std::string value_b;  // name of the constant of B
    double difference{};  // the largest difference of two elements
    double allowed{};     // the largest one that rounding explains
    double magnitude{};   // of the largest element
  };
  // What was decided of an output.
  struct Output {
    std::string name;                    // of the output
    Verdict verdict = Verdict::unknown;  // of the output
    double error{};                      // largest difference of elements in the run; 0 if there was none
    double allowed{};                    // the largest one that does not refute
  };

  // proved: for all inputs and all sizes that A accepts, over the real numbers.
  // refuted: the models differ on inputs on which both were run, or in their inputs and outputs.
  Verdict verdict = Verdict::unknown;
  std::vector<Output> outputs;      // in A's order
  std::vector<Part> parts;          // in an order in which B computes them
  std::vector<Constant> constants;  // empty: all constants that correspond are equal
  // Nodes of operators outside of ONNX that xflow does not know. They are assumed to compute the same in
  // both models if their operands and attributes are the same: "2 x com.microsoft.Foo".
  std::vector<std::string> assumed;
  std::string difference;  // refuted: one line
  std::string inputs;      // label of the inputs of the run; empty if the models were not run
  // unknown, timeout: why a run of a model with If, Loop, Scan, local functions or recurrent nodes ended
  // without results; empty if none did.
  std::string not_run;
  Seconds time{};  // wall clock of the whole call

  // Proved, and some constants differ by rounding.
  bool is_up_to_rounding() const { return verdict == Verdict::proved && !constants.empty(); }
  // A line for each part that is not proved and each output, then the verdict.
  XFLOW_API std::string to_text() const;
};

// Compares the models in the files `a` and `b`: proves that they compute the same, or refutes it by a run.
// Errors:
// - unreadable, io: a model.
// - invalid_argument: shapes, limits.
// - limit: "cancelled" after CancellationToken::stop().
XFLOW_API Result<ModelProof> verify_files(const std::string& a, const std::string& b, const VerifyModelsOptions& options = {});

}  // namespace xflow
