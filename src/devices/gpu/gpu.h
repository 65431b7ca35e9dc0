// The interface of a GPU: its memory, kernels that are ready to launch, and launches recorded as one graph.
// The CUDA plugin implements it. The code above it does not depend on CUDA and is tested without a GPU.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "src/devices/gpu/gpu_kernels.h"
#include "src/kernels/device.h"

namespace xflow::cost::gpu {

// An address in device memory.
enum class Address : std::uint64_t {};
constexpr Address operator+(Address address, std::size_t bytes) { return Address{static_cast<std::uint64_t>(address) + bytes}; }

// The alignment of every tensor, in bytes.
constexpr std::size_t kAlignment = 256;
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// One implementation of a kernel, ready to launch. It is not bound to tensors.
class Ready {
 public:
  Ready() = default;
  virtual ~Ready() = default;
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;

  virtual std::string_view implementation() const = 0;       // for reports, such as "cublasLt 3"
  virtual std::size_t workspace_bytes() const { return 0; }  // for the exclusive use of a launch, beside its tensors
  virtual std::span<const std::size_t> scratch() const = 0;  // bytes of each tensor passed between the parts of a launch
};

struct Launch {
  Ready* kernel = nullptr;
  std::vector<Address> operands;
  std::vector<Address> results;
  std::vector<Address> scratch;
  Address workspace{};
};

// Launches that are recorded in order and started as one.
class Recorded {
 public:
  Recorded() = default;
  virtual ~Recorded() = default;
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
};

// Used by one thread at a time. Errors of the device: unsupported if another kernel may work, limit if
// memory is exhausted, io if the device is lost.
class Gpu {
 public:
  // What the driver says of the device; 0 where it says nothing.
  struct Sheet {
    int capability = 0;  // 10 times the compute capability: 80, 89, 90
    int multiprocessors = 0;
    double clock = 0;      // cycles of a multiprocessor per second
    double bandwidth = 0;  // bytes of memory per second
  };

  Gpu() = default;
  virtual ~Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  virtual const DeviceInfo& info() const = 0;
  virtual std::size_t cache_bytes() const = 0;  // of the cache shared by the whole device
  virtual Sheet sheet() const { return {}; }

  // The implementations of a kernel, at least one, the most promising first. Errors: unsupported, with the
  // reason.
  virtual Result<std::vector<std::unique_ptr<Ready>>> prepare(const GpuKernel& kernel) = 0;

  // Allocates aligned, uninitialised memory. Errors: limit, "the GPU has no 512 MiB left".
  virtual Result<Address> allocate(std::size_t bytes) = 0;
  virtual void release(Address address) = 0;
  virtual Result<void> write(Address to, std::span<const std::byte> bytes) = 0;
  virtual Result<void> read(Address from, std::span<std::byte> bytes) = 0;
  virtual std::size_t peak_bytes() const = 0;  // the most bytes that were allocated at a time

  // The current cycle time of the processors. It is longer while the device throttles because of heat. 0 if
  // unknown.
  virtual Nanoseconds cycle() { return {}; }

  virtual Result<std::unique_ptr<Recorded>> record(std::span<const Launch> launches) = 0;
  // Runs the recording `repeats` times in a row. Returns the time of one run by the clock of the device.
  virtual Result<Nanoseconds> run(Recorded& recorded, int repeats) = 0;
};

// Device memory that its destructor releases.
class Block {
 public:
  static Result<Block> allocate(Gpu& gpu, std::size_t bytes) {
    XFLOW_TRY(const Address address, gpu.allocate(bytes));
    return Block(gpu, address);
  }
  Block(Block&& other) noexcept : gpu_(std::exchange(other.gpu_, nullptr)), address_(other.address_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(address_, other.address_);
    return *this;
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    if (gpu_ != nullptr) gpu_->release(address_);
  }

  Address address() const { return address_; }

 private:
  Block(Gpu& gpu, Address address) : gpu_(&gpu), address_(address) {}

  Gpu* gpu_ = nullptr;
  Address address_{};
};

}  // namespace xflow::cost::gpu
