// Boxes of the parts of a tensor: those that have elements of another box, and their numbers.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/parallel/box.h"

namespace xflow::parallel {

// Boxes that are all combinations of some intervals of each dimension, as those of a split tensor are.
class BoxGrid {
 public:
  // nullopt if the boxes are no such grid, or have no elements.
  static std::optional<BoxGrid> of(std::span<const Box> boxes);

  // The positions of the boxes with elements of this one, which has elements; ascending.
  std::vector<std::uint32_t> meeting(const Box& box) const;

 private:
  std::vector<std::vector<Interval>> intervals_;  // by dimension; ascending, none meets another
  std::vector<std::uint32_t> positions_;          // of the boxes, in row-major order
};

// Boxes in the order in which they came.
class NumberedBoxes {
 public:
  // The number of a box, which is the next one if the box is new.
  std::uint32_t number(const Box& box);
  const Box& operator[](std::uint32_t number) const { return boxes_[number]; }

 private:
  struct Hash {
    std::size_t operator()(const Box& box) const;
  };
  std::vector<Box> boxes_;
  std::unordered_map<Box, std::uint32_t, Hash> numbers_;  // of many boxes
};

}  // namespace xflow::parallel
