#include "src/devices/fitted_estimates.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "src/devices/profile/calibration.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost {
namespace {

// The samples of a class that a model is fitted to: each prediction looks at all of them.
constexpr std::size_t kMostSamples = 1'000;

bool has_quarter_more(std::size_t now, std::size_t before) { return now >= before + std::max<std::size_t>(1, before / 4); }

// At most kMostSamples, at equal distances.
std::vector<profile::Sample> chosen_from(const std::vector<profile::Sample>& samples) {
  const std::size_t step = (samples.size() + kMostSamples - 1) / kMostSamples;
  std::vector<profile::Sample> chosen;
  for (std::size_t k = 0; k < samples.size(); k += step) chosen.push_back(samples[k]);
  return chosen;
}

// The class of a kernel. Runtimes have other kernels for windows of one and of three dimensions than for
// those of two.
std::string group_of(const ops::KernelSpec& spec) {
  constexpr std::size_t kUsualRank = 4;
  std::string group = profile::class_of(spec);
  const std::size_t rank = spec.operands.empty() ? 0 : spec.operands[0].dims.size();
  if (spec.find("strides") == nullptr || rank == kUsualRank) return group;
  return group + " of rank " + std::to_string(rank);
}

}  // namespace

struct FittedEstimates::Class {
  std::vector<profile::Sample> samples;
  std::size_t fitted = 0;  // samples at the last fit
  std::optional<profile::Calibration> model;
  struct Chosen {  // layouts that the device chose
    profile::Features features;
    Layout operands = Layout::plain;
    Layout results = Layout::plain;
  };
  std::vector<Chosen> chosen;
};

FittedEstimates::FittedEstimates(const Database& database) : database_(database) {}
FittedEstimates::~FittedEstimates() = default;

void FittedEstimates::read() {
  if (read_ != 0 && !has_quarter_more(database_.size(), read_)) return;
  read_ = database_.size();
  std::vector<std::pair<std::string, const DatabaseKey*>> added;
  database_.for_each([&](const DatabaseKey& key, const DatabaseEntry& entry) {
    if (!entry.ran || entry.cost.median.count() <= 0) return;
    std::string text = key.kernel + "@" + std::string(name(key.layout));
    if (seen_.insert(text).second) added.emplace_back(std::move(text), &key);
  });
  std::ranges::sort(added);  // entries come in no particular order
  for (const auto& [text, key] : added) {
    const auto spec = ops::parse_kernel(key->kernel);
    if (!spec) continue;
    const KernelCost& cost = database_.find(*key)->cost;
    profile::Sample sample = profile::sample_of(*spec, key->kernel, cost.median.count());
    sample.group = group_of(*spec);
    std::unique_ptr<Class>& of = classes_[sample.group];
    if (!of) of = std::make_unique<Class>();
    if (key->layout == Layout::any) of->chosen.push_back({sample.features, cost.operands, cost.results});
    of->samples.push_back(std::move(sample));
  }
}

FittedEstimates::Class* FittedEstimates::class_with_model(const std::string& group) {
  read();
  const auto found = classes_.find(group);
  if (found == classes_.end()) return nullptr;
  Class& of = *found->second;
  if (of.samples.size() < profile::Calibration::kLeast) return nullptr;
  if (!of.model || has_quarter_more(of.samples.size(), of.fitted)) {
    of.model.emplace(chosen_from(of.samples));
    of.fitted = of.samples.size();
  }
  return &of;
}

std::optional<Nanoseconds> FittedEstimates::at_least(const ops::KernelSpec& spec) {
  const auto estimate = expected(spec, Layout::plain);
  if (!estimate) return std::nullopt;
  return estimate->cost.median * std::exp(-kDeviations * estimate->deviation);
}

std::optional<KernelEstimate> FittedEstimates::expected(const ops::KernelSpec& spec, Layout layout) {
  const std::string group = group_of(spec);
  Class* of = class_with_model(group);
  if (of == nullptr) return std::nullopt;
  const profile::Features features = profile::features_of(spec);
  const auto time = of->model->of_class(group, features);
  const auto error = of->model->error_of_class(group, features);
  if (!time || !error) return std::nullopt;
  KernelEstimate estimate{{*time}, std::max(error->deviation, kPriceNoise)};
  estimate.cost.operands = estimate.cost.results = layout;
  if (layout != Layout::any) return estimate;
  if (of->chosen.empty() || spec.is(ops::KernelFamily::reorder)) return std::nullopt;  // attributes are the layouts of a reorder
  const auto away = [&](const Class::Chosen& other) { return profile::distance(features, other.features); };
  const Class::Chosen& nearest = *std::ranges::min_element(of->chosen, {}, away);
  estimate.cost.operands = nearest.operands;
  estimate.cost.results = nearest.results;
  return estimate;
}

}  // namespace xflow::cost
