#include "src/devices/profile/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "src/ir/narrow.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

namespace xflow::cost::profile {
namespace {

double elements(std::span<const std::int64_t> dims) {
  double count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<double>(dim);
  return count;
}

double bytes(const ops::TensorSpec& tensor) { return elements(tensor.dims) * static_cast<double>(ir::bits(tensor.data_type)) / 8; }

// Two products: [..., rows, width] of queries with [..., width, keys], and their weights with values. The
// value is [..., keys, width].
double products_of_attention(const ops::KernelSpec& spec) {
  if (spec.operands.size() < 3 || spec.operands[2].dims.size() < 2) return 0;
  const std::vector<std::int64_t>& value = spec.operands[2].dims;
  return 2 * (elements(spec.operands[0].dims) + elements(spec.results[0].dims)) * static_cast<double>(value[value.size() - 2]);
}

// Weights are [outputs, inputs / groups, kernel...] for a convolution and [inputs, outputs / groups,
// kernel...] for a transposed one.
double products(const ops::KernelSpec& spec) {
  if (spec.operands.empty() || spec.results.empty()) return 0;
  const ops::TensorSpec& x = spec.operands[0];
  const double results = elements(spec.results[0].dims);
  if (spec.is(ops::KernelFamily::attention)) return products_of_attention(spec);
  if (spec.is(ops::KernelFamily::product) && !x.dims.empty()) return 2 * results * static_cast<double>(x.dims.back());
  if (spec.operands.size() > 1 && !spec.operands[1].dims.empty()) {
    const ops::TensorSpec& weight = spec.operands[1];
    const double each = elements(std::span(weight.dims).subspan(1));
    if (spec.is(ops::Op::Conv)) return 2 * results * each;
    if (spec.is(ops::Op::ConvTranspose)) return 2 * elements(x.dims) * each;
  }
  if (const auto* window = spec.find("kernel"); window != nullptr && spec.is(ops::KernelFamily::pooling))
    return results * elements(*window);
  if (spec.is(ops::KernelFamily::copy) || spec.is(ops::KernelFamily::reorder) || is_pointwise(spec)) return 0;
  return elements(x.dims);
}

// Each element of the result is read from the first operand, of which others are not read: rows of a table,
// for example.
bool reads_what_it_writes(const ops::KernelSpec& spec) {
  return spec.is(ops::Op::Slice) || spec.is(ops::Op::Gather) || spec.is(ops::Op::GatherElements) || spec.is(ops::Op::GatherNd);
}

}  // namespace

Features features_of(const ops::KernelSpec& spec) {
  Features features;
  features.products = products(spec);
  double results = 0;
  for (const ops::TensorSpec& tensor : spec.results) {
    features.bytes += bytes(tensor);
    results += elements(tensor.dims);
  }
  const double written = features.bytes;
  for (std::size_t k = 0; k < spec.operands.size(); ++k) {
    const double all = bytes(spec.operands[k]);
    features.bytes += k == 0 && reads_what_it_writes(spec) ? std::min(all, written) : all;
  }
  for (const ops::PostOperation& post : spec.post)
    for (const ops::TensorSpec& tensor : post.operands) features.bytes += bytes(tensor);
  features.elementwise = results * static_cast<double>(spec.post.size() + (is_pointwise(spec) ? 1 : 0));
  return features;
}

std::vector<double> sizes_of(const ops::KernelSpec& spec) {
  std::vector<double> sizes;
  const auto add = [&](const std::vector<ops::TensorSpec>& tensors, std::size_t k) {
    const std::span<const std::int64_t> dims = k < tensors.size() ? std::span(tensors[k].dims) : std::span<const std::int64_t>();
    const std::size_t rank = dims.size();
    // The dimensions at either end, which are those of batches, channels, rows and columns.
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}, rank - 2, rank - 1})
      sizes.push_back(at < rank ? std::log1p(static_cast<double>(dims[at])) : 0);
    sizes.push_back(rank == 0 ? 0 : std::log1p(elements(dims)));
  };
  add(spec.operands, 0);
  add(spec.operands, 1);
  add(spec.results, 0);
  const std::array<double, 4> features = logarithms(features_of(spec));
  sizes.insert(sizes.end(), features.begin(), features.end());
  sizes.push_back(static_cast<double>(spec.post.size()));
  return sizes;
}

std::optional<GroupChannels> group_channels_of(const ops::KernelSpec& spec) {
  const auto* groups = spec.find("groups");
  if (!spec.is(ops::KernelFamily::convolution) || groups == nullptr || groups->empty() || groups->front() <= 1) return std::nullopt;
  if (spec.operands.size() < 2 || spec.operands[1].dims.size() < 2) return std::nullopt;
  const auto all = static_cast<double>(spec.operands[1].dims[0]) / static_cast<double>(groups->front());
  const auto each = static_cast<double>(spec.operands[1].dims[1]);
  return spec.is(ops::Op::Conv) ? GroupChannels{each, all} : GroupChannels{all, each};
}

bool has_plausible_sizes(const ops::KernelSpec& spec) {
  constexpr double kMostBytes = 1e18;
  const auto all_natural = [](const std::vector<ops::TensorSpec>& tensors) {
    return std::ranges::all_of(
        tensors, [](const ops::TensorSpec& tensor) { return std::ranges::all_of(tensor.dims, [](std::int64_t dim) { return dim >= 0; }); });
  };
  const bool posts = std::ranges::all_of(spec.post, [&](const ops::PostOperation& post) { return all_natural(post.operands); });
  return posts && all_natural(spec.operands) && all_natural(spec.results) && features_of(spec).bytes < kMostBytes;
}

ir::DataType computing_type(const ops::KernelSpec& spec) {
  if (spec.is(ops::KernelFamily::product) && !spec.operands.empty() && ir::is_narrow_floating(spec.operands[0].data_type))
    return spec.operands[0].data_type;
  return spec.results.empty() ? ir::DataType::undefined : spec.results[0].data_type;
}

std::string class_of(const ops::KernelSpec& spec) {
  std::string kind = is_pointwise(spec) ? "pointwise" : ops::kernel_name(spec);
  if (spec.is(ops::Op::Conv) && spec.operands.size() > 1) {
    const std::vector<std::int64_t>& weight = spec.operands[1].dims;
    const auto* groups = spec.find("groups");
    const bool grouped = groups != nullptr && !groups->empty() && groups->front() > 1;
    const bool small =
        std::all_of(weight.begin() + std::min<std::ptrdiff_t>(2, std::ssize(weight)), weight.end(), [](auto k) { return k == 1; });
    kind += grouped && weight.size() > 1 && weight[1] == 1 ? " depthwise" : grouped ? " grouped" : small ? " 1x1" : "";
  }
  const ir::DataType result = spec.results.empty() ? ir::DataType::undefined : spec.results[0].data_type;
  const ir::DataType computing = computing_type(spec);
  return computing == result ? fmt::format("{} {}", kind, ir::name(result))
                             : fmt::format("{} {} of {}", kind, ir::name(result), ir::name(computing));
}

std::array<double, 4> logarithms(const Features& features) {
  std::array<double, 4> list = features.list();
  for (double& feature : list) feature = std::log1p(feature);
  return list;
}

double distance(const std::array<double, 4>& a, const std::array<double, 4>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::abs(a[k] - b[k]);
  return sum;
}

double distance(const Features& a, const Features& b) { return distance(logarithms(a), logarithms(b)); }

}  // namespace xflow::cost::profile
