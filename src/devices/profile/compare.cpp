#include "src/devices/profile/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/devices/profile/features.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/profile/roofline_time.h"
#include "src/kernels/device.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost::profile {
namespace {

// Times that differ by less than this factor do not decide whether a merge is quicker.
constexpr double kDecided = 1.05;
constexpr double kSure = 0.9;  // the probability from which a sign is sure

// A kernel with its times in nanoseconds.
struct Compared {
  ops::KernelSpec spec;
  std::string group;  // class_of the kernel
  bool modelled = false;
  double measured = 0;
  double predicted = 0;
  std::optional<double> roofline;
  TermError error;
};

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

ProfileErrors errors_of(std::string name, bool modelled, const std::vector<const Compared*>& kernels) {
  std::vector<double> errors;
  std::vector<double> roofline;
  std::size_t covered = 0;
  for (const Compared* kernel : kernels) {
    if (std::abs(std::log(kernel->measured / kernel->predicted)) <= kNineTenths * kernel->error.deviation) ++covered;
    errors.push_back(std::abs(kernel->predicted / kernel->measured - 1));
    if (kernel->roofline) roofline.push_back(std::abs(*kernel->roofline / kernel->measured - 1));
  }
  ProfileErrors result{std::move(name), modelled, kernels.size(), median_of(errors), mean_of(errors), std::nullopt, 0};
  result.covered = static_cast<double>(covered) / static_cast<double>(kernels.size());
  if (!roofline.empty()) result.roofline = mean_of(roofline);
  return result;
}

std::vector<ProfileErrors> errors_by_class(const std::vector<Compared>& kernels) {
  std::vector<ProfileErrors> result;
  for (const bool modelled : {false, true}) {
    std::map<std::string, std::vector<const Compared*>> classes;
    std::vector<const Compared*> all;
    for (const Compared& kernel : kernels) {
      if (kernel.modelled != modelled) continue;
      classes[kernel.group].push_back(&kernel);
      all.push_back(&kernel);
    }
    if (all.empty()) continue;
    for (const auto& [group, members] : classes) result.push_back(errors_of(group, modelled, members));
    result.push_back(errors_of("all", modelled, all));
  }
  return result;
}

// The text of a product with 1 in the place of its columns N, so that products which differ in N alone have
// equal texts; and N.
std::optional<std::pair<std::string, std::int64_t>> without_columns(ops::KernelSpec spec) {
  if (!spec.is(ops::KernelFamily::product) || spec.operands.size() != 2 || spec.results.size() != 1) return std::nullopt;
  std::vector<std::int64_t>& weight = spec.operands[1].dims;
  std::vector<std::int64_t>& result = spec.results[0].dims;
  if (weight.size() < 2 || result.empty() || weight.back() != result.back()) return std::nullopt;
  const std::int64_t columns = std::exchange(result.back(), 1);
  weight.back() = 1;
  for (ops::PostOperation& post : spec.post)
    for (ops::TensorSpec& operand : post.operands)
      if (!operand.dims.empty() && operand.dims.back() == columns) operand.dims.back() = 1;
  return std::pair(ops::to_string(spec), columns);
}

void count(MergeSigns& signs, const Compared& a, const Compared& b, const Compared& merged) {
  ++signs.pairs;
  const double two = a.measured + b.measured;
  if (std::max(two, merged.measured) <= kDecided * std::min(two, merged.measured)) return;
  ++signs.decided;
  const bool quicker = merged.measured < two;
  if (quicker) ++signs.one_is_quicker;
  const double gain = a.predicted + b.predicted - merged.predicted;
  const bool right = (gain > 0) == quicker;
  if (right) ++signs.right;
  const std::array<std::pair<TermError, double>, 3> terms = {std::pair(a.error, a.predicted), std::pair(b.error, b.predicted),
                                                             std::pair(merged.error, -merged.predicted)};
  if (sureness_of(Nanoseconds(std::abs(gain)), Nanoseconds(std::sqrt(variance_of_sum(terms)))) >= kSure) {
    ++signs.sure;
    if (right) ++signs.sure_right;
  }
  if (!a.roofline || !b.roofline || !merged.roofline) return;
  signs.roofline_right = signs.roofline_right.value_or(0) + ((*merged.roofline < *a.roofline + *b.roofline) == quicker ? 1 : 0);
}

std::vector<MergeSigns> signs_of_merges(const std::vector<Compared>& kernels, bool has_roofline) {
  std::map<std::string, std::map<std::int64_t, const Compared*>> grids;
  for (const Compared& kernel : kernels)
    if (const auto key = without_columns(kernel.spec)) grids[key->first].emplace(key->second, &kernel);
  std::array<MergeSigns, 2> signs{};
  signs[1].modelled = true;
  if (has_roofline)
    for (MergeSigns& each : signs) each.roofline_right = 0;
  for (const auto& [text, grid] : grids)
    for (auto a = grid.begin(); a != grid.end(); ++a)
      for (auto b = a; b != grid.end(); ++b) {
        const auto merged = grid.find(a->first + b->first);
        if (merged == grid.end()) continue;
        const bool modelled = a->second->modelled || b->second->modelled || merged->second->modelled;
        count(signs[modelled ? 1 : 0], *a->second, *b->second, *merged->second);
      }
  return {signs.begin(), signs.end()};
}

}  // namespace

Result<ProfileComparison> compare(const Profile& profile, const Profile& measured) {
  ProfileComparison result{
      profile.device.model, measured.device.model, {}, {}, measured.count(Mark::at_floor), measured.count(Mark::contradicted), 0};
  ProfileDevice device(profile);
  std::vector<Compared> kernels;
  for (const auto& [key, entry] : measured.kernels) {
    if (!entry.ran || entry.cost.median.count() <= 0 || measured.marks.contains(key)) continue;
    auto spec = ops::parse_kernel(key.first);
    if (!spec) continue;
    const std::size_t modelled = device.modelled();
    const auto predicted = device.measure(*spec, key.second);
    if (!predicted) {
      ++result.refused;
      continue;
    }
    const auto roofline = roofline_time(profile.roofline, *spec);
    Compared kernel{std::move(*spec), {}, device.modelled() > modelled, entry.cost.median.count(), predicted->median.count(),
                    std::nullopt,     {}};
    kernel.error = device.error_of(kernel.spec, key.second);
    kernel.group = class_of(kernel.spec);
    if (roofline) kernel.roofline = roofline->count();
    kernels.push_back(std::move(kernel));
  }
  if (kernels.empty()) return fail(ErrorCode::invalid_argument, "no measured kernel has a time in the profile");
  result.errors = errors_by_class(kernels);
  result.merges = signs_of_merges(kernels, profile.roofline.given());
  return result;
}

Result<ProfilePrices> price(const Profile& profile, const std::vector<std::string>& kernels) {
  ProfilePrices result{profile.device.model, {}};
  ProfileDevice device(profile);
  for (const std::string& text : kernels) {
    XFLOW_TRY(const ops::KernelSpec spec, ops::parse_kernel(text));
    const std::size_t modelled = device.modelled();
    const auto cost = device.measure(spec, Layout::plain);
    if (!cost) return fail(cost.error().code, cost.error().message, text);
    const double factor = std::exp(kNineTenths * device.error_of(spec, Layout::plain).deviation);
    result.kernels.push_back(
        {ops::to_string(spec), cost->median, cost->median / factor, cost->median * factor, device.modelled() > modelled, std::nullopt});
    if (const auto roofline = roofline_time(profile.roofline, spec)) result.kernels.back().roofline = *roofline;
  }
  return result;
}

}  // namespace xflow::cost::profile
