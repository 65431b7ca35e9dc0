#include "src/policy/policy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "src/eval/npz.h"
#include "src/policy/placement_environment.h"
#include "src/policy/placement_network.h"
#include "src/support/file.h"

namespace xflow::policy {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kHeaderSize = 5;
constexpr std::size_t kTrainingSize = 2;
constexpr std::size_t kLists = 4;
constexpr std::array<const char*, kLists> kPrefixes = {"", "last/", "moment/", "variance/"};

std::string_view bytes_of(const auto& values) { return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])}; }

std::array<std::int64_t, kHeaderSize> header_of(const Policy& policy) {
  return {kVersion, static_cast<std::int64_t>(policy.method), static_cast<std::int64_t>(policy.objective),
          PlacementEnvironment::kGroupFeatures, PlacementEnvironment::kDeviceFeatures};
}

class PolicyReader {
 public:
  PolicyReader(const std::string& path, std::map<std::string, eval::Tensor> arrays) : path_(path), arrays_(std::move(arrays)) {}

  Result<Policy> read() const {
    Policy policy;
    const auto header = integers("policy", kHeaderSize);
    if (!header) return fail(ErrorCode::unreadable, "the file is no policy", path_);
    if ((*header)[0] != kVersion)
      return fail(ErrorCode::unreadable,
                  fmt::format("the policy has format {}, and this version of xflow reads {}", (*header)[0], kVersion), path_);
    if ((*header)[1] != static_cast<std::int64_t>(PolicyMethod::placeto))
      return fail(ErrorCode::unreadable, fmt::format("the policy is of an unknown method {}", (*header)[1]), path_);
    if ((*header)[2] < 0 || (*header)[2] > static_cast<std::int64_t>(PolicyObjective::step))
      return fail(ErrorCode::unreadable, fmt::format("the policy is for an unknown objective {}", (*header)[2]), path_);
    policy.objective = static_cast<PolicyObjective>((*header)[2]);
    constexpr std::int64_t kGroup = PlacementEnvironment::kGroupFeatures;
    constexpr std::int64_t kDevice = PlacementEnvironment::kDeviceFeatures;
    if ((*header)[3] != kGroup || (*header)[4] != kDevice) {
      return fail(ErrorCode::unreadable,
                  fmt::format("the policy is for {} features of groups and {} of devices, and there are {} and {}", (*header)[3],
                              (*header)[4], kGroup, kDevice),
                  path_);
    }
    XFLOW_TRY(const auto training, integers("training", kTrainingSize));
    policy.training.steps = static_cast<std::uint64_t>(training[0]);
    policy.training.seed = static_cast<std::uint64_t>(training[1]);
    XFLOW_TRY(policy.training.best_score, score());
    const std::array<std::vector<Matrix>*, kLists> lists = {&policy.weights, &policy.training.weights, &policy.training.moments,
                                                            &policy.training.variances};
    for (std::size_t list = 0; list < kLists; ++list) {
      for (const WeightSize& size : network_weights()) {
        XFLOW_TRY(Matrix matrix, weight(kPrefixes[list], size));
        lists[list]->push_back(std::move(matrix));
      }
    }
    return policy;
  }

 private:
  Result<std::vector<std::int64_t>> integers(const std::string& name, std::size_t count) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) return fail(ErrorCode::unreadable, fmt::format("the policy has no array '{}'", name), path_);
    const auto values = eval::integers(found->second);
    if (!values || values->size() != count)
      return fail(ErrorCode::unreadable, fmt::format("array '{}' of the policy does not have {} integers", name, count), path_);
    return *values;
  }
  Result<std::vector<double>> numbers(const std::string& name, std::size_t count) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) return fail(ErrorCode::unreadable, fmt::format("the policy has no array '{}'", name), path_);
    const auto values = eval::doubles(found->second);
    if (!values || values->size() != count || !std::ranges::all_of(*values, [](double x) { return std::isfinite(x); }))
      return fail(ErrorCode::unreadable, fmt::format("array '{}' of the policy does not have {} finite numbers", name, count), path_);
    return *values;
  }
  Result<double> score() const {
    XFLOW_TRY(const auto values, numbers("score", 1));
    return values[0];
  }
  Result<Matrix> weight(const char* prefix, const WeightSize& size) const {
    XFLOW_TRY(const auto values, numbers(fmt::format("{}{}", prefix, size.name), size.rows * size.columns));
    Matrix matrix(size.rows, size.columns);
    std::ranges::transform(values, matrix.values.begin(), [](double x) { return static_cast<float>(x); });
    return matrix;
  }

  const std::string& path_;
  std::map<std::string, eval::Tensor> arrays_;
};

}  // namespace

Result<void> write_policy(const std::string& path, const Policy& policy) {
  const auto header = header_of(policy);
  const std::array<std::int64_t, kTrainingSize> training = {static_cast<std::int64_t>(policy.training.steps),
                                                            static_cast<std::int64_t>(policy.training.seed)};
  const std::array<double, 1> score = {policy.training.best_score};
  std::vector<eval::NpzArray> arrays = {{"policy", ir::DataType::int64, {kHeaderSize}, bytes_of(header)},
                                        {"training", ir::DataType::int64, {kTrainingSize}, bytes_of(training)},
                                        {"score", ir::DataType::float64, {1}, bytes_of(score)}};
  const std::array<const std::vector<Matrix>*, kLists> lists = {&policy.weights, &policy.training.weights, &policy.training.moments,
                                                                &policy.training.variances};
  for (std::size_t list = 0; list < kLists; ++list) {
    for (std::size_t k = 0; k < network_weights().size(); ++k) {
      const Matrix& matrix = (*lists[list])[k];
      arrays.push_back({fmt::format("{}{}", kPrefixes[list], network_weights()[k].name),
                        ir::DataType::float32,
                        {static_cast<std::int64_t>(matrix.rows), static_cast<std::int64_t>(matrix.columns)},
                        bytes_of(matrix.values)});
    }
  }
  XFLOW_TRY(const std::string bytes, eval::write_npz(arrays));
  return onnx_io::write_file(path, std::array<std::string_view, 1>{bytes});
}

Result<Policy> read_policy(const std::string& path) {
  auto arrays = eval::read_npz(path);
  if (!arrays) {
    if (arrays.error().code == ErrorCode::io) return fail(arrays.error());
    return fail(ErrorCode::unreadable, fmt::format("the file is no policy: {}", arrays.error().message), path);
  }
  return PolicyReader(path, std::move(*arrays)).read();
}

}  // namespace xflow::policy
