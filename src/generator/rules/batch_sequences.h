// Determines the sequences of batch dimensions that a rule on batches of matrices declares. Each input has
// its own sequence, except that inputs that are added or concatenated share one.
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
  // The arguments must outlive the object. `inputs`: the leaves that the candidate reads; the index is the
  // number of the sequence.
  BatchSequences(const GraphSignature& signature, const RuleCandidate& candidate, std::span<const std::uint8_t> inputs)
      : signature_(signature), candidate_(candidate), inputs_(inputs) {}

  // Finds the sequences. With `one`, all inputs share a sequence.
  void find(bool one);

  // The representative of the sequence of an input; equal sequences have the same one.
  int root(int input) const;
  // Whether a sequence has batch dimensions. Operands that need none, such as weights, have none.
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
  const RuleCandidate& candidate_;
  std::span<const std::uint8_t> inputs_;
  std::vector<int> parents_;
  std::set<int> without_;
  std::map<const SmallGraph*, std::vector<Batch>> values_;
};

}  // namespace xflow::generator
