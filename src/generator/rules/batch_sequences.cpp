#include "src/generator/rules/batch_sequences.h"

#include <algorithm>
#include <utility>

namespace xflow::generator {

int BatchSequences::root(int input) const {
  while (parents_[static_cast<std::size_t>(input)] != input) input = parents_[static_cast<std::size_t>(input)];
  return input;
}

void BatchSequences::unite(int a, int b) {
  const int x = root(a);
  const int y = root(b);
  parents_[static_cast<std::size_t>(std::max(x, y))] = std::min(x, y);
}

BatchSequences::Batch BatchSequences::normal(Batch batch) const {
  for (int& x : batch) x = root(x);
  std::sort(batch.begin(), batch.end());
  batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
  std::erase_if(batch, [&](int x) { return without_.contains(x); });
  return batch;
}

void BatchSequences::unite(Batch a, Batch b) {
  a = normal(std::move(a));
  b = normal(std::move(b));
  if (a == b) return;
  if (a.size() == b.size()) {
    for (std::size_t k = 0; k < a.size(); ++k) unite(a[k], b[k]);
    return;
  }
  if (a.size() < b.size()) std::swap(a, b);
  // A sequence on one side only belongs to operands without a batch, such as weights.
  if (std::includes(a.begin(), a.end(), b.begin(), b.end())) {
    for (const int x : a)
      if (std::find(b.begin(), b.end(), x) == b.end()) without_.insert(x);
    return;
  }
  for (const int x : a)
    for (const int y : b) unite(x, y);
}

std::vector<BatchSequences::Batch> BatchSequences::values_of(const SmallGraph& graph) {
  std::vector<Batch> values(signature_.leaves().size());
  // Constants and rows have no batch, and go with any.
  std::vector<bool> free(values.size());
  for (std::size_t k = 0; k < free.size(); ++k) free[k] = signature_.is_constant(k) || signature_.is_row(signature_.leaves()[k].type);
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    if (!free[inputs_[k]]) values[inputs_[k]] = {static_cast<int>(k)};
  for (const SmallGraphNode& n : graph.nodes) {
    const Choice& c = signature_.choice(n.choice);
    Batch b = values[n.operands[0]];
    if (n.operands.size() == 2) {
      const Batch& other = values[n.operands[1]];
      if (c.shape == ShapeRule::matmul) {
        b.insert(b.end(), other.begin(), other.end());
      } else if (free[n.operands[0]]) {
        b = other;
      } else if (!free[n.operands[1]]) {
        unite(b, other);
      }
    }
    const bool is_free = std::all_of(n.operands.begin(), n.operands.end(), [&](std::uint8_t o) { return free[o]; });
    values.insert(values.end(), c.outputs, normal(b));
    free.insert(free.end(), c.outputs, is_free);
  }
  return values;
}

void BatchSequences::find(bool one) {
  constexpr int kRounds = 3;
  for (std::size_t k = 0; k < inputs_.size(); ++k) parents_.push_back(one ? 0 : static_cast<int>(k));
  for (int round = 0; round < kRounds; ++round) {
    values_ = {};
    for (const SmallGraph* graph : {&candidate_.source, &candidate_.target}) values_[graph] = values_of(*graph);
    const std::vector<Batch>& source = values_[&candidate_.source];
    const std::vector<Batch>& target = values_[&candidate_.target];
    for (std::size_t k = 0; k < candidate_.source.outputs.size(); ++k) {
      const std::uint8_t from = candidate_.source.outputs[k];
      const std::uint8_t to = candidate_.target.outputs[k];
      if (!signature_.is_constant(from) && !signature_.is_constant(to)) unite(source[from], target[to]);
    }
  }
}

std::vector<int> BatchSequences::of(const SmallGraph& graph, std::size_t value) const { return normal(values_.at(&graph)[value]); }

}  // namespace xflow::generator
