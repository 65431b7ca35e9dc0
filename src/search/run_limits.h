// Limits of a whole run: time, memory and cancellation.
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/optimize.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "src/eval/evaluate.h"
#include "src/search/search.h"
#include "src/support/acceptance.h"

namespace xflow::api {

// The memory in bytes that this process can use: the machine's memory, or the limit of its control group if
// that is less. 0 if unknown.
std::uint64_t machine_bytes();
// The resident memory of this process in bytes. 0 if unknown.
std::uint64_t resident_bytes();
// Returns freed memory that the C library keeps to the operating system, if the C library supports it.
void release_freed_memory();

// The time starts when the object is made. All long-running work checks the limits; the checks are cheap.
class RunLimits {
 public:
  explicit RunLimits(const OptimizeOptions& options);
  // Without limits. The token ends the run.
  explicit RunLimits(CancellationToken cancel) : cancel_(std::move(cancel)) {}
  RunLimits() : RunLimits(CancellationToken()) {}

  double seconds() const;
  double fraction() const;             // elapsed part of the time limit, from 0 to 1; 0 without a limit
  double seconds_left() const;         // never negative; infinite without a limit
  double search_seconds_left() const;  // until the search must end; otherwise as seconds_left()
  std::uint64_t max_bytes() const { return max_bytes_; }
  // Bytes that can still be allocated; the largest number without a limit. Reads /proc, so call it only
  // before large allocations.
  std::uint64_t bytes_left() const;

  // The reason to end the search, including the timing of kernels for it; nothing if it can go on. The
  // search gets only a part of the time, so that time is left for checks and for running whole models.
  std::optional<search::StopReason> ends_search() const;
  // True if nothing more may be done except writing the results so far: the time is over, or the call is
  // stopped.
  bool is_over() const;
  // Call before whole models are run. From then on a request to finish ends these runs too.
  void begin_gate() const;
  // True if no more whole models may be run.
  bool ends_gate() const { return is_over() || was_interrupted_in_gate(); }
  // True if the request to finish came before whole models were run.
  bool was_interrupted_before_gate() const { return finished_before_gate_ == true; }
  // True if the request to finish came while whole models were run.
  bool was_interrupted_in_gate() const { return finished_before_gate_ == false && cancel_.is_finishing(); }
  // Error::limit, "cancelled", if the call is stopped.
  Result<void> check() const;
  // True if clean-ups must end: the time is over, or the call is cancelled.
  bool ends_clean_ups() const { return is_over() || cancel_.is_finishing(); }
  // Refuses, with "the time limit of 300 s is over" or "it was cancelled", if ends_clean_ups().
  Acceptance may_continue() const;

 private:
  bool memory_is_short() const;
  std::uint64_t used_bytes() const;  // releases freed memory first if usage is above half of the limit

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  CancellationToken cancel_;
  std::optional<double> max_seconds_;
  std::uint64_t max_bytes_ = 0;                       // 0: no limit
  mutable std::optional<bool> finished_before_gate_;  // nothing: the gate has not begun
  mutable std::chrono::steady_clock::time_point asked_{};
  mutable std::chrono::steady_clock::time_point released_{};
  mutable bool short_ = false;
};

// Options of an evaluation within a run: when to stop, and the size limit of a tensor.
eval::Options within(const RunLimits& limits);
// The same for clean-ups.
eval::Options within_clean_ups(const RunLimits& limits);

}  // namespace xflow::api
