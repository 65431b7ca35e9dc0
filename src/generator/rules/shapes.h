// The most general shapes of the inputs under which both sides of a candidate are well typed with outputs of equal shapes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/egraph/vocabulary.h"
#include "src/generator/enumerate/candidates.h"

namespace xflow::generator {

// A dimension as the sum of unknowns. What is 1 or the size of a window stays that: negative numbers.
using Parts = std::vector<int>;
inline constexpr int kOnePart = -1;
inline constexpr int kWindowPart = -2;

using EqualUnknowns = std::vector<std::pair<int, int>>;

class GeneralShapes {
 public:
  // `equal`: unknowns that are taken for one.
  GeneralShapes(const GraphSignature& signature, const Candidate& candidate, const EqualUnknowns& equal = {});

  // The unknown dimensions of the inputs, ascending.
  std::vector<int> unknowns() const;
  // Whether two unknowns are of one size in what was enumerated.
  bool is_one_size(int a, int b) const {
    return signature_.dim(dims_[static_cast<std::size_t>(a)]).name == signature_.dim(dims_[static_cast<std::size_t>(b)]).name;
  }

  // Inputs that occur, ascending.
  const std::vector<std::uint8_t>& inputs() const { return inputs_; }
  // The dimensions of a leaf that is read, of others none; unknowns that must be equal have one number.
  std::vector<Parts> dims(std::uint8_t leaf) const;
  // Of a value of the source or target.
  std::vector<Parts> source_dims(std::uint8_t value) const { return resolved(source_[value]); }
  std::vector<Parts> target_dims(std::uint8_t value) const { return resolved(target_[value]); }

  // The candidate at sizes of which those of different unknowns differ.
  FlatEquation concrete(Vocabulary& vocabulary) const;

 private:
  using Dims = std::vector<Parts>;
  int find(int part) const;
  void unify(const Parts& a, const Parts& b);
  void unify(const Dims& a, const Dims& b);
  std::vector<Dims> type(const Choice& choice, const std::vector<Dims>& operands);
  std::vector<Dims> side(const SmallGraph& graph);
  std::vector<Parts> resolved(const Dims& dims) const;
  // `sizes`: by representative of unknowns.
  FlatGraph flat(Vocabulary& vocabulary, const SmallGraph& graph, const std::vector<Dims>& values,
                 std::span<const std::int64_t> sizes) const;
  std::vector<std::int64_t> sizes() const;
  std::int64_t size(const Parts& parts, std::span<const std::int64_t> sizes) const;

  const GraphSignature& signature_;
  const Candidate& candidate_;
  std::vector<std::uint8_t> inputs_;
  mutable std::vector<int> parents_;
  std::vector<DimId> dims_;   // of unknowns: the enumerated dimension
  std::vector<Dims> leaves_;  // that are read
  std::vector<Dims> source_;  // by value
  std::vector<Dims> target_;
  int one_ = 0;
  int window_ = 0;
};

}  // namespace xflow::generator
