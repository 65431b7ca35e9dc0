#include "src/equivalence/links.h"

#include <algorithm>
#include <numeric>

namespace xflow::equivalence {
namespace {

constexpr std::size_t kMostRank = 5;  // permutations of more axes are not tried

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
  return strides;
}

std::int64_t count_of(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, [](std::int64_t a, std::int64_t b) { return a * b; });
}

// Calls `visit` with the offset of each element of a box, in row-major order, until it returns false. The
// offset is that of the strides, from `offset` on.
template <typename Visit>
bool each(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides, std::int64_t offset, const Visit& visit) {
  if (count_of(sizes) == 0) return true;
  std::vector<std::int64_t> index(sizes.size(), 0);
  for (;;) {
    if (!visit(offset)) return false;
    std::size_t k = sizes.size();
    while (k-- > 0) {
      offset += strides[k];
      if (++index[k] < sizes[k]) break;
      offset -= strides[k] * sizes[k];
      index[k] = 0;
    }
    if (k == static_cast<std::size_t>(-1)) return true;
  }
}

// Whether the box of the whole at `offset` has the elements of the part.
bool is_at(const Elements& part, const Elements& whole, const std::vector<std::int64_t>& strides, std::int64_t offset) {
  std::size_t next = 0;
  return each(part.dims, strides, offset,
              [&](std::int64_t at) { return part.values[next++] == whole.values[static_cast<std::size_t>(at)]; });
}

// The bounds of the elements other than 0 in a box of a constant: [first, end) for each axis. All are 0 if
// there is none.
struct Bounds {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> end;
};
Bounds value_bounds(const Elements& constant, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& sizes) {
  const std::vector<std::int64_t> strides = strides_of(constant.dims);
  Bounds bounds{sizes, std::vector<std::int64_t>(sizes.size(), 0)};
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) offset += starts[k] * strides[k];
  bool any = false;
  each(sizes, strides, offset, [&](std::int64_t at) {
    if (constant.values[static_cast<std::size_t>(at)] == 0) return true;
    any = true;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::int64_t index = at / strides[k] % constant.dims[k] - starts[k];
      bounds.first[k] = std::min(bounds.first[k], index);
      bounds.end[k] = std::max(bounds.end[k], index + 1);
    }
    return true;
  });
  if (!any) bounds.first.assign(sizes.size(), 0);
  return bounds;
}

// Finds the blocks of one constant along one axis.
class Joining {
 public:
  Joining(const Elements& whole, std::span<const Elements> constants, std::size_t axis)
      : whole_(whole), constants_(constants), axis_(axis), strides_(strides_of(whole.dims)) {}

  std::optional<Joined> run() {
    Joined result{axis_, {}};
    for (std::int64_t at = 0; at < whole_.dims[axis_];) {
      std::optional<Block> block;
      for (std::size_t k = 0; k < constants_.size() && !block; ++k) block = at_place(k, at);
      if (!block) return std::nullopt;
      at += constants_[block->constant].dims[axis_];
      result.blocks.push_back(*std::move(block));
    }
    return result;
  }

 private:
  // The constant as the block that begins at `at`; nothing if it is not.
  std::optional<Block> at_place(std::size_t constant, std::int64_t at) const {
    const Elements& part = constants_[constant];
    if (part.rank() != whole_.rank() || part.values.size() >= whole_.values.size() || part.values.empty()) return std::nullopt;
    for (std::size_t k = 0; k < part.rank(); ++k)
      if (part.dims[k] > whole_.dims[k] - (k == axis_ ? at : 0)) return std::nullopt;
    std::vector<std::int64_t> starts(part.rank(), 0);
    starts[axis_] = at;
    std::vector<std::int64_t> sizes = whole_.dims;
    sizes[axis_] = part.dims[axis_];
    Block block{constant, std::vector<std::int64_t>(part.rank(), 0), std::vector<std::int64_t>(part.rank(), 0)};
    if (sizes != part.dims && !place(part, starts, sizes, block)) return std::nullopt;
    std::int64_t offset = at * strides_[axis_];
    for (std::size_t k = 0; k < part.rank(); ++k) offset += block.begins[k] * strides_[k];
    if (!is_at(part, whole_, strides_, offset)) return std::nullopt;
    return block;
  }

  // Places a smaller constant in a box where the elements other than 0 are. False if it does not fit there.
  bool place(const Elements& part, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& sizes, Block& block) const {
    const Bounds of_box = value_bounds(whole_, starts, sizes);
    const Bounds of_part = value_bounds(part, std::vector<std::int64_t>(part.rank(), 0), part.dims);
    for (std::size_t k = 0; k < part.rank(); ++k) {
      block.begins[k] = of_box.first[k] - of_part.first[k];
      block.ends[k] = sizes[k] - block.begins[k] - part.dims[k];
      if (block.begins[k] < 0 || block.ends[k] < 0 || of_box.end[k] - of_box.first[k] != of_part.end[k] - of_part.first[k]) return false;
    }
    return block.begins[axis_] == 0 && block.ends[axis_] == 0;
  }

  const Elements& whole_;
  std::span<const Elements> constants_;
  std::size_t axis_;
  std::vector<std::int64_t> strides_;
};

}  // namespace

std::optional<PartOf> find_part(const Elements& part, const Elements& whole) {
  if (part.rank() != whole.rank() || part.rank() > kMostRank || part.values.size() > whole.values.size() || part.values.empty())
    return std::nullopt;
  const std::vector<std::int64_t> strides = strides_of(whole.dims);
  std::vector<std::int64_t> permutation(part.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  do {
    std::vector<std::int64_t> permuted_strides;
    std::optional<std::size_t> axis;
    bool fits = true;
    for (std::size_t k = 0; k < part.rank(); ++k) {
      const auto from = static_cast<std::size_t>(permutation[k]);
      permuted_strides.push_back(strides[from]);
      if (part.dims[k] == whole.dims[from]) continue;
      fits = fits && !axis && part.dims[k] < whole.dims[from];
      axis = k;
    }
    if (!fits) continue;
    const std::int64_t most = axis ? whole.dims[static_cast<std::size_t>(permutation[*axis])] - part.dims[*axis] : 0;
    for (std::int64_t start = 0; start <= most; ++start) {
      if (!is_at(part, whole, permuted_strides, axis ? start * permuted_strides[*axis] : 0)) continue;
      PartOf result{permutation, std::vector<std::int64_t>(part.rank(), 0)};
      if (axis) result.starts[*axis] = start;
      return result;
    }
  } while (std::ranges::next_permutation(permutation).found);
  return std::nullopt;
}

std::optional<Joined> find_blocks(const Elements& whole, std::span<const Elements> constants) {
  for (std::size_t axis = 0; axis < whole.rank(); ++axis)
    if (auto found = Joining(whole, constants, axis).run()) return found;
  return std::nullopt;
}

}  // namespace xflow::equivalence
