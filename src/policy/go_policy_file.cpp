#include "src/policy/go_policy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "src/policy/weight_lists.h"

namespace xflow::policy {
namespace {

constexpr std::array<std::int64_t, 4> kGoHeader = {kPolicyVersion, static_cast<std::int64_t>(PolicyMethod::go), GoPlanView::kNodeFeatures,
                                                   GoPlanView::kDeviceFeatures};

Result<void> check_features(std::span<const std::int64_t> header, const std::string& path) {
  if (header[2] == kGoHeader[2] && header[3] == kGoHeader[3]) return {};
  return fail(ErrorCode::unreadable,
              fmt::format("the policy is for {} features of nodes and {} of devices, and there are {} and {}", header[2], header[3],
                          kGoHeader[2], kGoHeader[3]),
              path);
}

constexpr std::size_t kGraphFields = 3;
constexpr std::int64_t kMostSize = std::int64_t{1} << 40U;  // of what "graphs" holds

// The plans of all graphs, as arrays.
struct GraphArrays {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> devices;
  std::vector<float> priorities;
  std::vector<std::int64_t> fused;

  explicit GraphArrays(const std::vector<GoTrainedGraph>& graphs) {
    for (const auto& [number, plan] : graphs) {
      for (const std::size_t size : {static_cast<std::size_t>(number), plan.devices.size(), plan.fused.size()})
        sizes.push_back(static_cast<std::int64_t>(size));
      devices.insert(devices.end(), plan.devices.begin(), plan.devices.end());
      priorities.insert(priorities.end(), plan.priorities.begin(), plan.priorities.end());
      fused.insert(fused.end(), plan.fused.begin(), plan.fused.end());
    }
  }

  template <typename T>
  static eval::NpzArray array(const char* name, ir::DataType type, const std::vector<T>& values) {
    return {
        name, type, {static_cast<std::int64_t>(values.size())}, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}};
  }
  std::vector<eval::NpzArray> arrays() const {
    return {array("graphs", ir::DataType::int64, sizes), array("devices", ir::DataType::int64, devices),
            array("priorities", ir::DataType::float32, priorities), array("fused", ir::DataType::int64, fused)};
  }
};

Result<std::vector<GoTrainedGraph>> read_graphs(const WeightListReader& reader, const std::string& path) {
  XFLOW_TRY(const std::size_t count, reader.count("graphs"));
  XFLOW_TRY(const auto sizes, reader.integers("graphs", count));
  std::size_t nodes = 0;
  std::size_t choices = 0;
  for (std::size_t k = 0; k + kGraphFields <= count; k += kGraphFields) {
    const auto own = std::span(sizes).subspan(k, kGraphFields);
    if (std::ranges::any_of(own, [](std::int64_t size) { return size < 0 || size > kMostSize; }))
      return fail(ErrorCode::unreadable, "array 'graphs' of the policy has numbers that are out of range", path);
    nodes += static_cast<std::size_t>(own[1]);
    choices += static_cast<std::size_t>(own[2]);
  }
  XFLOW_TRY(const auto devices, reader.integers("devices", nodes));
  XFLOW_TRY(const auto priorities, reader.numbers("priorities", nodes));
  XFLOW_TRY(const auto fused, reader.integers("fused", choices));
  std::vector<GoTrainedGraph> graphs;
  std::size_t node = 0;
  std::size_t choice = 0;
  for (std::size_t k = 0; k + kGraphFields <= count; k += kGraphFields) {
    GoTrainedGraph graph;
    graph.number = static_cast<std::uint64_t>(sizes[k]);
    for (const std::size_t end = node + static_cast<std::size_t>(sizes[k + 1]); node < end; ++node) {
      graph.plan.devices.push_back(static_cast<std::uint32_t>(devices[node]));
      graph.plan.priorities.push_back(static_cast<float>(priorities[node]));
    }
    for (const std::size_t end = choice + static_cast<std::size_t>(sizes[k + 2]); choice < end; ++choice)
      graph.plan.fused.push_back(fused[choice] != 0);
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

}  // namespace

Result<void> write_go_policy(const std::string& path, const GoPolicy& policy) {
  const GraphArrays graphs(policy.graphs);
  return write_weight_lists(path, kGoHeader, go_weights(), policy.weights, policy.training, graphs.arrays());
}

Result<GoPolicy> read_go_policy(const std::string& path) {
  XFLOW_TRY(const WeightListReader reader, WeightListReader::open(path));
  XFLOW_CHECK(reader.check_method(PolicyMethod::go));
  XFLOW_TRY(const auto header, reader.integers("policy", kGoHeader.size()));
  XFLOW_CHECK(check_features(header, path));
  GoPolicy policy;
  XFLOW_CHECK(reader.read(go_weights(), policy.weights, policy.training));
  XFLOW_TRY(policy.graphs, read_graphs(reader, path));
  return policy;
}

}  // namespace xflow::policy
