#include "src/devices/cuda/clock.h"

#include "src/devices/cuda/libraries.h"
#include "src/support/shared_library.h"

namespace xflow::cost::cuda {
namespace {

// The parts of NVML's interface that are used, because not every toolkit has its header: result 0 is
// success, a device is an opaque handle, and the clock of the processors ("SM") has number 1.
using Initialise = int();
using Find = int(const char* bus, void** device);
using Read = int(void* device, int clock, unsigned* megahertz);
constexpr int kProcessors = 1;

class NvmlClock final : public Clock {
 public:
  NvmlClock(void* device, Read* read, Initialise* shut_down) : device_(device), read_(read), shut_down_(shut_down) {}
  ~NvmlClock() override { shut_down_(); }

  double megahertz() override {
    unsigned clock = 0;
    return read_(device_, kProcessors, &clock) == 0 ? static_cast<double>(clock) : 0;
  }

 private:
  void* device_;
  Read* read_;
  Initialise* shut_down_;
};

}  // namespace

std::unique_ptr<Clock> Clock::open(const std::string& bus) {
  const auto library = SharedLibrary::open(places_of("libnvidia-ml.so.1"));
  if (!library) return nullptr;
  const auto initialise = library->function<Initialise>("nvmlInit_v2");
  const auto shut_down = library->function<Initialise>("nvmlShutdown");
  const auto find = library->function<Find>("nvmlDeviceGetHandleByPciBusId_v2");
  const auto read = library->function<Read>("nvmlDeviceGetClockInfo");
  if (!initialise || !shut_down || !find || !read || (*initialise)() != 0) return nullptr;
  void* device = nullptr;
  auto clock = (*find)(bus.c_str(), &device) == 0 ? std::make_unique<NvmlClock>(device, *read, *shut_down) : nullptr;
  if (clock == nullptr || clock->megahertz() <= 0) {
    if (clock == nullptr) (*shut_down)();
    return nullptr;
  }
  return clock;
}

}  // namespace xflow::cost::cuda
