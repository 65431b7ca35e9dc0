#include "src/cost/cpu/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/cost/cpu/timing.h"

namespace xflow::cost::cpu {
namespace {

Nanoseconds elapsed(const Clocks& begin, const Clocks& end, bool thread_time) {
  return thread_time ? end.thread - begin.thread : end.wall - begin.wall;
}

// A convolution that keeps channels last is built so; in another layout it is the library's choice that was timed.
Layout request_for(const CpuDevice& device, const LaunchSpec& launch) {
  if (launch.spec.kernel == "reorder") return Layout::any;
  return device.chooses_layout(launch.spec) && launch.layout != Layout::channels_last ? Layout::any : launch.layout;
}

// What reading the clocks takes.
Nanoseconds clock_time(bool thread_time) {
  Nanoseconds least{1e18};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const Clocks begin = now();
    least = std::min(least, elapsed(begin, now(), thread_time));
  }
  return least;
}

Nanoseconds first_sight(Kernel& kernel, bool thread_time) {
  kernel.run();
  Nanoseconds least{1e18};
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Clocks begin = now();
    kernel.run();
    least = std::min(least, elapsed(begin, now(), thread_time));
  }
  return least;
}

double bytes_of(const ops::KernelSpec& spec) {
  double bytes = 0;
  const auto add = [&](const ops::TensorSpec& tensor) {
    double n = static_cast<double>(std::max(ir::bits(tensor.data_type), 8)) / 8;
    for (const std::int64_t d : tensor.dims) n *= static_cast<double>(d);
    bytes += n;
  };
  for (const ops::TensorSpec& tensor : all_operands(spec)) add(tensor);
  for (const ops::TensorSpec& tensor : spec.results) add(tensor);
  return bytes;
}

}  // namespace

Result<Sequence> Sequence::build(CpuDevice& device, const std::vector<LaunchSpec>& launches, double most_bytes) {
  Sequence sequence;
  sequence.thread_time_ = device.info().threads == 1;
  double bytes = 0;
  for (const LaunchSpec& launch : launches) {
    bytes += bytes_of(launch.spec);
    if (bytes > most_bytes) {
      return fail(ErrorCode::limit, fmt::format("the buffers of {} launches take more than {:.1f} GB", launches.size(), most_bytes / 1e9));
    }
    XFLOW_TRY(std::vector<std::unique_ptr<Kernel>> kernels, device.build(launch.spec, request_for(device, launch)));
    std::size_t best = 0;
    Nanoseconds least{1e18};
    for (std::size_t k = 0; kernels.size() > 1 && k < kernels.size(); ++k) {
      const Nanoseconds time = first_sight(*kernels[k], sequence.thread_time_);
      if (time < least) best = k;
      least = std::min(least, time);
    }
    Launch built{std::move(kernels[best]), {}};
    const std::vector<ops::TensorSpec> operands = all_operands(launch.spec);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      // Indices stay as they are.
      const bool floating = ir::is_floating(operands[k].data_type);
      if (!operands[k].constant && floating) built.operands.push_back(built.kernel->operand_bytes(k));
    }
    sequence.launches_.push_back(std::move(built));
  }
  return sequence;
}

std::vector<Nanoseconds> Sequence::run() {
  const Nanoseconds clock = clock_time(thread_time_);
  std::vector<Nanoseconds> times;
  times.reserve(launches_.size());
  for (Launch& launch : launches_) {
    // The bytes 0x3e make numbers around 0.2 of every floating type.
    for (const std::span<std::byte> operand : launch.operands) std::memset(operand.data(), 0x3e, operand.size());
    const Clocks begin = now();
    launch.kernel->run();
    times.push_back(std::max(elapsed(begin, now(), thread_time_) - clock, Nanoseconds{1}));
  }
  return times;
}

}  // namespace xflow::cost::cpu
