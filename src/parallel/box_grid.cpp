#include "src/parallel/box_grid.h"

#include <algorithm>

namespace xflow::parallel {

std::optional<BoxGrid> BoxGrid::of(std::span<const Box> boxes) {
  if (boxes.empty()) return std::nullopt;
  BoxGrid grid;
  grid.intervals_.resize(boxes[0].size());
  std::size_t count = 1;
  for (std::size_t d = 0; d < grid.intervals_.size(); ++d) {
    std::vector<Interval>& own = grid.intervals_[d];
    for (const Box& box : boxes) own.push_back(box[d]);
    std::ranges::sort(own);
    own.erase(std::unique(own.begin(), own.end()), own.end());
    for (std::size_t k = 0; k < own.size(); ++k)
      if (own[k].size() <= 0 || (k > 0 && own[k].begin < own[k - 1].end)) return std::nullopt;
    count *= own.size();
    if (count > boxes.size()) return std::nullopt;
  }
  if (count != boxes.size()) return std::nullopt;
  constexpr auto kNone = UINT32_MAX;
  grid.positions_.assign(count, kNone);
  for (std::uint32_t position = 0; position < boxes.size(); ++position) {
    std::size_t at = 0;
    for (std::size_t d = 0; d < grid.intervals_.size(); ++d) {
      const auto& own = grid.intervals_[d];
      at = at * own.size() + static_cast<std::size_t>(std::ranges::lower_bound(own, boxes[position][d]) - own.begin());
    }
    if (grid.positions_[at] != kNone) return std::nullopt;
    grid.positions_[at] = position;
  }
  return grid;
}

std::vector<std::uint32_t> BoxGrid::meeting(const Box& box) const {
  std::vector<std::size_t> found = {0};  // in row-major order of the dimensions so far
  std::vector<std::size_t> next;
  for (std::size_t d = 0; d < intervals_.size(); ++d) {
    const auto& own = intervals_[d];
    const auto first = std::ranges::upper_bound(own, box[d].begin, {}, &Interval::end);
    const auto last = std::ranges::lower_bound(own, box[d].end, {}, &Interval::begin);
    next.clear();
    for (const std::size_t at : found)
      for (auto it = first; it < last; ++it) next.push_back(at * own.size() + static_cast<std::size_t>(it - own.begin()));
    found.swap(next);
  }
  std::vector<std::uint32_t> positions;
  positions.reserve(found.size());
  for (const std::size_t at : found) positions.push_back(positions_[at]);
  std::ranges::sort(positions);
  return positions;
}

std::size_t NumberedBoxes::Hash::operator()(const Box& box) const {
  std::size_t hash = box.size();
  for (const Interval& own : box) {
    boost::hash_combine(hash, own.begin);
    boost::hash_combine(hash, own.end);
  }
  return hash;
}

std::uint32_t NumberedBoxes::number(const Box& box) {
  constexpr std::size_t kFew = 8;  // which are compared one by one
  const auto next = static_cast<std::uint32_t>(boxes_.size());
  if (boxes_.size() <= kFew) {
    const auto known = std::ranges::find(boxes_, box);
    if (known != boxes_.end()) return static_cast<std::uint32_t>(known - boxes_.begin());
    boxes_.push_back(box);
    if (boxes_.size() > kFew)
      for (std::uint32_t k = 0; k <= next; ++k) numbers_.emplace(boxes_[k], k);
    return next;
  }
  const auto [known, is_new] = numbers_.try_emplace(box, next);
  if (is_new) boxes_.push_back(box);
  return known->second;
}

}  // namespace xflow::parallel
