#include "src/egraph/cheapest.h"

#include <algorithm>
#include <unordered_map>

#include "src/egraph/weights.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::generator {
namespace {

constexpr int kMuch = 1 << 20;

int weight_of(const Vocabulary& vocabulary, OpRef op, std::span<const TypeRef> operands) {
  if (operands.empty()) return 0;
  const ops::Operator& applied = ops::get(vocabulary.operator_of(op));
  const ops::Signature& signature = applied.signature;
  if (signature.moves_data) return kMovementWeight;
  if (signature.pointwise) return applied.op == ops::Op::HardSigmoid ? kFunctionWeight : kPointwiseWeight;
  if (applied.op == ops::Op::Matmul) return kProductWeight;
  if (applied.op == ops::Op::AveragePool || applied.op == ops::Op::MaxPool) return kWindowWeight;
  if (applied.op != ops::Op::Conv) return kReductionWeight;
  const std::vector<std::int64_t>& kernel = vocabulary.dims(operands[1]);
  if (vocabulary.dims(operands[0])[1] != kernel[1]) return kProductWeight;
  return std::all_of(kernel.begin() + 2, kernel.end(), [](std::int64_t d) { return d == 1; }) ? kPointConvolutionWeight
                                                                                              : kConvolutionWeight;
}

class Search {
 public:
  Search(const Vocabulary& vocabulary, const EGraph& graph, int most)
      : vocabulary_(vocabulary), graph_(graph), least_(graph.size(), kMuch), most_(most) {
    weights_.reserve(graph.size());
    for (TermId t = 0; t < graph.size(); ++t) {
      const EqTerm& term = graph.term(t);
      std::vector<TypeRef> types;
      for (std::size_t k = 0; k < operands(term).size(); ++k) types.push_back(graph.type(term.operands[k]));
      weights_.push_back(term.op == EqTerm::kInput ? 0 : weight_of(vocabulary, static_cast<OpRef>(term.op), types));
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (TermId t = 0; t < graph.size(); ++t) {
        int below = 0;
        for (const TermId o : operands(graph.term(t))) below = std::max(below, least_[graph.find(o)]);
        int& least = least_[graph.find(t)];
        if (weights_[t] + below >= least) continue;
        least = weights_[t] + below;
        changed = true;
      }
    }
  }

  bool find(std::vector<TermId> open, int left) {
    while (!open.empty()) {
      const TermId c = graph_.find(open.back());
      open.pop_back();
      if (least_[c] == 0 || term_of_.contains(c)) continue;
      if (least_[c] > most_ || ++steps_ > kMostSteps) return false;
      for (const TermId t : graph_.members(c)) {
        const EqTerm& term = graph_.term(t);
        const bool is_paid = std::any_of(paid_.begin(), paid_.end(), [&](TermId p) { return is_same_operation(graph_.term(p), term); });
        const int price = is_paid ? 0 : weights_[t];
        if (price > left) continue;
        if (std::any_of(operands(term).begin(), operands(term).end(),
                        [&](TermId o) { return least_[graph_.find(o)] + weights_[t] > most_; }))
          continue;
        term_of_[c] = t;
        paid_.push_back(t);
        std::vector<TermId> next = open;
        next.insert(next.end(), operands(term).begin(), operands(term).end());
        if (!is_cyclic(c, c) && find(std::move(next), left - price)) return true;
        paid_.pop_back();
        term_of_.erase(c);
      }
      return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kMostSteps = 20000;

  std::span<const TermId> operands(const EqTerm& term) const { return {term.operands.data(), term.op == EqTerm::kInput ? 0U : term.count}; }
  bool is_same_operation(const EqTerm& a, const EqTerm& b) const {
    if (a.op != b.op || a.count != b.count) return false;
    bool straight = true;
    for (std::size_t k = 0; k < a.count; ++k) straight = straight && graph_.equal(a.operands[k], b.operands[k]);
    return straight;
  }
  // True if the chosen terms lead from `at` back to `to`.
  bool is_cyclic(TermId at, TermId to) const {
    const auto found = term_of_.find(at);
    if (found == term_of_.end()) return false;
    for (const TermId o : operands(graph_.term(found->second))) {
      const TermId c = graph_.find(o);
      if (c == to || is_cyclic(c, to)) return true;
    }
    return false;
  }

  const Vocabulary& vocabulary_;
  const EGraph& graph_;
  std::vector<int> weights_;  // by term
  std::vector<int> least_;    // by representative: a lower bound of the weight of its graphs
  int most_ = 0;
  std::size_t steps_ = 0;
  std::unordered_map<TermId, TermId> term_of_;
  std::vector<TermId> paid_;
};

}  // namespace

int weight_of(const Vocabulary& vocabulary, std::span<const TypeRef> inputs, const FlatGraph& graph) {
  int weight = 0;
  for (const FlatNode& n : graph.nodes) {
    std::vector<TypeRef> types;
    types.reserve(n.operands.size());
    for (const FlatValue& v : n.operands)
      types.push_back(v.node < 0 ? inputs[static_cast<std::size_t>(-1 - v.node)]
                                 : graph.nodes[static_cast<std::size_t>(v.node)].types[v.output]);
    weight += weight_of(vocabulary, n.op, types);
  }
  return weight;
}

bool has_graph_within(const Vocabulary& vocabulary, const EGraph& graph, std::span<const TermId> wanted, int most) {
  return Search(vocabulary, graph, most).find({wanted.begin(), wanted.end()}, most);
}

}  // namespace xflow::generator
