#include "src/devices/profile/gpu_figures.h"

#include <algorithm>
#include <array>

namespace xflow::cost::profile {
namespace {

// As in NeuSight's tables of devices: memory clock times bus width, and cores times boost clock times 2.
// The P4 has 20 multiprocessors of 128 cores.
constexpr std::array<GpuFigures, 6> kFigures{{{"Tesla P4", 192, 5699, 20, 2},
                                              {"Tesla T4", 320, 8141, 40, 4},
                                              {"Tesla P100-PCIE-16GB", 732, 9519, 56, 4},
                                              {"Tesla V100-PCIE-32GB", 900, 14029, 80, 6},
                                              {"NVIDIA A100-PCIE-40GB", 1555, 19492, 108, 40},
                                              {"NVIDIA A100 80GB PCIe", 1935, 19492, 108, 40}}};

}  // namespace

const GpuFigures* find_gpu_figures(std::string_view name) {
  const auto* found = std::ranges::find(kFigures, name, &GpuFigures::name);
  return found == kFigures.end() ? nullptr : found;
}

Roofline roofline_of(const GpuFigures& figures, Nanoseconds launch) {
  constexpr double kGiga = 1e9;
  constexpr double kMega = 1e6;
  Roofline roofline;
  roofline.launch = launch;
  roofline.bandwidth = figures.gigabytes_per_second * kGiga;
  roofline.peak = {{ir::DataType::float32, figures.gigaflops * kGiga}};
  roofline.multiprocessors = figures.multiprocessors;
  roofline.cache = figures.cache_megabytes * kMega;
  return roofline;
}

}  // namespace xflow::cost::profile
