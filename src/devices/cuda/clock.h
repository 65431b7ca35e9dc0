// Reads the processor clock of a GPU from NVML (libnvidia-ml.so.1, which is part of the driver).
#pragma once

#include <memory>
#include <string>

namespace xflow::cost::cuda {

class Clock {
 public:
  // Opens the device at a PCI bus id in the form of the driver, "0000:1b:00.0". nullptr if NVML is missing
  // or does not know the device.
  static std::unique_ptr<Clock> open(const std::string& bus);
  Clock() = default;
  virtual ~Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // In MHz; 0 if it cannot be read.
  virtual double megahertz() = 0;
};

}  // namespace xflow::cost::cuda
