// Computes the most general shapes of a candidate's inputs for which both sides are well typed and have
// outputs of equal shapes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/egraph/vocabulary.h"
#include "src/generator/enumerate/candidates.h"

namespace xflow::generator {

// A dimension as a sum of unknowns. The constants 1 and the size of a window are the negative numbers below.
using Parts = std::vector<int>;
inline constexpr int kOnePart = -1;
inline constexpr int kWindowPart = -2;

using EqualUnknowns = std::vector<std::pair<int, int>>;

class GeneralShapes {
 public:
  // `equal`: pairs of unknowns that are identified.
  GeneralShapes(const GraphSignature& signature, const RuleCandidate& candidate, const EqualUnknowns& equal = {});

  // The unknown dimensions of the inputs, ascending.
  std::vector<int> unknowns() const;
  // Whether two unknowns have the same enumerated size.
  bool is_one_size(int a, int b) const {
    return signature_.dim(dims_[static_cast<std::size_t>(a)]).name == signature_.dim(dims_[static_cast<std::size_t>(b)]).name;
  }

  // The inputs that occur, ascending.
  const std::vector<std::uint8_t>& inputs() const { return inputs_; }
  // The dimensions of a leaf that is read; other leaves have none. Unknowns that must be equal have the same
  // number.
  std::vector<Parts> dims(std::uint8_t leaf) const;
  // The dimensions of a value of the source or target.
  std::vector<Parts> source_dims(std::uint8_t value) const { return resolved(source_[value]); }
  std::vector<Parts> target_dims(std::uint8_t value) const { return resolved(target_[value]); }

  // The candidate at sizes where different unknowns have different sizes.
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
  const RuleCandidate& candidate_;
  std::vector<std::uint8_t> inputs_;
  mutable std::vector<int> parents_;
  std::vector<DimId> dims_;   // by unknown: the enumerated dimension
  std::vector<Dims> leaves_;  // by leaf; empty for leaves that are not read
  std::vector<Dims> source_;  // by value
  std::vector<Dims> target_;
  int one_ = 0;
  int window_ = 0;
};

}  // namespace xflow::generator
