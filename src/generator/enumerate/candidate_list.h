// Many candidates in the order in which they are taken, 24 bytes each.
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
  // Of graphs of up to `max_operators`, whose codes fit.
  CandidateList(const GraphSignature& signature, std::size_t max_operators);

  // Turned towards what costs less.
  void add(Candidate candidate);
  // By size, those that read the fewest inputs again first, of these those of most inputs, which say most, then those that cost the least
  // and have the fewest constants.
  void sort();
  std::size_t size() const { return packed_.size(); }
  Candidate operator[](std::size_t k) const;
  std::vector<Candidate> part(std::size_t begin, std::size_t end) const;

  // As bytes of this machine, and those of another list of the same kind added.
  std::string bytes() const;
  void add_bytes(std::string_view bytes);

 private:
  struct Packed {
    std::uint64_t key = 0;  // what they are sorted by, then the outputs of both sides
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    friend auto operator<=>(const Packed&, const Packed&) = default;
  };

  const GraphSignature* signature_;
  GraphCodec codec_;
  std::vector<Packed> packed_;
};

}  // namespace xflow::generator
