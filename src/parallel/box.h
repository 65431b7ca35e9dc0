// Parts of tensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace xflow::parallel {

// Elements [begin, end) of a dimension.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

// A part of a tensor: an interval of each dimension.
using Box = std::vector<Interval>;

inline double elements(const Box& box) {
  double product = 1;
  for (const Interval& own : box) product *= static_cast<double>(own.size());
  return product;
}

inline bool contains(const Box& whole, const Box& part) {
  for (std::size_t k = 0; k < whole.size(); ++k)
    if (part[k].begin < whole[k].begin || part[k].end > whole[k].end) return false;
  return true;
}

// nullopt if they have no element in common.
inline std::optional<Box> intersection(const Box& a, const Box& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::max(a[k].begin, b[k].begin) >= std::min(a[k].end, b[k].end)) return std::nullopt;
  Box box(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) box[k] = {std::max(a[k].begin, b[k].begin), std::min(a[k].end, b[k].end)};
  return box;
}

// Makes `box` the hull of both.
inline void widen(Box& box, const Box& other) {
  for (std::size_t k = 0; k < box.size(); ++k) {
    box[k].begin = std::min(box[k].begin, other[k].begin);
    box[k].end = std::max(box[k].end, other[k].end);
  }
}

}  // namespace xflow::parallel
