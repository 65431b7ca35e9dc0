// Enumerates the orders of things by a key: things with equal keys have any order among themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace xflow::generator {

// A group, and a key within the group.
using OrderKey = std::pair<std::size_t, std::uint64_t>;

class Orders {
 public:
  // Sets the first order of things 0, 1, ... with these keys; at most 256 things.
  void begin(std::span<const OrderKey> keys) {
    order_.resize(keys.size());
    for (std::size_t k = 0; k < keys.size(); ++k) order_[k] = static_cast<std::uint8_t>(k);
    std::sort(order_.begin(), order_.end(), [&](std::uint8_t a, std::uint8_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
    ties_.clear();
    for (std::size_t first = 0; first < order_.size();) {
      std::size_t end = first + 1;
      while (end < order_.size() && keys[order_[end]] == keys[order_[first]]) ++end;
      if (end - first > 1) ties_.emplace_back(first, end);
      first = end;
    }
  }
  // The thing at each place of the current order.
  std::span<const std::uint8_t> order() const { return order_; }
  // Advances to the next order. Returns false after the last.
  bool next() {
    return std::any_of(ties_.begin(), ties_.end(), [&](const std::pair<std::size_t, std::size_t>& t) {
      return std::next_permutation(order_.begin() + static_cast<std::ptrdiff_t>(t.first),
                                   order_.begin() + static_cast<std::ptrdiff_t>(t.second));
    });
  }

 private:
  std::vector<std::uint8_t> order_;
  std::vector<std::pair<std::size_t, std::size_t>> ties_;
};

}  // namespace xflow::generator
