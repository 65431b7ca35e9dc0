// How constants of two models are made of each other: a part of a larger one, or one joined from others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace xflow::equivalence {

// The elements of a constant.
struct Elements {
  std::vector<std::int64_t> dims;
  std::span<const double> values;

  std::size_t rank() const { return dims.size(); }
};

// transpose(whole, permutation)[starts .. starts + sizes]
struct PartOf {
  std::vector<std::int64_t> permutation;
  std::vector<std::int64_t> starts;
};
// How `part` is read from `whole`: along at most one axis a part, after any permutation of the axes. Nothing
// if it is not.
std::optional<PartOf> find_part(const Elements& part, const Elements& whole);

// One block of a constant that is joined along an axis: a constant, padded with zeros.
struct Block {
  std::size_t constant = 0;  // index in the list
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
};
struct Joined {
  std::size_t axis = 0;
  std::vector<Block> blocks;
};
// How `whole` is joined from constants of the list, each of which is smaller. Nothing if it is not. The
// first one that fits is taken at each place.
std::optional<Joined> find_blocks(const Elements& whole, std::span<const Elements> constants);

}  // namespace xflow::equivalence
