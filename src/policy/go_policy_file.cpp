#include "src/policy/go_policy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "src/eval/npz.h"
#include "src/support/file.h"

namespace xflow::policy {
namespace {

constexpr std::array<std::int64_t, 4> kGoHeader = {1, 1, GoPlanView::kNodeFeatures, GoPlanView::kDeviceFeatures};
constexpr std::array<const char*, 4> kGoPrefixes = {"", "last/", "moment/", "variance/"};

class GoPolicyReader {
 public:
  GoPolicyReader(const std::string& path, std::map<std::string, eval::Tensor> arrays) : path_(path), arrays_(std::move(arrays)) {}

  Result<GoPolicy> read() const {
    XFLOW_CHECK(check_header());
    GoPolicy policy;
    XFLOW_TRY(const auto training, numbers("training", 2));
    policy.training.steps = static_cast<std::uint64_t>(training[0]);
    policy.training.seed = static_cast<std::uint64_t>(training[1]);
    XFLOW_TRY(const auto score, numbers("score", 1));
    policy.training.best_score = score[0];
    const std::array<std::vector<Matrix>*, 4> lists = {&policy.weights, &policy.training.weights, &policy.training.moments,
                                                       &policy.training.variances};
    for (std::size_t list = 0; list < lists.size(); ++list) {
      for (const WeightSize& size : go_weights()) {
        XFLOW_TRY(const auto values, numbers(fmt::format("{}{}", kGoPrefixes[list], size.name), size.rows * size.columns));
        Matrix matrix(size.rows, size.columns);
        std::ranges::transform(values, matrix.values.begin(), [](double x) { return static_cast<float>(x); });
        lists[list]->push_back(std::move(matrix));
      }
    }
    return policy;
  }

 private:
  Result<void> check_header() const {
    const auto found = arrays_.find("policy");
    if (found == arrays_.end()) return fail(ErrorCode::unreadable, "the file is no policy", path_);
    const auto header = eval::integers(found->second);
    if (!header || header->size() != kGoHeader.size()) return fail(ErrorCode::unreadable, "the file is no policy of GO", path_);
    if ((*header)[0] != kGoHeader[0])
      return fail(ErrorCode::unreadable,
                  fmt::format("the policy has format {}, and this version of xflow reads {}", (*header)[0], kGoHeader[0]), path_);
    if ((*header)[1] != kGoHeader[1])
      return fail(ErrorCode::unreadable, fmt::format("the policy is of an unknown method {}", (*header)[1]), path_);
    if ((*header)[2] == kGoHeader[2] && (*header)[3] == kGoHeader[3]) return {};
    return fail(ErrorCode::unreadable,
                fmt::format("the policy is for {} features of nodes and {} of devices, and there are {} and {}", (*header)[2], (*header)[3],
                            kGoHeader[2], kGoHeader[3]),
                path_);
  }
  Result<std::vector<double>> numbers(const std::string& name, std::size_t count) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) return fail(ErrorCode::unreadable, fmt::format("the policy has no array '{}'", name), path_);
    const auto values = eval::doubles(found->second);
    if (!values || values->size() != count || !std::ranges::all_of(*values, [](double x) { return std::isfinite(x); }))
      return fail(ErrorCode::unreadable, fmt::format("array '{}' of the policy does not have {} finite numbers", name, count), path_);
    return *values;
  }

  const std::string& path_;
  std::map<std::string, eval::Tensor> arrays_;
};

std::string_view bytes_of_values(const auto& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

}  // namespace

Result<void> write_go_policy(const std::string& path, const GoPolicy& policy) {
  const std::array<std::int64_t, 2> training = {static_cast<std::int64_t>(policy.training.steps),
                                                static_cast<std::int64_t>(policy.training.seed)};
  const std::array<double, 1> score = {policy.training.best_score};
  std::vector<eval::NpzArray> arrays = {{"policy", ir::DataType::int64, {4}, bytes_of_values(kGoHeader)},
                                        {"training", ir::DataType::int64, {2}, bytes_of_values(training)},
                                        {"score", ir::DataType::float64, {1}, bytes_of_values(score)}};
  const std::array<const std::vector<Matrix>*, 4> lists = {&policy.weights, &policy.training.weights, &policy.training.moments,
                                                           &policy.training.variances};
  for (std::size_t list = 0; list < lists.size(); ++list) {
    for (std::size_t k = 0; k < go_weights().size(); ++k) {
      const Matrix& matrix = (*lists[list])[k];
      arrays.push_back({fmt::format("{}{}", kGoPrefixes[list], go_weights()[k].name),
                        ir::DataType::float32,
                        {static_cast<std::int64_t>(matrix.rows), static_cast<std::int64_t>(matrix.columns)},
                        bytes_of_values(matrix.values)});
    }
  }
  XFLOW_TRY(const std::string bytes, eval::write_npz(arrays));
  return onnx_io::write_file(path, std::array<std::string_view, 1>{bytes});
}

Result<GoPolicy> read_go_policy(const std::string& path) {
  auto arrays = eval::read_npz(path);
  if (!arrays) {
    if (arrays.error().code == ErrorCode::io) return fail(arrays.error());
    return fail(ErrorCode::unreadable, fmt::format("the file is no policy: {}", arrays.error().message), path);
  }
  return GoPolicyReader(path, std::move(*arrays)).read();
}

}  // namespace xflow::policy
