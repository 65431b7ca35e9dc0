#include "src/execution/launch_order.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace xflow::execution {

std::map<std::string, std::size_t, std::less<>> arrivals_of(const PartManifest& manifest, std::size_t part,
                                                            std::span<const SentTensor> sent, std::span<const double> complete) {
  std::vector<std::tuple<std::size_t, double, std::string_view>> arriving;
  for (const PartTensor& tensor : manifest.parts[part].inputs) {
    if (!tensor.part) continue;
    const auto is_this = [&](const SentTensor& one) {
      return one.source == *tensor.part && one.to == manifest.parts[part].device && one.name == tensor.name;
    };
    const auto found = std::ranges::find_if(sent, is_this);
    if (found == sent.end()) continue;  // of this device
    arriving.emplace_back(*tensor.part, complete[static_cast<std::size_t>(found - sent.begin())], tensor.name);
  }
  std::ranges::sort(arriving);
  std::map<std::string, std::size_t, std::less<>> positions;
  for (const auto& [source, time, name] : arriving) positions.emplace(name, positions.size() + 1);
  return positions;
}

void order_launches(std::vector<cost::CoveredLaunch>& launches, const std::unordered_map<ir::ValueId, std::size_t>& arrivals,
                    std::unordered_set<ir::ValueId> sent) {
  // The last input that a value needs. A conversion of a layout has the value as its operand and as its
  // result.
  std::unordered_map<ir::ValueId, std::size_t> last = arrivals;
  std::vector<std::pair<std::size_t, bool>> keys(launches.size());
  for (std::size_t k = 0; k < launches.size(); ++k) {
    for (const ir::ValueId operand : launches[k].operands) {
      const auto found = last.find(operand);
      if (found != last.end()) keys[k].first = std::max(keys[k].first, found->second);
    }
    for (const ir::ValueId result : launches[k].results) last.insert_or_assign(result, keys[k].first);
  }
  for (std::size_t k = launches.size(); k > 0; --k) {
    const cost::CoveredLaunch& launch = launches[k - 1];
    const bool is_needed = std::ranges::any_of(launch.results, [&](ir::ValueId result) { return sent.contains(result); });
    keys[k - 1].second = !is_needed;
    if (is_needed) sent.insert(launch.operands.begin(), launch.operands.end());
  }
  std::vector<std::size_t> order(launches.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return keys[k]; });
  std::vector<cost::CoveredLaunch> sorted;
  sorted.reserve(launches.size());
  for (const std::size_t k : order) sorted.push_back(std::move(launches[k]));
  launches = std::move(sorted);
}

}  // namespace xflow::execution
