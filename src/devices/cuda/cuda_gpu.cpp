#include "src/devices/cuda/cuda_gpu.h"

#include <fmt/format.h>
#include <xflow/report.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "src/devices/cuda/clock.h"
#include "src/devices/cuda/libraries.h"
#include "src/devices/cuda/ready.h"

namespace xflow::cost::cuda {
namespace {

using gpu::Address;

// An instantiated graph.
class CudaRecorded final : public gpu::Recorded {
 public:
  CudaRecorded(const Runtime& runtime, CUgraph graph) : runtime_(runtime), graph_(graph) {}
  ~CudaRecorded() override {
    if (executable != nullptr) runtime_.destroy_executable(executable);
    runtime_.destroy_graph(graph_);
  }
  Result<void> make() { return runtime_.check(runtime_.instantiate(&executable, graph_, 0), "make a graph of launches"); }

  CUgraphExec executable = nullptr;

 private:
  const Runtime& runtime_;
  CUgraph graph_;
};

class CudaGpu final : public gpu::Gpu {
 public:
  CudaGpu(const Driver& driver, const Runtime& runtime, const Compiler& compiler, const GpuSettings& settings)
      : driver_(driver), runtime_(runtime), compiler_(compiler), settings_(settings) {}
  ~CudaGpu() override {
    // The libraries hold memory of the context, so they are closed before it is released.
    graphs_.reset();
    products_.reset();
    for (CUevent event : events_)
      if (event != nullptr) runtime_.destroy_event(event);
    if (stream_ != nullptr) runtime_.destroy_stream(stream_);
    if (context_ != nullptr) runtime_.release_context(device_);
  }

  Result<void> start(int number) {
    if (driver_.device(&device_, number) != CUDA_SUCCESS)
      return fail(ErrorCode::unsupported, fmt::format("the CUDA driver sees no device {}", number));
    std::array<char, 256> name{};
    int major = 0;
    int minor = 0;
    int cache = 0;
    driver_.device_name(name.data(), name.size() - 1, device_);
    driver_.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_);
    driver_.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_);
    driver_.device_attribute(&cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device_);
    if (major < kLeastMajor)
      return fail(ErrorCode::unsupported,
                  fmt::format("{} has compute capability {}.{}: {}.0 is needed", name.data(), major, minor, kLeastMajor));
    kind_ = 10 * major + minor;
    cache_bytes_ = static_cast<std::size_t>(cache);
    XFLOW_CHECK(runtime_.check(runtime_.retain_context(&context_, device_), "be opened"));
    XFLOW_CHECK(runtime_.check(runtime_.set_context(context_), "be opened"));
    // A stream that synchronises with the default stream: copies may still be in progress when they return.
    XFLOW_CHECK(runtime_.check(runtime_.create_stream(&stream_, CU_STREAM_DEFAULT), "make a stream"));
    for (CUevent& event : events_) XFLOW_CHECK(runtime_.check(runtime_.create_event(&event, CU_EVENT_DEFAULT), "make an event"));
    XFLOW_TRY(products_, Products::open(settings_));
    XFLOW_TRY(graphs_, DnnGraphs::open(settings_, kind_));
    XFLOW_TRY(const std::string libraries, library_versions());
    int version = 0;
    driver_.version(&version);
    info_.name = "cuda";
    info_.model = name.data();
    info_.library = fmt::format("{}, driver for CUDA {}.{}, TF32 {}, workspace {} MiB, kernels {}", libraries, version / 1000,
                                version % 1000 / 10, settings_.tf32 ? "on" : "off", settings_.most_workspace >> 20U, kKernelVersion);
    info_.clock = to_string(xflow::Clock::device_time);
    std::array<char, 64> bus{};
    if (runtime_.bus(bus.data(), bus.size() - 1, device_) == CUDA_SUCCESS) clock_ = Clock::open(bus.data());
    return {};
  }

  const DeviceInfo& info() const override { return info_; }
  std::size_t cache_bytes() const override { return cache_bytes_; }
  Sheet sheet() const override {
    constexpr double kKilo = 1e3;
    const auto attribute = [this](CUdevice_attribute of) {
      int value = 0;
      return driver_.device_attribute(&value, of, device_) == CUDA_SUCCESS ? value : 0;
    };
    Sheet sheet;
    sheet.capability = kind_;
    sheet.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    sheet.clock = kKilo * attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    // Two transfers of the whole bus in a cycle.
    const double bus_bytes = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8.0;
    sheet.bandwidth = 2 * kKilo * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * bus_bytes;
    return sheet;
  }
  std::size_t peak_bytes() const override { return peak_; }
  Nanoseconds cycle() override {
    const double megahertz = clock_ ? clock_->megahertz() : 0;
    return Nanoseconds(megahertz > 0 ? 1e3 / megahertz : 0);
  }

  Result<std::vector<std::unique_ptr<gpu::Ready>>> prepare(const gpu::GpuKernel& kernel) override {
    XFLOW_TRY(Ways ways, ways_of(kernel));
    std::vector<std::unique_ptr<gpu::Ready>> ready;
    for (std::unique_ptr<CudaReady>& way : ways) ready.push_back(std::move(way));
    return ready;
  }

