#include "src/policy/weight_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "src/policy/shipped_policies.h"
#include "src/support/file.h"

namespace xflow::policy {
namespace {

constexpr std::size_t kLists = 4;
constexpr std::array<const char*, kLists> kPrefixes = {"", "last/", "moment/", "variance/"};

std::string_view bytes_of_numbers(const auto& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

}  // namespace

Result<void> write_weight_lists(const std::string& path, std::span<const std::int64_t> header, std::span<const WeightSize> sizes,
                                const std::vector<Matrix>& weights, const TrainingState& training, std::span<const eval::NpzArray> more) {
  const std::array<std::int64_t, 2> steps = {static_cast<std::int64_t>(training.steps), static_cast<std::int64_t>(training.seed)};
  const std::array<double, 1> score = {training.best_score};
  std::vector<eval::NpzArray> arrays = {
      {"policy", ir::DataType::int64, {static_cast<std::int64_t>(header.size())}, bytes_of_numbers(header)},
      {"training", ir::DataType::int64, {static_cast<std::int64_t>(steps.size())}, bytes_of_numbers(steps)},
      {"score", ir::DataType::float64, {1}, bytes_of_numbers(score)}};
  const std::array<const std::vector<Matrix>*, kLists> lists = {&weights, &training.weights, &training.moments, &training.variances};
  for (std::size_t list = 0; list < kLists; ++list) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const Matrix& matrix = (*lists[list])[k];
      arrays.push_back({fmt::format("{}{}", kPrefixes[list], sizes[k].name),
                        ir::DataType::float32,
                        {static_cast<std::int64_t>(matrix.rows), static_cast<std::int64_t>(matrix.columns)},
                        bytes_of_numbers(matrix.values)});
    }
  }
  arrays.insert(arrays.end(), more.begin(), more.end());
  XFLOW_TRY(const std::string bytes, eval::write_npz(arrays));
  return onnx_io::write_file(path, std::array<std::string_view, 1>{bytes});
}

Result<WeightListReader> WeightListReader::open(const std::string& path) {
  const auto shipped = shipped_policy(path);
  if (shipped && !*shipped) return fail(shipped->error());
  auto arrays = shipped ? eval::parse_npz(**shipped) : eval::read_npz(path);
  if (arrays) return WeightListReader(path, std::move(*arrays));
  if (arrays.error().code == ErrorCode::io) return fail(arrays.error());
  return fail(ErrorCode::unreadable, fmt::format("the file is no policy: {}", arrays.error().message), path);
}

Result<PolicyMethod> WeightListReader::method() const {
  const auto refuse = [&](std::string message) { return fail(ErrorCode::unreadable, std::move(message), path_); };
  const auto found = arrays_.find("policy");
  if (found == arrays_.end()) return refuse("the file is no policy");
  const auto header = eval::integers(found->second);
  if (!header || header->size() < 2) return refuse("the file is no policy");
  if ((*header)[0] != kPolicyVersion)
    return refuse(fmt::format("the policy has format {}, and this version of xflow reads {}", (*header)[0], kPolicyVersion));
  for (const PolicyMethod method : {PolicyMethod::placeto, PolicyMethod::go}) {
    if ((*header)[1] == static_cast<std::int64_t>(method)) return method;
  }
  return refuse(fmt::format("the policy is of an unknown method {}", (*header)[1]));
}

Result<void> WeightListReader::check_method(PolicyMethod expected) const {
  XFLOW_TRY(const PolicyMethod own, method());
  if (own == expected) return {};
  return fail(ErrorCode::unreadable, fmt::format("the policy is of the method {}, not {}", to_string(own), to_string(expected)), path_);
}

Result<const eval::Tensor*> WeightListReader::find(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) return fail(ErrorCode::unreadable, fmt::format("the policy has no array '{}'", name), path_);
  return &found->second;
}

Result<std::size_t> WeightListReader::count(const std::string& name) const {
  XFLOW_TRY(const eval::Tensor* tensor, find(name));
  return static_cast<std::size_t>(tensor->count());
}

Result<std::vector<std::int64_t>> WeightListReader::integers(const std::string& name, std::size_t count) const {
  XFLOW_TRY(const eval::Tensor* tensor, find(name));
  const auto values = eval::integers(*tensor);
  if (!values || values->size() != count)
    return fail(ErrorCode::unreadable, fmt::format("array '{}' of the policy does not have {} integers", name, count), path_);
  return *values;
}

Result<std::vector<double>> WeightListReader::numbers(const std::string& name, std::size_t count) const {
  XFLOW_TRY(const eval::Tensor* tensor, find(name));
  const auto values = eval::doubles(*tensor);
  if (!values || values->size() != count || !std::ranges::all_of(*values, [](double x) { return std::isfinite(x); }))
    return fail(ErrorCode::unreadable, fmt::format("array '{}' of the policy does not have {} finite numbers", name, count), path_);
  return *values;
}

Result<void> WeightListReader::read(std::span<const WeightSize> sizes, std::vector<Matrix>& weights, TrainingState& training) const {
  XFLOW_TRY(const auto steps, integers("training", 2));
  training.steps = static_cast<std::uint64_t>(steps[0]);
  training.seed = static_cast<std::uint64_t>(steps[1]);
  XFLOW_TRY(const auto score, numbers("score", 1));
  training.best_score = score[0];
  const std::array<std::vector<Matrix>*, kLists> lists = {&weights, &training.weights, &training.moments, &training.variances};
  for (std::size_t list = 0; list < kLists; ++list) {
    for (const WeightSize& size : sizes) {
      XFLOW_TRY(const auto values, numbers(fmt::format("{}{}", kPrefixes[list], size.name), size.rows * size.columns));
      Matrix matrix(size.rows, size.columns);
      std::ranges::transform(values, matrix.values.begin(), [](double x) { return static_cast<float>(x); });
      lists[list]->push_back(std::move(matrix));
    }
  }
  return {};
}

}  // namespace xflow::policy
