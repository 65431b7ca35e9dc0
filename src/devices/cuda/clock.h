// The clock of a GPU's processors, as NVML tells it (libnvidia-ml.so.1, which comes with the driver).
#pragma once

#include <memory>
#include <string>

namespace xflow::cost::cuda {

class Clock {
 public:
  // Of the device at this place of the bus, as the driver writes it: "0000:1b:00.0". nullptr where there is no NVML, or it does not know
  // it.
  static std::unique_ptr<Clock> open(const std::string& bus);
  Clock() = default;
  virtual ~Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // In millions of cycles a second; 0 where it cannot be read.
  virtual double megahertz() = 0;
};

}  // namespace xflow::cost::cuda
