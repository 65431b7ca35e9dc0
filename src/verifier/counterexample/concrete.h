// Direct evaluation of both sides of a rule on concrete shapes and entries, straight from operator semantics and independent of the
// normaliser, which it cross-checks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/verifier/proof/verifier.h"

namespace xflow::verifier {

class Number;

// Values of the symbols that are not defined by others, and of the real variables of the rule.
struct Assignment {
  std::map<ir::SymbolId, std::int64_t> integers;
  std::map<std::string, ir::Rational> reals;
};

// A tensor entry by entry, row-major, of small rationals.
struct Entries {
  std::vector<std::int64_t> dims;
  std::vector<ir::Rational> values;
};
using Inputs = std::vector<Entries>;  // one for each variable of the rule

class Concrete {
 public:
  explicit Concrete(rules::RuleInstance& instance);
  ~Concrete();

  // Evaluates one graph (the source or the target) on the inputs.
  struct Outputs;
  // Nothing if the evaluation would take more than `work` scalar operations.
  std::unique_ptr<Outputs> evaluate(const ir::Graph& graph, const Assignment& assignment, const Inputs& inputs, std::uint64_t work);

  // The elements of one output of a graph, row-major; nothing as for evaluate.
  struct Elements {
    std::vector<std::int64_t> dims;
    std::vector<Number> values;
  };
  std::optional<Elements> element_values(const ir::Graph& graph, const Assignment& assignment, const Inputs& inputs, std::size_t output);

  // The shape of a value; nothing if a dimension is not a known non-negative number.
  std::optional<std::vector<std::int64_t>> shape(ir::ValueId value, const Assignment& assignment) const;
  // Entries that fit the variables' types and value facts, drawn from a seed: integers up to 3, up to 12, 0 and 1, halves, or integers
  // near a power of two at which conversions begin to lose values.
  enum class Entry : std::uint8_t { small, large, bits, halves, edges, positive };
  std::optional<Inputs> draw(const Assignment& assignment, std::uint64_t seed, Entry kind) const;
  // The value of a polynomial; nothing where one of a symbol is not known.
  std::optional<std::int64_t> value(const ir::Poly& poly, const Assignment& assignment) const;
  // The atom's truth; nothing where a value is not known.
  std::optional<bool> holds(const ops::Atom& atom, const Assignment& assignment) const;

  enum class Agreement : std::uint8_t { equal, different, unclear, undefined };
  // Compares the outputs of both sides, element by element, wherever the source has a value; a target without one is different. `where`
  // receives the first difference. undefined: no element of the source has a value, or it does not run; unclear: a value is not known, or
  // approximations are neither close nor far apart.
  struct Difference {
    int output = 0;
    std::vector<std::int64_t> index;
    std::string source;
    std::string target;
  };
  Agreement compare(const Assignment& assignment, const Inputs& inputs, std::uint64_t work, Difference* where = nullptr);

  // Sizes of tensors of the source that are 0 for some symbols. A source with an empty tensor is outside of every proof.
  const std::vector<ir::Poly>& open_sizes() const;
  bool has_empty_tensors(const Assignment& assignment) const;
  // The shapes of the outputs of a graph as its operators type them for these sizes; nothing where they have no type.
  std::optional<std::vector<std::vector<std::int64_t>>> output_shapes(const ir::Graph& graph, const Assignment& assignment) const;

  // A side has a conversion that can lose a value.
  bool loses_values() const;

  // Every symbol of types, attributes and facts that is not defined by others, and every real variable.
  const std::vector<ir::SymbolId>& symbols() const;
  const std::vector<std::string>& reals() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace xflow::verifier
