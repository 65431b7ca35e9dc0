// A list of candidates in the order in which they are visited, 24 bytes each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/generator/enumerate/candidates.h"
#include "src/generator/enumerate/graph_code.h"

namespace xflow::generator {

class CandidateList {
 public:
  // `max_operators`: of the largest graphs; their codes must fit 64 bits.
  CandidateList(const GraphSignature& signature, std::size_t max_operators);

  // Adds a candidate, directed towards the cheaper side.
  void add(RuleCandidate candidate);
  // Sorts by the number of operators, then of outputs. Among candidates of equal numbers, those that read
  // the fewest inputs repeatedly come first, then those with the most inputs, which are the most general,
  // then those of least cost, then those with the fewest constants.
  void sort();
  std::size_t size() const { return packed_.size(); }
  RuleCandidate operator[](std::size_t k) const;
  std::vector<RuleCandidate> part(std::size_t begin, std::size_t end) const;

  // bytes() returns the list in the memory layout of this machine; add_bytes() adds such bytes of another
  // list with the same signature and max_operators.
  std::string bytes() const;
  void add_bytes(std::string_view bytes);

 private:
  struct Packed {
    std::uint64_t key = 0;  // the sort key, then the outputs of both sides
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    friend auto operator<=>(const Packed&, const Packed&) = default;
  };

  const GraphSignature* signature_;
  GraphCodec codec_;
  std::vector<Packed> packed_;
};

}  // namespace xflow::generator