  Result<Address> allocate(std::size_t bytes) override {
    CUdeviceptr place = 0;
    const CUresult result = runtime_.allocate(&place, std::max<std::size_t>(bytes, 1));
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return fail(ErrorCode::limit, fmt::format("the GPU has no {} MiB left", bytes >> 20U));
    XFLOW_CHECK(runtime_.check(result, "allocate memory"));
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    sizes_[Address{place}] = bytes;
    return Address{place};
  }
  void release(Address address) override {
    const auto known = sizes_.find(address);
    if (known == sizes_.end()) return;
    used_ -= known->second;
    sizes_.erase(known);
    runtime_.free(static_cast<CUdeviceptr>(address));
  }
  Result<void> write(Address to, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return {};
    return runtime_.check(runtime_.write(static_cast<CUdeviceptr>(to), bytes.data(), bytes.size()), "be written to");
  }
  Result<void> read(Address from, std::span<std::byte> bytes) override {
    if (bytes.empty()) return {};
    return runtime_.check(runtime_.read(bytes.data(), static_cast<CUdeviceptr>(from), bytes.size()), "be read from");
  }

  Result<std::unique_ptr<gpu::Recorded>> record(std::span<const gpu::Launch> launches) override {
    // Libraries load code on the first launch of a kernel, which must not be captured, so each kernel is
    // launched once before.
    std::set<const gpu::Ready*> launched_before;
    for (const gpu::Launch& launch : launches)
      if (launched_before.insert(launch.kernel).second) XFLOW_CHECK(static_cast<CudaReady*>(launch.kernel)->launch(stream_, launch));
    XFLOW_CHECK(runtime_.check(runtime_.synchronize(stream_), "run a kernel"));
    XFLOW_CHECK(runtime_.check(runtime_.begin_capture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "record launches"));
    Result<void> launched;
    for (const gpu::Launch& launch : launches) {
      launched = static_cast<CudaReady*>(launch.kernel)->launch(stream_, launch);
      if (!launched) break;
    }
    CUgraph graph = nullptr;
    const CUresult ended = runtime_.end_capture(stream_, &graph);
    if (!launched || ended != CUDA_SUCCESS) {
      if (graph != nullptr) runtime_.destroy_graph(graph);
      XFLOW_CHECK(launched);
      XFLOW_CHECK(runtime_.check(ended, "record launches"));
    }
    auto recorded = std::make_unique<CudaRecorded>(runtime_, graph);
    XFLOW_CHECK(recorded->make());
    return std::unique_ptr<gpu::Recorded>(std::move(recorded));
  }

  Result<Nanoseconds> run(gpu::Recorded& recorded, int repeats) override {
    CUgraphExec executable = static_cast<CudaRecorded&>(recorded).executable;
    XFLOW_CHECK(runtime_.check(runtime_.record_event(events_[0], stream_), "record an event"));
    for (int k = 0; k < repeats; ++k) XFLOW_CHECK(runtime_.check(runtime_.launch_graph(executable, stream_), "run launches"));
    XFLOW_CHECK(runtime_.check(runtime_.record_event(events_[1], stream_), "record an event"));
    XFLOW_CHECK(runtime_.check(runtime_.wait_for_event(events_[1]), "run a kernel"));
    float milliseconds = 0;
    XFLOW_CHECK(runtime_.check(runtime_.elapsed(&milliseconds, events_[0], events_[1]), "read its clock"));
    return Nanoseconds{static_cast<double>(milliseconds) * 1e6 / repeats};
  }

 private:
  static constexpr int kKernelVersion = 1;  // to be raised when the text of kernels changes

  Result<Ways> ways_of(const gpu::GpuKernel& kernel) {
    if (const auto* product = std::get_if<gpu::Product>(&kernel.work)) return products_->ready(*product);
    if (const auto* convolution = std::get_if<gpu::Convolution>(&kernel.work)) return graphs_->ready(*convolution);
    if (const auto* attention = std::get_if<gpu::Attention>(&kernel.work)) return graphs_->ready(*attention);
    return ready_source(runtime_, compiler_, kind_, kernel);
  }

  Driver driver_;
  Runtime runtime_;
  Compiler compiler_;
  GpuSettings settings_;
  DeviceInfo info_;
  std::unique_ptr<Clock> clock_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::array<CUevent, 2> events_{};
  int kind_ = 0;
  std::size_t cache_bytes_ = 0;
  std::unique_ptr<Products> products_;
  std::unique_ptr<DnnGraphs> graphs_;
  std::map<Address, std::size_t> sizes_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace

Result<std::unique_ptr<gpu::Gpu>> open_gpu(int number, const GpuSettings& settings) {
  XFLOW_TRY(const Driver driver, Driver::load());
  XFLOW_TRY(const Runtime runtime, Runtime::load());
  XFLOW_TRY(const Compiler compiler, Compiler::load());
  auto gpu = std::make_unique<CudaGpu>(driver, runtime, compiler, settings);
  XFLOW_CHECK(gpu->start(number));
  return std::unique_ptr<gpu::Gpu>(std::move(gpu));
}

}  // namespace xflow::cost::cuda
