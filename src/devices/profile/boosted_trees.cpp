#include "src/devices/profile/boosted_trees.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace xflow::cost::profile {
namespace {

constexpr std::size_t kTrees = 200;
constexpr double kRate = 0.15;  // the share of the errors that a tree removes
// Leaves of a tree: one for so many rows, within the range.
constexpr std::size_t kRowsOfALeaf = 300;
constexpr std::size_t kLeastLeaves = 31;
constexpr std::size_t kMostLeaves = 63;
constexpr std::size_t kLeastRows = 20;  // of a leaf
constexpr std::size_t kBins = 256;

struct Bin {
  double sum = 0;  // of the errors of its rows
  double rows = 0;
};
using Histogram = std::vector<Bin>;  // kBins of each column

struct Split {
  double gain = 0;  // 0: none
  std::uint32_t column = 0;
  std::uint8_t bin = 0;  // the last one of the first child
};

// A part of the rows that is to become a leaf or to be split.
struct Part {
  std::uint32_t node = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  Bin all;
  Histogram histogram;
  Split split;
};

double score(const Bin& bin) { return bin.rows == 0 ? 0 : bin.sum * bin.sum / bin.rows; }

}  // namespace

// The state of a fit.
class TreeFit {
 public:
  TreeFit(const NumberTable& rows, std::span<const double> targets, BoostedTrees& trees)
      : rows_(rows), trees_(trees), errors_(targets.begin(), targets.end()), order_(rows.rows()) {
    for (std::size_t column = 0; column < rows.columns; ++column) add_column(column);
    bins_.resize(rows.rows() * columns_.size());
    for (std::size_t row = 0; row < rows.rows(); ++row)
      for (std::size_t k = 0; k < columns_.size(); ++k) bins_[row * columns_.size() + k] = columns_[k].bins[row];
    std::iota(order_.begin(), order_.end(), 0U);
  }

  void add_tree() {
    std::vector<Part> parts;
    parts.push_back(part_of(new_node(), 0, order_.size()));
    trees_.roots_.push_back(parts[0].node);
    parts[0].histogram = histogram_of(parts[0]);
    find_split(parts[0]);
    const std::size_t leaves = std::clamp(order_.size() / kRowsOfALeaf, kLeastLeaves, kMostLeaves);
    while (parts.size() < leaves) {
      const auto best = std::ranges::max_element(parts, {}, [](const Part& part) { return part.split.gain; });
      if (best->split.gain <= 0) break;
      auto [first, second] = divide(*best);
      *best = std::move(first);
      parts.push_back(std::move(second));
    }
    for (const Part& part : parts) {
      const double value = kRate * part.all.sum / part.all.rows;
      trees_.nodes_[part.node].value = value;
      for (std::size_t k = part.begin; k < part.end; ++k) errors_[order_[k]] -= value;
    }
  }

 private:
  struct Column {
    std::size_t number = 0;
    std::vector<double> limits;      // the largest number of each bin but the last
    std::vector<std::uint8_t> bins;  // of each row
  };

  // Columns of one number tell nothing, nor do those that order the rows as an earlier one does.
  void add_column(std::size_t number) {
    Column column{number, {}, {}};
    std::vector<double> sorted(rows_.rows());
    for (std::size_t row = 0; row < sorted.size(); ++row) sorted[row] = rows_.row(row)[number];
    std::ranges::sort(sorted);
    for (std::size_t k = 1; k < kBins; ++k) {
      const double limit = sorted[k * (sorted.size() - 1) / kBins];
      if (limit < sorted.back() && (column.limits.empty() || column.limits.back() < limit)) column.limits.push_back(limit);
    }
    if (column.limits.empty()) return;
    column.bins.resize(sorted.size());
    for (std::size_t row = 0; row < sorted.size(); ++row)
      column.bins[row] = static_cast<std::uint8_t>(std::ranges::lower_bound(column.limits, rows_.row(row)[number]) - column.limits.begin());
    if (std::ranges::none_of(columns_, [&](const Column& other) { return other.bins == column.bins; }))
      columns_.push_back(std::move(column));
  }

