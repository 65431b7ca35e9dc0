// Enumerates the graphs of a signature in canonical order, each with its fingerprint.
//
// A graph is a set of operations in one topological order: each operation is greater than the last in
// (depth, operator, operands). Operands of commutative operators ascend, an operation never occurs twice,
// and input j of a group is used only after input j - 1. Remaining renamings of inputs are found by a hash
// of the terms that is invariant under renaming: graphs that differ only in the names of inputs have equal
// `structure`, and the smallest code represents them.
//
// Nothing is built on an operation if all its outputs have values that exist without it. Graphs of two
// outputs are limited to possible targets (pairs.h): some operation is part of both outputs, and some output
// does not depend on an input that it reads.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/generator/enumerate/graph_code.h"
#include "src/generator/enumerate/graph_signature.h"
#include "src/generator/enumerate/structure.h"

namespace xflow::generator {

// The stored form of a graph, 24 bytes.
struct Record {
  // Equal for graphs that compute the same up to the names of inputs; otherwise different, except by
  // accident.
  std::uint64_t fingerprint = 0;
  // Equal for graphs that differ only in the names of inputs.
  std::uint64_t structure = 0;
  // The graph, encoded by GraphCodec.
  std::uint64_t code = 0;
  friend auto operator<=>(const Record&, const Record&) = default;
};

struct EnumerationOptions {
  std::size_t max_operators = 3;
  std::size_t max_outputs = 1;
  std::uint64_t seed = 1;                           // seed of the inputs' numbers
  std::size_t sizes = 0;                            // the assignment of sizes
  bool small_integers = false;                      // integers are drawn from -4 to 4, so that squares do not exceed other values
  std::size_t value_bytes = std::size_t{24} << 20;  // memory for cached values; changes no result
};

struct EnumerationCounts {
  std::vector<std::uint64_t> raw;    // by number of operators: graphs in canonical order of operations, with repetitions
  std::vector<std::uint64_t> plain;  // of those, the graphs of one output
  std::uint64_t without_value = 0;   // graphs left out because an element has no value (1/0, a remainder)
};

// Calls `found` for every graph of part `part` of `parts`. The order depends on the arguments alone. Graphs
// without operations (one per group of inputs and per constant) are in part 0.
Result<EnumerationCounts> enumerate(const GraphSignature& signature, const EnumerationOptions& options, std::size_t part, std::size_t parts,
                                    const std::function<void(const Record&)>& found);

// Names of the inputs for which a graph has its fingerprint.
struct Naming {
  std::vector<std::uint8_t> leaves;  // leaf k of the graph becomes leaf leaves[k]
  std::uint64_t value = 0;           // the fingerprint
  std::uint64_t structure = 0;       // the hash of the terms with these names
  bool ignores = false;              // no output depends on some input that the graph reads
};

// Enumerates graphs, and evaluates single graphs with operations in any topological order. Caches values
// between calls: calls for graphs that begin with the same operations should be consecutive.
class Evaluator {
 public:
  Evaluator(const GraphSignature& signature, const EnumerationOptions& options);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) = delete;
  // The same as the function enumerate.
  Result<EnumerationCounts> enumerate(std::size_t part, std::size_t parts, const std::function<void(const Record&)>& found);
  // The fingerprint and structure of a graph; nothing if some element has no value.
  std::optional<Record> record(const SmallGraph& graph);
  // All names that give the fingerprint. Their order depends on the values alone, except where terms are
  // symmetric. Several structures among them are a law, such as x + y = y + x. Empty if some element has no
  // value.
  std::vector<Naming> namings(const SmallGraph& graph);
  // A hash of each output, with the numbers of leaf leaves[k] for leaf k, or each leaf's own numbers without
  // `leaves`. Empty if some element has no value.
  std::vector<std::uint64_t> values(const SmallGraph& graph, std::span<const std::uint8_t> leaves = {});

  class Implementation;

 private:
  const GraphSignature* signature_;
  EnumerationOptions options_;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace xflow::generator
