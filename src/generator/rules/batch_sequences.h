// Which sequences of batch dimensions a rule on batches of matrices declares: each input has one of its own, but for inputs that are added
// or concatenated, which share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "src/generator/enumerate/candidates.h"
#include "src/generator/enumerate/graph_signature.h"

namespace xflow::generator {

class BatchSequences {
 public:
  // Arguments must outlive it. `inputs`: leaves that the candidate reads, by the number of their sequence.
  BatchSequences(const GraphSignature& signature, const Candidate& candidate, std::span<const std::uint8_t> inputs)
      : signature_(signature), candidate_(candidate), inputs_(inputs) {}

  // With `one` all inputs share a sequence.
  void find(bool one);

  // The number that stands for the sequence of an input and for all that are the same.
  int root(int input) const;
  // Whether a sequence is one: operands that need not have batch dimensions, as weights, have none.
  bool has_batch(int root) const { return !without_.contains(root); }
  // The sequences of a value, in ascending order.
  std::vector<int> of(const SmallGraph& graph, std::size_t value) const;

 private:
  using Batch = std::vector<int>;
  Batch normal(Batch batch) const;
  void unite(int a, int b);
  void unite(Batch a, Batch b);
  std::vector<Batch> values_of(const SmallGraph& graph);

  const GraphSignature& signature_;
  const Candidate& candidate_;
  std::span<const std::uint8_t> inputs_;
  std::vector<int> parents_;
  std::set<int> without_;
  std::map<const SmallGraph*, std::vector<Batch>> values_;
};

}  // namespace xflow::generator
