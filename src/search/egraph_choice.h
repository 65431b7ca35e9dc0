// The choice of one operation for each value that an e-graph has to compute, so that their sum is least.
//
// An operation counts once, however many values read it, and once for all of its outputs. Branch and bound:
// what a value needs in every choice bounds what is still to be paid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/search/window_egraph.h"

namespace xflow::search {

// The output of an operation that computes each class, by representative. Classes that no output needs may
// be missing.
using Chosen = std::unordered_map<ir::ValueId, ir::ValueId>;

class EGraphChoice {
 public:
  // `price` of an operation: at least 0; infinite if it must not be chosen.
  EGraphChoice(const WindowEGraph& graph, const std::function<double(ir::NodeId)>& price);

  // The cheapest choices, at most `most`, cheapest first. Operations do not depend on themselves. Empty if
  // there is none. Ends after `steps` partial choices with the best that were found; `whole` is false then.
  std::vector<Chosen> cheapest(std::size_t most, std::size_t steps, bool& whole) const;
  // The choice with the output `member` for its class, and the other outputs of its operation for theirs if
  // `chosen` computes them. Classes that are new come as if each were alone. Nothing if an operation would
  // depend on itself.
  std::optional<Chosen> with(const Chosen& chosen, ir::ValueId member) const;
  // The operations that a choice runs, ascending.
  std::vector<ir::NodeId> operations(const Chosen& chosen) const;

 private:
  using Index = std::uint32_t;
  using Bits = std::vector<std::uint64_t>;
  struct Operation {
    ir::NodeId id{};
    double price = 0;
    std::vector<Index> operands;                           // classes that are not free
    std::vector<std::pair<Index, std::uint32_t>> outputs;  // classes, with the numbers of the outputs
  };
  class Branching;

  void find_classes(const std::function<double(ir::NodeId)>& price);
  void find_needs();
  void find_alone();
  bool reaches(const std::vector<Index>& chosen, Index from, Index to) const;
  Chosen described(const std::vector<Index>& chosen) const;

  const WindowEGraph& graph_;
  std::unordered_map<ir::ValueId, Index> index_;  // by representative
  std::vector<ir::ValueId> classes_;
  std::vector<Operation> operations_;
  std::unordered_map<ir::NodeId, Index> numbers_;  // of operations
  std::vector<std::vector<Index>> members_;        // by class: operations
  std::vector<Index> outputs_;                     // classes
  std::vector<Bits> needs_;                        // by class: classes that every choice for it computes, itself included
  std::vector<double> least_;                      // by class: the least share of an operation's price
  std::vector<double> alone_;                      // by class: the price of the cheapest tree
};

}  // namespace xflow::search
