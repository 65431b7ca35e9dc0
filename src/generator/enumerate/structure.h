// A hash of a graph's terms that is invariant under renaming of its inputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/generator/enumerate/graph_code.h"
#include "src/generator/enumerate/graph_signature.h"
#include "src/generator/enumerate/orders.h"

namespace xflow::generator {

// An operation of a graph under construction.
struct GrownNode {
  ChoiceId choice{};
  std::uint8_t operands[2] = {0, 0};
  std::uint8_t operand_count = 1;
  std::uint8_t outputs = 1;
  std::uint8_t first_value = 0;
  std::uint8_t level = 1;
  std::uint32_t cone = 0;   // a bit for each operation that it needs, including itself
  std::uint64_t stamp = 0;  // unique; distinguishes operations that successively have one index in the graph
};

// Computes structures. Inputs are ordered by the hash of the terms in which all inputs of a type are alike
// except that input. Inputs with equal hashes, such as those of a sum, are tried in all orders, and the
// smallest hash of the terms is the structure.
class Structures {
 public:
  explicit Structures(const GraphSignature& signature) : signature_(&signature) {}
  // The structure of a graph. `inputs`: the inputs that the graph reads, ascending.
  std::uint64_t structure(std::span<const GrownNode> nodes, std::span<const std::uint8_t> outputs, std::span<const std::uint8_t> inputs);
  // The number of each input in its group under the names that give the last structure.
  std::span<const std::uint8_t> numbers() const { return best_; }
  // The hash of the terms if the inputs have these numbers in their groups.
  std::uint64_t named(std::span<const GrownNode> nodes, std::span<const std::uint8_t> outputs, std::span<const std::uint8_t> inputs,
                      std::span<const std::uint8_t> numbers);

 private:
  const GraphSignature* signature_;
  Orders orders_;
  std::vector<std::uint64_t> values_;  // [value][naming]
  std::vector<OrderKey> keys_;
  std::vector<std::uint8_t> numbers_;
  std::vector<std::uint8_t> best_;
};

// The structure of a graph. `leaves`: set to a renaming that gives the structure.
std::uint64_t structure_of(const GraphSignature& signature, const SmallGraph& graph, std::vector<std::uint8_t>* leaves = nullptr);

}  // namespace xflow::generator
