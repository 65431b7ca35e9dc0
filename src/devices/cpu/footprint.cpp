#include "src/devices/cpu/footprint.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "src/kernels/node_launch.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost::cpu {
namespace {

constexpr std::size_t kKernelBytes = std::size_t{16} << 10U;
constexpr std::size_t kUsualSecondLevel = std::size_t{1} << 20U;  // used if the system does not report the size

std::size_t bytes_of(const ops::TensorSpec& tensor) {
  double bits = static_cast<double>(ir::bits(tensor.data_type));
  for (const std::int64_t d : tensor.dims) bits *= static_cast<double>(d);
  return static_cast<std::size_t>(std::min(bits / 8, 1e15));
}

std::size_t second_level_bytes() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return static_cast<std::size_t>(bytes);
#endif
  return kUsualSecondLevel;
}

}  // namespace

std::size_t bytes_of_run(const ir::Arena& arena, const ir::Graph& graph, const ir::Symbols::Valuation& sizes) {
  std::size_t constants = 0;
  std::size_t largest = 0;
  std::unordered_set<std::string> kernels;
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    const ir::Node& node = arena.node(id);
    if (node.kind == ir::NodeKind::constant) constants += bytes_of({node.constant.data_type, node.constant.dims, true});
    if (node.kind != ir::NodeKind::operation || node.is_constant) continue;
    const auto kernel = kernel_of(arena, id, sizes);
    if (!kernel || kernel->spec.is(ops::KernelFamily::none)) continue;
    std::size_t bytes = 0;
    for (const ops::TensorSpec& operand : kernel->spec.operands)
      if (!operand.constant) bytes += bytes_of(operand);
    for (const ops::TensorSpec& result : kernel->spec.results) bytes += bytes_of(result);
    largest = std::max(largest, bytes);
    kernels.insert(ops::to_string(kernel->spec));
  }
  return constants + largest + kernels.size() * kKernelBytes;
}

std::string caches_name(std::size_t footprint) { return footprint == 0 ? "warm" : fmt::format("{}MiB", footprint >> 20U); }

std::size_t cache_footprint_for(std::size_t bytes, int threads) {
  if (bytes <= second_level_bytes() * static_cast<std::size_t>(threads)) return 0;
  const auto* const found = std::ranges::lower_bound(kCacheFootprints, bytes / 5 * 4);
  return found == kCacheFootprints.end() ? kCacheFootprints.back() : std::max(*found, kCacheFootprints[1]);
}

}  // namespace xflow::cost::cpu
