// Gradient boosting: a sum of small regression trees, each fitted to the errors that the ones before it
// leave (J. Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 29,
// 2001).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace xflow::cost::profile {

// Rows of numbers, all of the same length, one after the other.
struct NumberTable {
  std::size_t columns = 0;
  std::vector<double> numbers;

  std::size_t rows() const { return columns == 0 ? 0 : numbers.size() / columns; }
  std::span<const double> row(std::size_t k) const { return std::span(numbers).subspan(k * columns, columns); }
  // The row must have the length of the others.
  void add(std::span<const double> row);
};

class BoostedTrees {
 public:
  // Predicts a target for each row, by least squares; there are as many targets as rows, and at least one.
  // The same rows and targets give the same trees.
  BoostedTrees(const NumberTable& rows, std::span<const double> targets);

  // The prediction for a row; takes some microseconds.
  double value_of(std::span<const double> row) const;

 private:
  // A split of the rows by one column, or a leaf.
  struct Node {
    std::uint32_t children = 0;  // the first of two in succession; 0: a leaf
    std::uint32_t column = 0;
    double value = 0;  // of a split: rows with at most this go to the first child. Of a leaf: what it adds
  };

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
  friend class TreeFit;
};

}  // namespace xflow::cost::profile
