// Small graphs of a signature, and their encoding as 64-bit numbers.
#pragma once

#include <xflow/error.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "src/generator/enumerate/graph_signature.h"

namespace xflow::generator {

// Values are numbered: first the leaves of the signature, then the outputs of the operations in order.
struct SmallGraphNode {
  ChoiceId choice{};
  std::vector<std::uint8_t> operands;
  friend auto operator<=>(const SmallGraphNode&, const SmallGraphNode&) = default;
};
struct SmallGraph {
  std::vector<SmallGraphNode> nodes;
  std::vector<std::uint8_t> outputs;
  friend auto operator<=>(const SmallGraph&, const SmallGraph&) = default;
};
// Prints a graph: "split 0(relu(x0)).1; add(x0, x1)".
std::string to_string(const GraphSignature& signature, const SmallGraph& graph);

// Encodes graphs of up to `max_operators` operations as numbers: digits of a mixed radix, the number of
// operations first.
class GraphCodec {
 public:
  static constexpr std::size_t kMostValues = 63;  // six bits encode a value or none
  // Error::limit if the codes of the largest graphs do not fit 64 bits, or these graphs have more than
  // kMostValues values.
  static Result<GraphCodec> make(const GraphSignature& signature, std::size_t max_operators);
  std::uint64_t encode(const SmallGraph& graph) const;
  SmallGraph decode(std::uint64_t code) const;
  std::size_t operators(std::uint64_t code) const { return code % (max_operators_ + 1); }
  // A sort key over the first three operations. It puts graphs that begin with the same operations side by
  // side.
  static std::uint64_t order(const SmallGraph& graph);

 private:
  const GraphSignature* signature_ = nullptr;
  std::size_t max_operators_ = 0;
};

// The digits of a code under construction, least significant first.
class CodePrefix {
 public:
  void append(std::uint64_t digit, std::uint64_t radix) {
    code_ += digit * scale_;
    scale_ *= radix;
  }
  std::uint64_t code() const { return code_; }

 private:
  std::uint64_t code_ = 0;
  std::uint64_t scale_ = 1;
};

// The number of sets of outputs of an operation with two outputs: the radix of the digit that says which are
// outputs of the graph.
inline constexpr std::uint64_t kOutputSets = 4;

}  // namespace xflow::generator
