// The time limit of a comparison of models.
#pragma once

#include <chrono>

namespace xflow::api {

class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  bool is_over() const { return std::chrono::duration<double>(Clock::now() - start_).count() >= seconds_; }
  double seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  double seconds_;
};

}  // namespace xflow::api
