// Tables of NeuSight.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/devices/profile/gpu_figures.h"
#include "src/devices/profile/roofline_time.h"
#include "src/devices/profile/tables.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost::profile {
namespace {

using Sizes = std::span<const std::int64_t>;

constexpr Nanoseconds kFloor{60'000};
constexpr Nanoseconds kPointwiseFloor{30'000};
// The largest factor between measurements of one kernel that do not contradict each other. Independent
// collections of the same products differ by 6 % on average, and repeated rows of the tables by 8 % at most.
constexpr double kAgreement = 1.25;
// How much faster and slower than its roofline a kernel of the tables may be. Caches and transformed
// convolutions give a factor of 4; a time in another unit is off by 1,000.
constexpr double kMostSpeed = 30;
constexpr double kMostDelay = 300;

ops::TensorSpec tensor(std::vector<std::int64_t> dims, bool constant = false) { return {ir::DataType::float32, std::move(dims), constant}; }

ops::KernelSpec table_kernel(std::string_view name, std::string_view variant, std::vector<ops::TensorSpec> operands,
                             ops::TensorSpec result) {
  ops::KernelSpec spec = ops::kernel_named(name, variant);
  spec.operands = std::move(operands);
  spec.results = {std::move(result)};
  return spec;
}

ops::KernelSpec pointwise_kernel(std::string_view name, Sizes s, std::size_t operands) {
  return table_kernel(name, "", std::vector(operands, tensor({s[0], s[1]})), tensor({s[0], s[1]}));
}

ops::KernelSpec add_kernel(Sizes s) { return pointwise_kernel("pointwise/add", s, 2); }
ops::KernelSpec mul_kernel(Sizes s) { return pointwise_kernel("pointwise/mul", s, 2); }
ops::KernelSpec relu_kernel(Sizes s) { return pointwise_kernel("pointwise/relu", s, 1); }
ops::KernelSpec gelu_kernel(Sizes s) { return pointwise_kernel("pointwise/gelu_erf", s, 1); }

ops::KernelSpec softmax_kernel(Sizes s) {
  ops::KernelSpec spec = table_kernel("softmax", "", {tensor({s[0], s[1]})}, tensor({s[0], s[1]}));
  spec.integers = {{"axis", {1}}};
  return spec;
}

ops::KernelSpec layer_normalization_kernel(Sizes s) {
  constexpr double kEpsilon = 1e-5F;  // PyTorch's
  ops::KernelSpec spec =
      table_kernel("normalization", "layer", {tensor({s[0], s[1]}), tensor({s[1]}, true), tensor({s[1]}, true)}, tensor({s[0], s[1]}));
  spec.integers = {{"axes", {1}}};
  spec.reals = {{"epsilon", kEpsilon}};
  return spec;
}

// Sizes of products: B, M, N, K.
ops::KernelSpec batched_product_kernel(Sizes s) {
  return table_kernel("matmul", "", {tensor({s[0], s[1], s[3]}), tensor({s[0], s[3], s[2]})}, tensor({s[0], s[1], s[2]}));
}

ops::KernelSpec linear_kernel(Sizes s) {
  const bool has_batch = s[0] > 1;
  ops::KernelSpec spec =
      table_kernel("matmul", "", {has_batch ? tensor({s[0], s[1], s[3]}) : tensor({s[1], s[3]}), tensor({s[3], s[2]}, true)},
                   has_batch ? tensor({s[0], s[1], s[2]}) : tensor({s[1], s[2]}));
  ops::PostOperation bias = ops::step_named("add");
  bias.operands = {tensor({s[2]}, true)};
  spec.post = {std::move(bias)};
  return spec;
}

// Sizes: batch, channels of the input, channels of the result, kernel, height and width, stride, padding.
ops::KernelSpec convolution_kernel(Sizes s) {
  const std::int64_t size = (s[4] + 2 * s[6] - s[3]) / s[5] + 1;
  ops::KernelSpec spec = table_kernel("convolution", "", {tensor({s[0], s[1], s[4], s[4]}), tensor({s[2], s[1], s[3], s[3]}, true)},
                                      tensor({s[0], s[2], size, size}));
  spec.integers = {{"strides", {s[5], s[5]}}, {"pads", {s[6], s[6], s[6], s[6]}}, {"dilations", {1, 1}}, {"groups", {1}}};
  return spec;
}

// An operator of the tables.
struct Operator {
  std::string_view name;  // of the file
  std::vector<std::string_view> sizes;
  Nanoseconds floor;
  ops::KernelSpec (*kernel)(Sizes sizes);
};

const std::vector<Operator>& operators() {
  static const std::vector<Operator> all{
      {"add", {"B", "H"}, kPointwiseFloor, &add_kernel},
      {"bmm", {"B", "M", "N", "K"}, kFloor, &batched_product_kernel},
      {"conv", {"B", "Input_Channel", "Output_Channel", "Kernel_Szie", "Input_Size", "Stride", "Padding"}, kFloor, &convolution_kernel},
      {"gelu", {"B", "H"}, kPointwiseFloor, &gelu_kernel},
      {"linear", {"B", "M", "N", "K"}, kFloor, &linear_kernel},
      {"ln", {"B", "H"}, kFloor, &layer_normalization_kernel},
      {"mul", {"B", "H"}, kPointwiseFloor, &mul_kernel},
      {"relu", {"B", "H"}, kPointwiseFloor, &relu_kernel},
      {"softmax", {"B", "H"}, kFloor, &softmax_kernel},
  };
  return all;
}

// The fields of a line, whose commas and doubled quotes may be in quotes. nullopt if a quote stays open.
std::optional<std::vector<std::string>> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool in_quotes = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const char c = line[k];
    if (c == '"') {
      if (in_quotes && k + 1 < line.size() && line[k + 1] == '"') {
        fields.back() += '"';
        ++k;
      } else {
        in_quotes = !in_quotes;
      }
    } else if (c == ',' && !in_quotes) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (in_quotes) return std::nullopt;
  return fields;
}

// The times of a kernel on one device, in the order of the rows.
struct Times {
  std::vector<double> nanoseconds;
  bool at_floor = false;
};
using DeviceTimes = std::map<std::string, Times>;  // by the text of the kernel

class TableReader {
 public:
  Result<void> read(const Table& table) {
    const std::size_t slash = table.file.find_last_of('/');
    const std::string name = slash == std::string::npos ? table.file : table.file.substr(slash + 1);
    const std::string stem = name.substr(0, name.find('.'));
    if (name.ends_with(".xz")) return fail(ErrorCode::unsupported, "the table is compressed: unpack it with xz -dk", table.file);
    const auto found = std::ranges::find(operators(), stem, &Operator::name);
    if (found == operators().end())
      return fail(ErrorCode::unsupported,
                  fmt::format("expected the name of an operator as the name of the table ({}), found '{}'", fmt::join(names(), ", "), stem),
                  table.file);
    file_ = table.file;
    line_ = 0;
    std::string_view text = table.text;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) {
        ++line_;
        return wrong("the last line does not end: the table is truncated");
      }
      std::string_view line = text.substr(0, end);
      text = text.substr(end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_;
      const auto fields = fields_of(line);
      if (!fields) return wrong("a quote that does not end");
      if (line_ == 1) {
        XFLOW_CHECK(header(*found, *fields));
      } else {
        XFLOW_CHECK(row(*found, *fields));
      }
    }
    if (line_ < 2) return fail(ErrorCode::syntax, "the table has no rows", table.file);
    sources_.insert(name);
    return {};
  }

  const std::map<std::string, DeviceTimes, std::less<>>& devices() const { return devices_; }
  const std::set<std::string>& sources() const { return sources_; }

 private:
  static std::vector<std::string_view> names() {
    std::vector<std::string_view> result;
    for (const Operator& each : operators()) result.push_back(each.name);
    return result;
  }

  Unexpected wrong(const std::string& message) const { return fail(ErrorCode::syntax, message, fmt::format("{}:{}", file_, line_)); }

  Result<void> header(const Operator& op, const std::vector<std::string>& fields) const {
    std::vector<std::string_view> columns{"device", "latency_ms", "kernel"};
    columns.insert(columns.end(), op.sizes.begin(), op.sizes.end());
    for (std::size_t k = 0; k < std::min(columns.size(), fields.size()); ++k)
      if (fields[k] != columns[k]) return wrong(fmt::format("expected '{}' as column {}, found '{}'", columns[k], k + 1, fields[k]));
    if (fields.size() != columns.size()) return wrong(fmt::format("expected {} columns, found {}", columns.size(), fields.size()));
    return {};
  }

  Result<void> row(const Operator& op, const std::vector<std::string>& fields) {
    constexpr std::size_t kShape = 3;
    constexpr double kNanoseconds = 1e6;
    if (fields.size() != kShape + op.sizes.size())
      return wrong(fmt::format("expected {} fields, found {}", kShape + op.sizes.size(), fields.size()));
    if (fields[0].empty()) return wrong("expected the name of a device, found ''");
    double milliseconds = 0;
    if (!number(fields[1], milliseconds) || !std::isfinite(milliseconds) || milliseconds <= 0)
      return wrong(fmt::format("expected a time in milliseconds, more than 0, found '{}'", fields[1]));
    std::vector<std::int64_t> sizes(op.sizes.size());
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::string& text = fields[kShape + k];
      if (!number(text, sizes[k]) || sizes[k] < 1 || sizes[k] > kMostSize)
        return wrong(fmt::format("expected {} as a whole number from 1 to {}, found '{}'", op.sizes[k], kMostSize, text));
    }
    const ops::KernelSpec spec = op.kernel(sizes);
    if (spec.results[0].dims.back() < 1) return wrong("expected a window that is not larger than the padded input");
    const Nanoseconds time{milliseconds * kNanoseconds};
    XFLOW_CHECK(check_unit(op, fields[0], spec, time));
    Times& times = devices_[fields[0]][ops::to_string(spec)];
    times.nanoseconds.push_back(time.count());
    times.at_floor = times.at_floor || time < op.floor;
    return {};
  }

