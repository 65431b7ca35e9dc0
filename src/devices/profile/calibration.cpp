#include "src/devices/profile/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <set>

#include "src/ops/kernel_text.h"

namespace xflow::cost::profile {
namespace {

constexpr std::size_t kFeatures = std::tuple_size_v<Rates>;
constexpr int kSteps = 100;
constexpr std::size_t kFold = 5;
constexpr double kNear = 0.3;  // distance (see features.h) at which a kernel has weight 1/e
// The weight of the uncorrected rates, as half a kernel at distance 0 without error.
constexpr double kDoubt = 0.5;

double time_of(const Rates& rates, const Features& features) {
  const Rates list = features.list();
  return std::inner_product(rates.begin(), rates.end(), list.begin(), 0.0);
}

// Solves a·x = b for a symmetric matrix with a positive diagonal; damping makes it regular.
Rates solve(std::array<Rates, kFeatures> a, Rates b) {
  for (std::size_t k = 0; k < kFeatures; ++k)
    for (std::size_t row = k + 1; row < kFeatures; ++row) {
      const double factor = a[row][k] / a[k][k];
      for (std::size_t column = k; column < kFeatures; ++column) a[row][column] -= factor * a[k][column];
      b[row] -= factor * b[k];
    }
  for (std::size_t k = kFeatures; k-- > 0;) {
    for (std::size_t column = k + 1; column < kFeatures; ++column) b[k] -= a[k][column] * b[column];
    b[k] /= a[k][k];
  }
  return b;
}

double squares(const Rates& rates, std::span<const Sample> samples) {
  double sum = 0;
  for (const Sample& sample : samples) {
    const double error = std::log(time_of(rates, sample.features) / sample.time);
    sum += error * error;
  }
  return sum;
}

// One Levenberg-Marquardt step over the logarithms of the rates. A rate of 0 stays 0.
Rates stepped(const Rates& rates, std::span<const Sample> samples, double damping) {
  std::array<Rates, kFeatures> normal{};
  Rates right{};
  for (const Sample& sample : samples) {
    const double time = time_of(rates, sample.features);
    const double error = std::log(time / sample.time);
    Rates share = sample.features.list();
    for (std::size_t k = 0; k < kFeatures; ++k) share[k] *= rates[k] / time;
    for (std::size_t row = 0; row < kFeatures; ++row) {
      right[row] -= share[row] * error;
      for (std::size_t column = 0; column < kFeatures; ++column) normal[row][column] += share[row] * share[column];
    }
  }
  for (std::size_t k = 0; k < kFeatures; ++k) normal[k][k] += damping;
  const Rates step = solve(normal, right);
  Rates next = rates;
  for (std::size_t k = 0; k < kFeatures; ++k) next[k] *= std::exp(std::clamp(step[k], -3.0, 3.0));
  return next;
}

template <typename T>
T median(std::vector<T> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

std::map<std::string, std::vector<Sample>> by_class(std::span<const Sample> samples) {
  std::map<std::string, std::vector<Sample>> classes;
  for (const Sample& sample : samples) classes[sample.group].push_back(sample);
  return classes;
}

// Every fifth text without post-operations. Sorted neighbours are similar, so a fixed permutation comes
// first.
std::set<std::string> held_out(std::span<const Sample> samples) {
  std::set<std::string> sorted;
  for (const Sample& sample : samples) sorted.insert(sample.base);
  std::vector<std::string> bases(sorted.begin(), sorted.end());
  std::uint64_t state = 1;
  for (std::size_t k = bases.size(); k > 1; --k) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(bases[k - 1], bases[(state >> 33U) % k]);
  }
  std::set<std::string> held;
  for (std::size_t k = kFold - 1; k < bases.size(); k += kFold) held.insert(bases[k]);
  return held;
}

HeldOut judged(std::string group, std::size_t kernels, std::vector<double> factors) {
  HeldOut result{std::move(group), kernels, factors.size(), 1, 1};
  if (factors.empty()) return result;
  std::ranges::sort(factors);
  result.median = factors[factors.size() / 2];
  result.most = factors[std::min(factors.size() - 1, factors.size() * 9 / 10)];
  return result;
}

}  // namespace

std::vector<Sample> samples_of(const Profile& profile) {
  std::vector<Sample> samples;
  samples.reserve(profile.kernels.size());
  for (const auto& [key, entry] : profile.kernels) {
    if (!entry.ran || entry.cost.median.count() <= 0) continue;
    const auto spec = ops::parse_kernel(key.first);
    if (!spec) continue;
    std::string base = key.first.substr(0, key.first.find(" | "));
    samples.push_back({class_of(*spec), std::move(base), features_of(*spec), entry.cost.median.count()});
  }
  return samples;
}

Rates fit(std::span<const Sample> samples) {
  // Initial rates: each feature alone takes a quarter of the time.
  Rates rates{};
  for (std::size_t k = 0; k < kFeatures; ++k) {
    std::vector<double> each;
    for (const Sample& sample : samples)
      if (const double amount = sample.features.list()[k]; amount > 0) each.push_back(sample.time / amount);
    if (!each.empty()) rates[k] = median(std::move(each)) / static_cast<double>(kFeatures);
  }
  double damping = 0.01;
  double error = squares(rates, samples);
  for (int step = 0; step < kSteps && damping < 1e9; ++step) {
    const Rates next = stepped(rates, samples, damping);
    const double next_error = squares(next, samples);
    if (next_error < error) {
      rates = next;
      error = next_error;
      damping /= 3;
    } else {
      damping *= 4;
    }
  }
  return rates;
}

Calibration::Calibration(std::span<const Sample> samples) {
  for (const auto& [group, members] : by_class(samples)) {
    if (members.size() < kLeast) continue;
    ClassModel model{fit(members), {}};
    model.neighbours.reserve(members.size());
    for (const Sample& sample : members)
      model.neighbours.push_back({sample.features, std::log(sample.time / time_of(model.rates, sample.features))});
    classes_.emplace(group, std::move(model));
  }
  if (samples.size() >= kLeast) all_ = fit(samples);
}

std::optional<Nanoseconds> Calibration::of_class(const std::string& group, const Features& features) const {
  const auto found = classes_.find(group);
  if (found == classes_.end()) return std::nullopt;
  const ClassModel& model = found->second;
  double weights = kDoubt;
  double errors = 0;
  for (const Neighbour& neighbour : model.neighbours) {
    const double weight = std::exp(-distance(features, neighbour.features) / kNear);
    weights += weight;
    errors += weight * neighbour.error;
  }
  return Nanoseconds{time_of(model.rates, features) * std::exp(errors / weights)};
}

std::optional<Nanoseconds> Calibration::of_all(const Features& features) const {
  if (!all_) return std::nullopt;
  return Nanoseconds{time_of(*all_, features)};
}

std::vector<HeldOut> check(const Profile& profile) {
  std::vector<HeldOut> result;
  std::vector<double> all;
  std::size_t kernels = 0;
  for (const auto& [group, members] : by_class(samples_of(profile))) {
    kernels += members.size();
    const std::set<std::string> out = held_out(members);
    std::vector<Sample> known;
    std::ranges::copy_if(members, std::back_inserter(known), [&](const Sample& sample) { return !out.contains(sample.base); });
    const Calibration calibration(known);
    std::vector<double> factors;
    for (const Sample& sample : members) {
      if (!out.contains(sample.base)) continue;
      if (const auto time = calibration.of_class(group, sample.features))
        factors.push_back(std::exp(std::abs(std::log(time->count() / sample.time))));
    }
    all.insert(all.end(), factors.begin(), factors.end());
    result.push_back(judged(group, members.size(), std::move(factors)));
  }
  result.push_back(judged("all", kernels, std::move(all)));
  return result;
}

}  // namespace xflow::cost::profile
