#include "src/policy/policy_file.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "src/policy/placement_network.h"
#include "src/policy/visit_environment.h"
#include "src/policy/weight_lists.h"

namespace xflow::policy {
namespace {

constexpr std::size_t kHeaderSize = 5;
constexpr std::int64_t kGroup = VisitEnvironment::kGroupFeatures;
constexpr std::int64_t kDevice = VisitEnvironment::kDeviceFeatures;

std::string placement_name(std::size_t number) { return fmt::format("placement/{}", number); }

Result<PolicyObjective> objective_of(std::span<const std::int64_t> header, const std::string& path) {
  const auto refuse = [&](std::string message) { return fail(ErrorCode::unreadable, std::move(message), path); };
  if (header[2] < 0 || header[2] > static_cast<std::int64_t>(PolicyObjective::step))
    return refuse(fmt::format("the policy is for an unknown objective {}", header[2]));
  if (header[3] == kGroup && header[4] == kDevice) return static_cast<PolicyObjective>(header[2]);
  return refuse(fmt::format("the policy is for {} features of groups and {} of devices, and there are {} and {}", header[3], header[4],
                            kGroup, kDevice));
}

}  // namespace

Result<PolicyMethod> method_of_policy(const std::string& path) {
  XFLOW_TRY(const WeightListReader reader, WeightListReader::open(path));
  return reader.method();
}

Result<void> write_policy(const std::string& path, const Policy& policy) {
  const std::array<std::int64_t, kHeaderSize> header = {kPolicyVersion, static_cast<std::int64_t>(policy.method),
                                                        static_cast<std::int64_t>(policy.objective), kGroup, kDevice};
  std::vector<std::vector<std::int64_t>> devices;
  devices.reserve(policy.placements.size());
  for (const parallel::GroupDevices& placement : policy.placements) devices.emplace_back(placement.begin(), placement.end());
  std::vector<eval::NpzArray> arrays;
  for (std::size_t number = 0; number < devices.size(); ++number) {
    const std::vector<std::int64_t>& own = devices[number];
    arrays.push_back({placement_name(number),
                      ir::DataType::int64,
                      {static_cast<std::int64_t>(own.size())},
                      {reinterpret_cast<const char*>(own.data()), own.size() * sizeof(std::int64_t)}});
  }
  return write_weight_lists(path, header, network_weights(), policy.weights, policy.training, arrays);
}

Result<Policy> read_policy(const std::string& path) {
  XFLOW_TRY(const WeightListReader reader, WeightListReader::open(path));
  XFLOW_CHECK(reader.check_method(PolicyMethod::placeto));
  XFLOW_TRY(const auto header, reader.integers("policy", kHeaderSize));
  Policy policy;
  XFLOW_TRY(policy.objective, objective_of(header, path));
  XFLOW_CHECK(reader.read(network_weights(), policy.weights, policy.training));
  for (std::size_t number = 0; const auto count = reader.count(placement_name(number)); ++number) {
    XFLOW_TRY(const auto devices, reader.integers(placement_name(number), *count));
    policy.placements.emplace_back(devices.begin(), devices.end());
  }
  return policy;
}

}  // namespace xflow::policy
