#include "src/devices/profile/calibration.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <set>
#include <string_view>

#include "src/devices/profile/linear_system.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost::profile {
namespace {

constexpr std::size_t kFeatures = std::tuple_size_v<Rates>;
constexpr double kNanosecondsOfSecond = 1e9;
constexpr int kSteps = 100;
constexpr std::size_t kFold = 5;
constexpr double kNear = 0.3;  // distance (see features.h) at which a kernel has weight 1/e
// The weight of the uncorrected rates, as half a kernel at distance 0 without error.
constexpr double kDoubt = 0.5;
// Errors beyond it are those of single measurements, from which trees learn nothing.
constexpr double kMostLearned = 1;

double time_of(const Rates& rates, const Features& features) {
  const Rates list = features.list();
  return std::inner_product(rates.begin(), rates.end(), list.begin(), 0.0);
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
  const Rates step = solve_system(normal, right);
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

// What trees learn from: the sizes of a kernel and the time by its model; nothing for a kernel without
// sizes.
std::vector<double> row_of(std::span<const double> sizes, double time) {
  std::vector<double> row(sizes.begin(), sizes.end());
  if (!row.empty()) row.push_back(std::log(time));
  return row;
}
// For products also how far the tiles that libraries have exceed rows and columns.
std::vector<double> row_of(std::span<const double> sizes, double time, const ProductShape& product) {
  std::vector<double> row = row_of(sizes, time);
  if (row.empty()) return row;
  for (const double tile : {64.0, 128.0})
    for (const double size : {product.rows, product.columns}) row.push_back(std::ceil(size / tile) * tile / size);
  row.push_back(product.batches * std::ceil(product.rows / 128) * std::ceil(product.columns / 128));
  for (const double size : {product.batches, product.rows, product.inner}) row.push_back(std::log(size));
  return row;
}

// FNV-1a: the same everywhere.
std::size_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

}  // namespace

Sample sample_of(const ops::KernelSpec& spec, const std::string& text, double time) {
  return {class_of(spec), text.substr(0, text.find(" | ")), features_of(spec), time, product_shape_of(spec), std::nullopt, {}};
}

std::vector<Sample> samples_of(const Profile& profile) {
  std::vector<Sample> samples;
  samples.reserve(profile.kernels.size());
  for (const auto& [key, entry] : profile.kernels) {
    if (!entry.ran || entry.cost.median.count() <= 0 || profile.marks.contains(key)) continue;
    const auto spec = ops::parse_kernel(key.first);
    if (!spec) continue;
    Sample sample = sample_of(*spec, key.first, entry.cost.median.count());
    sample.sizes = sizes_of(*spec);
    if (sample.product) sample.gpu = gpu_sizes_of(profile.roofline, computing_type(*spec));
    samples.push_back(std::move(sample));
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
    Neighbours& neighbours = model.neighbours;
    neighbours.list.reserve(members.size());
    for (const Sample& sample : members) {
      const double time = time_of(model.rates, sample.features);
      neighbours.list.push_back({logarithms(sample.features), std::log(sample.time / time), hash_of(sample.base)});
      if (!sample.sizes.empty()) neighbours.rows.add(row_of(sample.sizes, time));
    }
    if (fit_waves(group, members) < members.size())
      learn(neighbours);
    else
      neighbours.rows = {};  // waves predict them
    classes_.emplace(group, std::move(model));
  }
  if (samples.size() < kLeast) return;
  all_ = fit(samples);
  deviation_of_all_ = std::sqrt(squares(*all_, samples) / static_cast<double>(samples.size()));
}

std::size_t Calibration::fit_waves(const std::string& group, std::span<const Sample> members) {
  std::size_t fitted = 0;
  for (const ProductKind kind : {ProductKind::shared, ProductKind::batched, ProductKind::convolution}) {
    std::vector<TimedShape> shapes;
    std::vector<const Sample*> used;
    std::optional<GpuSizes> gpu;
    for (const Sample& sample : members) {
      if (!sample.product || !sample.gpu || sample.product->kind != kind) continue;
      gpu = sample.gpu;
      shapes.push_back({*sample.product, sample.time / kNanosecondsOfSecond});
      used.push_back(&sample);
    }
    if (shapes.size() < WaveModel::kLeast) continue;
    ProductModel product{WaveModel(shapes, *gpu), {}};
    Neighbours& neighbours = product.neighbours;
    neighbours.list.reserve(shapes.size());
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      const ProductShape& shape = shapes[k].shape;
      const double time = product.model.time_of(shape);
      neighbours.list.push_back({shape.place, std::log(shapes[k].seconds / time), hash_of(used[k]->base)});
      if (!used[k]->sizes.empty()) neighbours.rows.add(row_of(used[k]->sizes, time, shape));
    }
    learn(neighbours);
    waves_.emplace(std::pair(group, kind), std::move(product));
    fitted += shapes.size();
  }
  return fitted;
}

void Calibration::learn(Neighbours& neighbours) {
  std::vector<Neighbour>& list = neighbours.list;
  if (list.size() <= kLeastOfTrees || neighbours.rows.rows() != list.size()) {
    neighbours.rows = {};
    return;
  }
  for (const Neighbour& one : list) neighbours.raw.push_back(one.error);
  neighbours.trees = trees_of(neighbours, [](std::size_t) { return true; });
  for (std::size_t k = 0; k < list.size(); ++k) list[k].error -= neighbours.trees->value_of(neighbours.rows.row(k));
}