  template <typename T>
  static bool number(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }

  // Refuses times that the device cannot have, such as microseconds in a column of milliseconds.
  Result<void> check_unit(const Operator& op, const std::string& device, const ops::KernelSpec& spec, Nanoseconds time) const {
    const GpuFigures* figures = find_gpu_figures(device);
    if (figures == nullptr) return {};
    XFLOW_TRY(const Nanoseconds roofline, roofline_time(roofline_of(*figures, {}), spec));
    if (time * kMostSpeed >= roofline && time <= (roofline + op.floor) * kMostDelay) return {};
    return wrong(fmt::format("expected a time in milliseconds, found '{:.6g}', but {} takes about {:.6g} ms for this kernel",
                             time.count() / 1e6, device, std::max(roofline, op.floor).count() / 1e6));
  }

  static constexpr std::int64_t kMostSize = 1'000'000'000;

  std::string file_;
  std::size_t line_ = 0;
  std::map<std::string, DeviceTimes, std::less<>> devices_;
  std::set<std::string> sources_;
};

std::string listed(const std::map<std::string, DeviceTimes, std::less<>>& devices) {
  std::string text;
  for (const auto& [name, kernels] : devices) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
  return text;
}

// The device of that name, or of the name with that part.
Result<std::string> chosen_device(const std::map<std::string, DeviceTimes, std::less<>>& devices, std::string_view asked) {
  if (devices.contains(asked)) return std::string(asked);
  std::vector<std::string> matches;
  for (const auto& [name, kernels] : devices)
    if (name.find(asked) != std::string::npos) matches.push_back(name);
  if (matches.size() == 1) return matches[0];
  const std::string what = asked.empty()     ? "no device is chosen"
                           : matches.empty() ? fmt::format("the tables have no device '{}'", asked)
                                             : fmt::format("the tables have {} devices with '{}' in their names", matches.size(), asked);
  return fail(ErrorCode::invalid_argument, fmt::format("{}: expected one of {}", what, listed(devices)));
}

