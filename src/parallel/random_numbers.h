// Random numbers that are the same with every standard library.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

namespace xflow::parallel {

// xoshiro256** of Blackman and Vigna (Scrambled linear pseudorandom number generators, 2021), seeded by
// splitmix64.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15U;
      std::uint64_t mixed = (seed ^ (seed >> 30U)) * 0xbf58476d1ce4e5b9U;
      mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
      word = mixed ^ (mixed >> 31U);
    }
  }

  std::uint64_t bits() {
    const std::uint64_t result = rotated(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotated(state_[3], 45);
    return result;
  }
  // From 0 to below `count`, which is positive.
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(((bits() >> 32U) * count) >> 32U); }
  // In (0, 1].
  double unit() { return (static_cast<double>(bits() >> 11U) + 1) * 0x1p-53; }
  template <typename T>
  void shuffle(std::span<T> values) {
    for (std::size_t k = values.size(); k > 1; --k) std::swap(values[k - 1], values[below(static_cast<std::uint32_t>(k))]);
  }

 private:
  static std::uint64_t rotated(std::uint64_t x, unsigned by) { return (x << by) | (x >> (64U - by)); }

  std::uint64_t state_[4] = {};
};

}  // namespace xflow::parallel