  std::uint32_t new_node() {
    trees_.nodes_.emplace_back();
    return static_cast<std::uint32_t>(trees_.nodes_.size() - 1);
  }

  Part part_of(std::uint32_t node, std::size_t begin, std::size_t end) const {
    Part part;
    part.node = node;
    part.begin = begin;
    part.end = end;
    part.all.rows = static_cast<double>(end - begin);
    for (std::size_t k = begin; k < end; ++k) part.all.sum += errors_[order_[k]];
    return part;
  }

  Histogram histogram_of(const Part& part) const {
    Histogram histogram(columns_.size() * kBins);
    for (std::size_t k = part.begin; k < part.end; ++k) {
      const double error = errors_[order_[k]];
      const std::uint8_t* const bins = &bins_[order_[k] * columns_.size()];
      for (std::size_t column = 0; column < columns_.size(); ++column) {
        Bin& bin = histogram[column * kBins + bins[column]];
        bin.sum += error;
        bin.rows += 1;
      }
    }
    return histogram;
  }

  void find_split(Part& part) const {
    part.split = {};
    if (part.all.rows < 2 * static_cast<double>(kLeastRows)) return;
    const double whole = score(part.all);
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      Bin first;
      for (std::size_t k = 0; k < columns_[column].limits.size(); ++k) {
        const Bin& bin = part.histogram[column * kBins + k];
        first.sum += bin.sum;
        first.rows += bin.rows;
        const Bin second{part.all.sum - first.sum, part.all.rows - first.rows};
        if (first.rows < static_cast<double>(kLeastRows)) continue;
        if (second.rows < static_cast<double>(kLeastRows)) break;
        const double gain = score(first) + score(second) - whole;
        if (gain > part.split.gain) part.split = {gain, static_cast<std::uint32_t>(column), static_cast<std::uint8_t>(k)};
      }
    }
  }

  std::pair<Part, Part> divide(Part& part) {
    const Split split = part.split;
    const Column& column = columns_[split.column];
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(part.begin);
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(part.end);
    const auto middle = std::stable_partition(begin, end, [&](std::uint32_t row) { return column.bins[row] <= split.bin; });
    const std::uint32_t children = new_node();
    new_node();
    trees_.nodes_[part.node] = {children, static_cast<std::uint32_t>(column.number), column.limits[split.bin]};
    const auto at = static_cast<std::size_t>(middle - order_.begin());
    std::pair<Part, Part> halves{part_of(children, part.begin, at), part_of(children + 1, at, part.end)};
    Part& less = at - part.begin < part.end - at ? halves.first : halves.second;
    Part& more = &less == &halves.first ? halves.second : halves.first;
    less.histogram = histogram_of(less);
    more.histogram = std::move(part.histogram);
    for (std::size_t k = 0; k < more.histogram.size(); ++k) {
      more.histogram[k].sum -= less.histogram[k].sum;
      more.histogram[k].rows -= less.histogram[k].rows;
    }
    find_split(halves.first);
    find_split(halves.second);
    return halves;
  }

  const NumberTable& rows_;
  BoostedTrees& trees_;
  std::vector<double> errors_;
  std::vector<std::uint32_t> order_;  // the rows of each part are neighbours
  std::vector<Column> columns_;
  std::vector<std::uint8_t> bins_;  // of each row, for each column
};

void NumberTable::add(std::span<const double> row) {
  if (columns == 0) columns = row.size();
  assert(row.size() == columns);
  numbers.insert(numbers.end(), row.begin(), row.end());
}

BoostedTrees::BoostedTrees(const NumberTable& rows, std::span<const double> targets) {
  assert(rows.rows() == targets.size() && !targets.empty());
  TreeFit fit(rows, targets, *this);
  for (std::size_t k = 0; k < kTrees; ++k) fit.add_tree();
}

double BoostedTrees::value_of(std::span<const double> row) const {
  double value = 0;
  for (std::uint32_t at : roots_) {
    while (nodes_[at].children != 0) at = nodes_[at].children + (row[nodes_[at].column] <= nodes_[at].value ? 0 : 1);
    value += nodes_[at].value;
  }
  return value;
}

}  // namespace xflow::cost::profile
