// The end of a comparison of models: its time limit, or a request of the caller.
#pragma once

#include <xflow/cancel.h>

#include <chrono>
#include <utility>

namespace xflow::api {

class Deadline {
 public:
  Deadline(double seconds, CancellationToken cancel) : seconds_(seconds), cancel_(std::move(cancel)) {}
  bool is_over() const { return cancel_.is_finishing() || std::chrono::duration<double>(Clock::now() - start_).count() >= seconds_; }
  const CancellationToken& cancel() const { return cancel_; }
  double seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  double seconds_;
  CancellationToken cancel_;
};

}  // namespace xflow::api
