// Times of the steps of a job.
#pragma once

#include <fmt/format.h>
#include <xflow/time.h>

#include <chrono>
#include <string>

namespace xflow::generator {

// Wall-clock times in this process. A step that an earlier call finished has time 0.
class StepTimes {
 public:
  Seconds enumerated{};
  Seconds grouped{};
  Seconds derived{};
  Seconds proved{};

  // Returns the time since the last call, or since construction.
  Seconds lap() {
    const auto now = std::chrono::steady_clock::now();
    const Seconds passed = now - last_;
    last_ = now;
    return passed;
  }
  std::string text() const {
    return fmt::format("enumerated {:.2f}\ngrouped {:.2f}\nderived {:.2f}\nproved {:.2f}\n", enumerated.count(), grouped.count(),
                       derived.count(), proved.count());
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace xflow::generator
