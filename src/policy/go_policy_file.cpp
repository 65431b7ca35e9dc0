#include "src/policy/go_policy_file.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

#include "src/policy/weight_lists.h"

namespace xflow::policy {
namespace {

constexpr std::array<std::int64_t, 4> kGoHeader = {1, 1, GoPlanView::kNodeFeatures, GoPlanView::kDeviceFeatures};

Result<void> check_header(std::span<const std::int64_t> header, const std::string& path) {
  const auto refuse = [&](std::string message) { return fail(ErrorCode::unreadable, std::move(message), path); };
  if (header[0] != kGoHeader[0])
    return refuse(fmt::format("the policy has format {}, and this version of xflow reads {}", header[0], kGoHeader[0]));
  if (header[1] != kGoHeader[1]) return refuse(fmt::format("the policy is of an unknown method {}", header[1]));
  if (header[2] == kGoHeader[2] && header[3] == kGoHeader[3]) return {};
  return refuse(fmt::format("the policy is for {} features of nodes and {} of devices, and there are {} and {}", header[2], header[3],
                            kGoHeader[2], kGoHeader[3]));
}

}  // namespace

Result<void> write_go_policy(const std::string& path, const GoPolicy& policy) {
  return write_weight_lists(path, kGoHeader, go_weights(), policy.weights, policy.training);
}

Result<GoPolicy> read_go_policy(const std::string& path) {
  XFLOW_TRY(const WeightListReader reader, WeightListReader::open(path));
  if (!reader.has("policy")) return fail(ErrorCode::unreadable, "the file is no policy", path);
  const auto header = reader.integers("policy", kGoHeader.size());
  if (!header) return fail(ErrorCode::unreadable, "the file is no policy of GO", path);
  XFLOW_CHECK(check_header(*header, path));
  GoPolicy policy;
  XFLOW_CHECK(reader.read(go_weights(), policy.weights, policy.training));
  return policy;
}

}  // namespace xflow::policy