template <typename IsUsed>
BoostedTrees Calibration::trees_of(const Neighbours& neighbours, const IsUsed& is_used) {
  NumberTable rows;
  std::vector<double> errors;
  for (std::size_t k = 0; k < neighbours.list.size(); ++k) {
    if (!is_used(k)) continue;
    rows.add(neighbours.rows.row(k));
    errors.push_back(std::clamp(neighbours.raw[k], -kMostLearned, kMostLearned));
  }
  return {rows, errors};
}

template <typename IsUsed>
Calibration::Correction Calibration::correction(const std::array<double, 4>& at, const std::vector<Neighbour>& neighbours,
                                                const IsUsed& is_used) {
  double weights = kDoubt;
  double errors = 0;
  for (const Neighbour& neighbour : neighbours) {
    if (!is_used(neighbour)) continue;
    const double weight = std::exp(-distance(at, neighbour.at) / kNear);
    weights += weight;
    errors += weight * neighbour.error;
  }
  return {errors / weights, kDoubt / weights};
}

double Calibration::corrected(double time, const std::array<double, 4>& at, std::span<const double> row, const Neighbours& neighbours) {
  assert(!neighbours.trees || row.size() == neighbours.rows.columns);
  const double learned = neighbours.trees ? neighbours.trees->value_of(row) : 0;
  return time * std::exp(learned + correction(at, neighbours.list, [](const Neighbour&) { return true; }).error);
}

// Of few kernels each is held out alone, of many a fifth together; so are kernels with the same base.
std::vector<HeldOutError> Calibration::held_out_errors(const Neighbours& neighbours) {
  constexpr std::size_t kMost = 1'000;
  std::vector<Neighbour> list = neighbours.list;
  const bool alone = list.size() <= kLeastOfTrees;
  const auto is_held = [](const Neighbour& one) { return one.base % kFold == 0; };
  const auto held = alone ? list.size() : static_cast<std::size_t>(std::ranges::count_if(list, is_held));
  if (held == 0) return {};
  if (neighbours.trees && held < list.size()) {
    const BoostedTrees trees = trees_of(neighbours, [&](std::size_t k) { return !is_held(list[k]); });
    for (std::size_t k = 0; k < list.size(); ++k) list[k].error = neighbours.raw[k] - trees.value_of(neighbours.rows.row(k));
  }
  const std::size_t step = held / kMost + 1;
  std::vector<HeldOutError> errors;
  std::size_t number = 0;
  for (const Neighbour& one : list) {
    if ((!alone && !is_held(one)) || number++ % step != 0) continue;
    const Correction expected =
        correction(one.at, list, [&](const Neighbour& other) { return alone ? other.base != one.base : !is_held(other); });
    errors.push_back({one.at, one.base, expected.alone, one.error - expected.error});
  }
  return errors;
}

TermError Calibration::error_at(const std::array<double, 4>& at, const Neighbours& neighbours) {
  if (!neighbours.errors) {
    const std::vector<HeldOutError> errors = held_out_errors(neighbours);
    neighbours.errors = errors.empty() ? ErrorModel() : fit_errors(errors);
  }
  const Correction expected = correction(at, neighbours.list, [](const Neighbour&) { return true; });
  return {&*neighbours.errors, neighbours.errors->deviation(expected.alone), at};
}

std::optional<TermError> Calibration::error_of_class(const std::string& group, const Features& features,
                                                     const std::optional<ProductShape>& product) const {
  if (product) {
    const auto waves = waves_.find(std::pair(group, product->kind));
    if (waves != waves_.end()) return error_at(product->place, waves->second.neighbours);
  }
  const auto found = classes_.find(group);
  if (found == classes_.end()) return std::nullopt;
  return error_at(logarithms(features), found->second.neighbours);
}

std::optional<Nanoseconds> Calibration::of_class(const std::string& group, const Features& features,
                                                 const std::optional<ProductShape>& product, std::span<const double> sizes) const {
  if (product) {
    const auto waves = waves_.find(std::pair(group, product->kind));
    if (waves != waves_.end()) {
      const double time = waves->second.model.time_of(*product);
      return Nanoseconds{kNanosecondsOfSecond * corrected(time, product->place, row_of(sizes, time, *product), waves->second.neighbours)};
    }
  }
  const auto found = classes_.find(group);
  if (found == classes_.end()) return std::nullopt;
  const ClassModel& model = found->second;
  const double time = time_of(model.rates, features);
  return Nanoseconds{corrected(time, logarithms(features), row_of(sizes, time), model.neighbours)};
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
      if (const auto time = calibration.of_class(group, sample.features, sample.product, sample.sizes))
        factors.push_back(std::exp(std::abs(std::log(time->count() / sample.time))));
    }
    all.insert(all.end(), factors.begin(), factors.end());
    result.push_back(judged(group, members.size(), std::move(factors)));
  }
  result.push_back(judged("all", kernels, std::move(all)));
  return result;
}

}  // namespace xflow::cost::profile
