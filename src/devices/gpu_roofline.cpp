#include "src/devices/gpu_roofline.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace xflow::cost {
namespace {

struct Throughput {
  int capability;   // 10 times, from this one on
  double float32;   // operations of a multiprocessor per cycle
  double float16;   // of products
  double bfloat16;  // 0: no unit of its own
};

constexpr std::array<Throughput, 9> kThroughputs{{{60, 128, 256, 0},
                                                  {61, 256, 0, 0},
                                                  {70, 128, 1024, 0},
                                                  {75, 128, 1024, 0},
                                                  {80, 128, 2048, 2048},
                                                  {86, 256, 1024, 1024},
                                                  {90, 256, 4096, 4096},
                                                  {100, 256, 8192, 8192},
                                                  {120, 256, 1024, 1024}}};
constexpr int kLastCapability = 129;

}  // namespace

std::optional<profile::Roofline> roofline_of(const gpu::Gpu::Sheet& sheet, std::size_t cache_bytes, Nanoseconds launch) {
  const auto above = std::ranges::upper_bound(kThroughputs, sheet.capability, {}, &Throughput::capability);
  const bool complete = sheet.multiprocessors > 0 && sheet.clock > 0 && sheet.bandwidth > 0;
  if (!complete || above == kThroughputs.begin() || sheet.capability > kLastCapability) return std::nullopt;
  const Throughput& throughput = *std::prev(above);
  profile::Roofline roofline;
  roofline.launch = launch;
  roofline.bandwidth = sheet.bandwidth;
  const double cycles = sheet.clock * sheet.multiprocessors;  // of all multiprocessors per second
  roofline.peak[ir::DataType::float32] = throughput.float32 * cycles;
  if (throughput.float16 > 0) roofline.peak[ir::DataType::float16] = throughput.float16 * cycles;
  if (throughput.bfloat16 > 0) roofline.peak[ir::DataType::bfloat16] = throughput.bfloat16 * cycles;
  roofline.multiprocessors = sheet.multiprocessors;
  roofline.cache = static_cast<double>(cache_bytes);
  return roofline;
}

void add_roofline(profile::Profile& profile, const gpu::Gpu& gpu) {
  std::optional<Nanoseconds> launch;
  for (const auto& [key, entry] : profile.kernels)
    if (entry.ran && entry.cost.median.count() > 0) launch = std::min(launch.value_or(entry.cost.median), entry.cost.median);
  if (!launch) return;
  if (const auto roofline = roofline_of(gpu.sheet(), gpu.cache_bytes(), *launch)) profile.roofline = *roofline;
}

}  // namespace xflow::cost
