// Some elements of a tensor: which, and what they are.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/eval/tensor.h"
#include "src/ir/graph.h"

namespace xflow::eval {

// Which positions of one dimension a tensor holds, and which of them a read of any other position gets.
struct Positions {
  std::int64_t size = 0;             // of the dimension
  std::vector<std::int64_t> chosen;  // ascending; empty: all of them
  // At least 1: the dimension is cut into intervals of so many positions, each with one chosen position, which is read in the place of all
  // of its interval. 0: only chosen positions may be read.
  std::int64_t interval = 0;

  bool all() const { return chosen.empty(); }
  std::int64_t count() const { return all() ? size : static_cast<std::int64_t>(chosen.size()); }
};
using Sample = std::vector<Positions>;  // by dimension: the product of the chosen positions

std::uint64_t count_of(const Sample& sample);
std::uint64_t size_of(const Sample& sample);  // elements of the whole tensor
bool is_whole(const Sample& sample);
Sample whole(const std::vector<std::int64_t>& dims);
// At most `most` elements of a tensor, at least one: dimensions are halved, the longest first. One position of each interval is chosen, the
// first of the first, the last of the last, and between them in a fixed order that looks random.
Sample sample_of(const std::vector<std::int64_t>& dims, std::uint64_t most);
// Takes half of the longest dimension's positions, and no more than 2^20. False if no dimension has more than one.
bool halve(Sample& sample);

struct SampledTensor {
  Tensor tensor;  // the chosen elements; its dims are the numbers of chosen positions
  Sample sample;

  static SampledTensor of(Tensor tensor);  // all of its elements
  bool all() const;
  // The whole tensor's index of a chosen element.
  std::vector<std::int64_t> index_of(std::uint64_t element) const;
};
using SampledBindings = std::unordered_map<ir::ValueId, SampledTensor>;

}  // namespace xflow::eval
