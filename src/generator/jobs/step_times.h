// How long the steps of a job took.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

namespace xflow::generator {

// Wall time in this process, in seconds; what was there from before took none.
class StepTimes {
 public:
  double enumerated = 0;
  double grouped = 0;
  double derived = 0;
  double proved = 0;

  // Since the last call, or since it was made.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> passed = now - last_;
    last_ = now;
    return passed.count();
  }
  std::string text() const {
    return fmt::format("enumerated {:.2f}\ngrouped {:.2f}\nderived {:.2f}\nproved {:.2f}\n", enumerated, grouped, derived, proved);
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace xflow::generator