void add_times(Profile& profile, const std::string& text, Times times) {
  std::vector<double>& sorted = times.nanoseconds;
  std::ranges::sort(sorted);
  const std::size_t half = sorted.size() / 2;
  const Profile::Key key{text, Layout::plain};
  DatabaseEntry entry;
  entry.cost.operands = entry.cost.results = Layout::plain;
  entry.cost.median = Nanoseconds{sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2};
  entry.cost.spread = Nanoseconds{(sorted.back() - sorted.front()) / 2};
  entry.cost.repeats = static_cast<int>(sorted.size());
  profile.kernels.emplace(key, std::move(entry));
  if (sorted.back() > kAgreement * sorted.front()) {
    profile.marks.emplace(key, Mark::contradicted);
  } else if (times.at_floor) {
    profile.marks.emplace(key, Mark::at_floor);
  }
}

}  // namespace

Result<Profile> profile_of_neusight(std::span<const Table> tables, std::string_view device) {
  TableReader reader;
  for (const Table& table : tables) XFLOW_CHECK(reader.read(table));
  if (tables.empty()) return fail(ErrorCode::invalid_argument, "expected one table or more");
  XFLOW_TRY(const std::string chosen, chosen_device(reader.devices(), device));
  Profile profile;
  profile.device.name = "gpu";
  profile.device.model = chosen;
  profile.device.library = "PyTorch 2.1, CUDA 12.1, cuDNN 8.9.2, float32";
  profile.device.clock = "time of the operator in PyTorch's profiler";
  profile.device.threads = 1;
  profile.source =
      fmt::format("NeuSight (https://github.com/sitar-lab/NeuSight, tables as of commit 6945927): {}", fmt::join(reader.sources(), ", "));
  profile.licence = "MIT, Copyright 2025 Georgia Institute of Technology and Microsoft Corporation";
  Nanoseconds least{std::numeric_limits<double>::infinity()};
  for (const auto& [text, times] : reader.devices().find(chosen)->second) {
    add_times(profile, text, times);
    least = std::min(least, Nanoseconds{std::ranges::min(times.nanoseconds)});
  }
  if (const GpuFigures* figures = find_gpu_figures(chosen)) profile.roofline = roofline_of(*figures, least);
  return profile;
}

}  // namespace xflow::cost::profile
