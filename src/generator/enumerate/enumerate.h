// Graphs of a signature in canonical order, each with its fingerprint.
//
// A graph is a set of operations in one topological order: each is greater than the last in (depth, operator, operands). Operands of
// commutative operators ascend, an operation never occurs twice, and input j of a group is used only after input j - 1. What is left of
// renamings of inputs is found by a hash of the term, the same under renaming: graphs that differ in the names of inputs alone have equal
// `structure`, and of these the smallest code stands for all.
//
// Nothing is built on an operation all of whose outputs are there without it. Of two outputs only what can be a target (pairs.h) is a
// graph: some operation is part of both, and some output does not depend on an input that it reads.
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

// A graph as it is kept: 24 bytes.
struct Record {
  // Equal for graphs that compute the same, up to the names of inputs; otherwise different but for accidents.
  std::uint64_t fingerprint = 0;
  // Equal for the same graph with other names of inputs.
  std::uint64_t structure = 0;
  // The graph itself: see GraphCodec.
  std::uint64_t code = 0;
  friend auto operator<=>(const Record&, const Record&) = default;
};

struct EnumerationOptions {
  std::size_t max_operators = 3;
  std::size_t max_outputs = 1;
  std::uint64_t seed = 1;       // of the inputs' numbers
  std::size_t sizes = 0;        // which assignment of sizes
  bool small_integers = false;  // where integers are the numbers: from -4 to 4, so that squares are no larger than the others
  std::size_t value_bytes = std::size_t{24} << 20;  // how much is remembered of values; changes no result
};

struct EnumerationCounts {
  std::vector<std::uint64_t> raw;    // by number of operators: graphs in the canonical order of operations, some more than once
  std::vector<std::uint64_t> plain;  // of those, graphs of one output
  std::uint64_t without_value = 0;   // left out: some element has no value (1/0, a remainder)
};

// Calls `found` for every graph of part `part` of `parts`, in an order that depends on the arguments alone. Graphs without operations (one
// for each group of inputs and each constant) are in part 0.
Result<EnumerationCounts> enumerate(const GraphSignature& signature, const EnumerationOptions& options, std::size_t part, std::size_t parts,
                                    const std::function<void(const Record&)>& found);

// Names of the inputs under which a graph has its fingerprint.
struct Naming {
  std::vector<std::uint8_t> leaves;  // leaf k of the graph becomes leaf leaves[k]
  std::uint64_t value = 0;           // the fingerprint
  std::uint64_t structure = 0;       // a hash of the term with these names
  bool ignores = false;              // nothing depends on some input that the graph reads
};

// Enumerates, and evaluates single graphs, whose operations stand in any topological order. Keeps values from one call to the next: graphs
// that begin with the same operations are best asked for one after the other.
class Evaluator {
 public:
  Evaluator(const GraphSignature& signature, const EnumerationOptions& options);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) = delete;
  // As the function enumerate.
  Result<EnumerationCounts> enumerate(std::size_t part, std::size_t parts, const std::function<void(const Record&)>& found);
  // Its fingerprint and structure; nothing where some element has no value.
  std::optional<Record> record(const SmallGraph& graph);
  // All names that give the fingerprint, in an order that depends on the value alone but where terms are symmetric; more than one structure
  // among them is a law, as x + y = y + x. Empty where some element has no value.
  std::vector<Naming> namings(const SmallGraph& graph);
  // A hash of each output, leaf k having the numbers of leaf leaves[k], without `leaves` its own; empty where some element has no value.
  std::vector<std::uint64_t> values(const SmallGraph& graph, std::span<const std::uint8_t> leaves = {});

  class Implementation;

 private:
  const GraphSignature* signature_;
  EnumerationOptions options_;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace xflow::generator
