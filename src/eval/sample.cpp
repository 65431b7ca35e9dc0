#include "src/eval/sample.h"

#include <algorithm>
#include <utility>

#include "src/eval/saturating.h"

namespace xflow::eval {
namespace {

constexpr std::int64_t kMostChosen = std::int64_t{1} << 20;  // of a dimension, unless all are chosen

// A hash of the arguments (splitmix64).
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9E3779B97F4A7C15ULL + b + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

Positions chosen_of(std::int64_t size, std::int64_t count) {
  if (count >= size) return {size, {}, 0};
  const std::int64_t interval = (size + count - 1) / count;
  Positions result{size, {}, interval};
  for (std::int64_t first = 0; first < size; first += interval) {
    const std::int64_t length = std::min(interval, size - first);
    const bool is_last = first + length == size;
    const auto at = static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(first)) %
                                              static_cast<std::uint64_t>(length));
    result.chosen.push_back(first == 0 ? 0 : is_last ? size - 1 : first + at);
  }
  return result;
}

}  // namespace

std::uint64_t count_of(const Sample& sample) {
  std::uint64_t count = 1;
  for (const Positions& positions : sample) count = saturating_product(count, static_cast<std::uint64_t>(positions.count()));
  return count;
}

std::uint64_t size_of(const Sample& sample) {
  std::uint64_t count = 1;
  for (const Positions& positions : sample) count = saturating_product(count, static_cast<std::uint64_t>(positions.size));
  return count;
}

bool is_whole(const Sample& sample) { return std::ranges::all_of(sample, &Positions::all); }

Sample whole(const std::vector<std::int64_t>& dims) {
  Sample sample;
  for (const std::int64_t dim : dims) sample.push_back({dim, {}, 0});
  return sample;
}

Sample sample_of(const std::vector<std::int64_t>& dims, std::uint64_t most) {
  Sample sample = whole(dims);
  while (count_of(sample) > most && halve(sample)) {
  }
  return sample;
}

bool halve(Sample& sample) {
  const auto longest = std::ranges::max_element(sample, {}, &Positions::count);
  if (longest == sample.end() || longest->count() <= 1) return false;
  *longest = chosen_of(longest->size, std::min((longest->count() + 1) / 2, kMostChosen));
  return true;
}

SampledTensor SampledTensor::of(Tensor tensor) {
  Sample sample = whole(tensor.dims);
  return {std::move(tensor), std::move(sample)};
}

bool SampledTensor::all() const { return is_whole(sample); }

std::vector<std::int64_t> SampledTensor::index_of(std::uint64_t element) const {
  std::vector<std::int64_t> index(sample.size());
  for (std::size_t k = sample.size(); k-- > 0;) {
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(sample[k].count(), 1));
    const auto at = element % count;
    index[k] = sample[k].all() ? static_cast<std::int64_t>(at) : sample[k].chosen[static_cast<std::size_t>(at)];
    element /= count;
  }
  return index;
}

}  // namespace xflow::eval
