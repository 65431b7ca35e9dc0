#include "src/parallel/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace xflow::parallel {
namespace {

bool is_amount(double number) { return std::isfinite(number) && number >= 0; }

Unexpected workload_fault(const std::string& text) { return fail(ErrorCode::invalid_argument, text); }

}  // namespace

Result<void> check_workload(const Workload& workload, std::uint32_t devices) {
  for (std::size_t k = 0; k < workload.nodes.size(); ++k) {
    const WorkloadNode& node = workload.nodes[k];
    if (node.seconds.size() != devices)
      return workload_fault(fmt::format("node {} has {} times for {} devices", k, node.seconds.size(), devices));
    if (!is_amount(node.bytes) || !std::all_of(node.seconds.begin(), node.seconds.end(), is_amount))
      return workload_fault(fmt::format("node {} has a time or size that is negative or not finite", k));
  }
  std::uint32_t last = 0;
  for (std::size_t k = 0; k < workload.tensors.size(); ++k) {
    const WorkloadTensor& tensor = workload.tensors[k];
    if (tensor.source >= workload.nodes.size() || tensor.source < last)
      return workload_fault(fmt::format("tensor {} has no source, or one before that of the last tensor", k));
    if (!is_amount(tensor.bytes)) return workload_fault(fmt::format("tensor {} has a size that is negative or not finite", k));
    last = tensor.source;
    std::uint32_t before = tensor.source;
    for (const std::uint32_t reader : tensor.readers) {
      if (reader <= before || reader >= workload.nodes.size())
        return workload_fault(fmt::format("tensor {} has readers that do not increase from its source on", k));
      before = reader;
    }
  }
  if (workload.nodes.size() + workload.tensors.size() * devices >= UINT32_MAX) return workload_fault("more than 2^32 tasks");
  return {};
}

}  // namespace xflow::parallel
