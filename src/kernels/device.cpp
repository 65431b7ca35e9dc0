#include "src/kernels/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace xflow::cost {
namespace {

constexpr std::array<std::string_view, 6> kLayoutNames = {"any", "plain", "channels_last", "blocked4", "blocked8", "blocked16"};

}  // namespace

std::string to_string(Nanoseconds time) {
  const double ns = time.count();
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3g} s", ns / 1e9);
}

std::string_view name(Layout layout) { return kLayoutNames[static_cast<std::size_t>(layout)]; }

std::optional<Layout> layout_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kLayoutNames.size(); ++i) {
    if (kLayoutNames[i] == name) return static_cast<Layout>(i);
  }
  return std::nullopt;
}

bool has_layouts(const ops::TensorSpec& tensor) { return tensor.dims.size() >= 3 && tensor.dims.size() <= 5; }

bool same_bytes(const ops::TensorSpec& tensor, Layout from, Layout to) {
  if (from == to || !has_layouts(tensor)) return true;
  const auto block_of = [](Layout layout) {
    return layout == Layout::blocked4 ? 4 : layout == Layout::blocked8 ? 8 : layout == Layout::blocked16 ? 16 : 1;
  };
  const std::int64_t channels = tensor.dims[1];
  const std::int64_t block = std::max(block_of(from), block_of(to));
  const bool one_place = std::all_of(tensor.dims.begin() + 2, tensor.dims.end(), [](std::int64_t d) { return d == 1; });
  if (channels % block != 0) return false;
  if (one_place) return true;
  if (block == 1) return channels == 1;
  return channels == block && (from == Layout::channels_last || to == Layout::channels_last);
}

Nanoseconds independent_deviation(std::span<const WeightedPrice> prices) {
  double variance = 0;
  for (const WeightedPrice& price : prices) {
    const double error = price.count * price.cost.median.count() * std::max(kPriceNoise, price.cost.interference);
    variance += error * error;
  }
  return Nanoseconds{std::sqrt(variance)};
}

double sureness_of(Nanoseconds gain, Nanoseconds deviation) {
  if (deviation <= Nanoseconds(0)) return gain > Nanoseconds(0) ? 1 : 0;
  return std::erfc(-gain / deviation / std::sqrt(2.0)) / 2;
}

ops::KernelSpec reorder_spec(const ops::TensorSpec& tensor, Layout from, Layout to) {
  ops::KernelSpec spec;
  spec.family = ops::KernelFamily::reorder;
  spec.operands = {tensor};
  spec.results = {tensor};
  spec.results[0].constant = false;
  spec.integers = {{"from", {static_cast<std::int64_t>(from)}}, {"to", {static_cast<std::int64_t>(to)}}};
  spec.words = {{"", fmt::format("{}>{}", name(from), name(to))}};
  return spec;
}

}  // namespace xflow::cost
