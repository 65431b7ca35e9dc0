// Chosen elements of a tensor: their positions and values.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/eval/tensor.h"
#include "src/ir/graph.h"

namespace xflow::eval {

// The chosen positions of one dimension, and the chosen position that stands for any other position.
struct Positions {
  std::int64_t size = 0;             // of the dimension
  std::vector<std::int64_t> chosen;  // ascending; empty: all of them
  // If at least 1, the dimension is divided into intervals of this many positions. Each interval has one
  // chosen position, which replaces all positions of the interval in reads. If 0, only chosen positions may
  // be read.
  std::int64_t interval = 0;

  bool all() const { return chosen.empty(); }
  std::int64_t count() const { return all() ? size : static_cast<std::int64_t>(chosen.size()); }
};
using Sample = std::vector<Positions>;  // by dimension; the sample is the product of the chosen positions

std::uint64_t count_of(const Sample& sample);
std::uint64_t size_of(const Sample& sample);  // number of elements of the whole tensor
bool is_whole(const Sample& sample);
Sample whole(const std::vector<std::int64_t>& dims);
// A sample of at most `most` elements, but at least one. Dimensions are halved, the longest first. Each
// interval has one chosen position: the first of the first interval, the last of the last, and in between a
// pseudo-random one that is the same in every run.
Sample sample_of(const std::vector<std::int64_t>& dims, std::uint64_t most);
// Halves the number of positions of the longest dimension, to at most 2^20. False if no dimension has more
// than one position.
bool halve(Sample& sample);

// The chosen elements of a tensor.
struct SampledTensor {
  Tensor tensor;  // the chosen elements; its dims are the numbers of chosen positions
  Sample sample;

  static SampledTensor of(Tensor tensor);  // with all elements chosen
  bool all() const;
  // The index in the whole tensor of a chosen element.
  std::vector<std::int64_t> index_of(std::uint64_t element) const;
};
using SampledBindings = std::unordered_map<ir::ValueId, SampledTensor>;

}  // namespace xflow::eval
