// What bounds a whole run: its time, its memory, and whoever cancels it.
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/optimize.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "src/eval/evaluate.h"
#include "src/search/search.h"

namespace xflow::api {

// The bytes that this process may use: the machine's memory, or what its control group allows where that is less. 0 if that is unknown.
std::uint64_t machine_bytes();
// What this process has in memory now. 0 if that is unknown.
std::uint64_t resident_bytes();
// Returns memory that was freed to the system, where the C library can keep it.
void release_freed_memory();

// Begins when it is made. Asked everywhere where work can take long; cheap to ask.
class RunLimits {
 public:
  explicit RunLimits(const OptimizeOptions& options);
  // Without any.
  RunLimits() : RunLimits(CancellationToken()) {}

  double seconds() const;
  double fraction() const;             // of the time limit, from 0 to 1; 0 without a limit
  double seconds_left() const;         // never negative; infinite without a limit
  double search_seconds_left() const;  // the same until the search ends
  std::uint64_t max_bytes() const { return max_bytes_; }
  // Bytes that may still be allocated; the largest number without a limit. Reads /proc: ask before large allocations only.
  std::uint64_t bytes_left() const;

  // Why the search ends, timing kernels for it included: a part of the time is left for checks and for running whole models.
  std::optional<search::StopReason> ends_search() const;
  // True where nothing more may be done than writing what is done: the time is over, or the call is stopped.
  bool is_over() const;
  // Whole models are going to be run: a call that finishes from now on ends this, too.
  void begin_gate() const;
  // True where whole models may not be run any more.
  bool ends_gate() const { return is_over() || was_interrupted_in_gate(); }
  // It was called upon to finish before whole models were run.
  bool was_interrupted_before_gate() const { return finished_before_gate_ == true; }
  bool was_interrupted_in_gate() const { return finished_before_gate_ == false && cancel_.is_finishing(); }
  // Error::limit, "cancelled", if the call is stopped.
  Result<void> check() const;
  // True where clean-ups end as well: the time is over, or the call is cancelled.
  bool ends_clean_ups() const { return is_over() || cancel_.is_finishing(); }
  // "the time limit of 300 s is over", "it was cancelled"; empty if neither.
  std::string why_over() const;

 private:
  explicit RunLimits(CancellationToken cancel) : cancel_(std::move(cancel)) {}
  bool memory_is_short() const;
  std::uint64_t used_bytes() const;  // without freed memory where that decides

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  CancellationToken cancel_;
  std::optional<double> max_seconds_;
  std::uint64_t max_bytes_ = 0;                       // 0: no limit
  mutable std::optional<bool> finished_before_gate_;  // nothing: no gate has begun
  mutable std::chrono::steady_clock::time_point asked_{};
  mutable std::chrono::steady_clock::time_point released_{};
  mutable bool short_ = false;
};

// What ends an evaluation within a run, and how large a tensor of it may be.
eval::Options within(const RunLimits& limits);
// The same for clean-ups.
eval::Options within_clean_ups(const RunLimits& limits);

}  // namespace xflow::api
