// Evaluates both sides of a rule on concrete shapes and entries, directly from operator semantics. The
// evaluation does not use the normaliser, and cross-checks it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/verifier/proof/decide.h"

namespace xflow::verifier {

class Number;

// Values of the symbols that are not defined by others, and of the real variables of the rule.
struct Assignment {
  std::map<ir::SymbolId, std::int64_t> integers;
  std::map<std::string, ir::Rational> reals;
};

// The entries of a tensor, row-major, as small rationals.
struct Entries {
  std::vector<std::int64_t> dims;
  std::vector<ir::Rational> values;
};
using Inputs = std::vector<Entries>;  // one per variable of the rule

class Concrete {
 public:
  explicit Concrete(rules::RuleInstance& instance);
  ~Concrete();

  // The values of the outputs of one evaluated graph.
  struct Outputs;
  // Evaluates one graph (the source or the target) on the inputs. Returns nullptr if this would take more
  // than `work` scalar operations.
  std::unique_ptr<Outputs> evaluate(const ir::Graph& graph, const Assignment& assignment, const Inputs& inputs, std::uint64_t work);

  // The elements of one output of a graph, row-major.
  struct Elements {
    std::vector<std::int64_t> dims;
    std::vector<Number> values;
  };
  std::optional<Elements> element_values(const ir::Graph& graph, const Assignment& assignment, const Inputs& inputs, std::size_t output);

  // The shape of a value; nullopt if a dimension is not a known nonnegative number.
  std::optional<std::vector<std::int64_t>> shape(ir::ValueId value, const Assignment& assignment) const;
  // Draws entries that satisfy the types and value facts of the variables, from a seed. `kind` selects
  // integers of magnitude up to 3, up to 12, 0 and 1, halves, integers near a power of two, where
  // conversions begin to lose values, or positive integers.
  enum class Entry : std::uint8_t { small, large, bits, halves, edges, positive };
  std::optional<Inputs> draw(const Assignment& assignment, std::uint64_t seed, Entry kind) const;
  // The value of a polynomial; nullopt if the value of a symbol is not known.
  std::optional<std::int64_t> value(const ir::Poly& poly, const Assignment& assignment) const;
  // The truth value of the atom; nullopt if a value is not known.
  std::optional<bool> holds(const ops::Atom& atom, const Assignment& assignment) const;

  enum class Agreement : std::uint8_t { equal, different, unclear, undefined };
  // Compares the outputs of both sides element by element, wherever the source has a value. A target without
  // a value there is different. `where` receives the first difference. undefined: no element of the source
  // has a value, or the source does not run. unclear: a value is not known, or approximations are neither
  // close nor far apart.
  struct Difference {
    int output = 0;
    std::vector<std::int64_t> index;
    std::string source;
    std::string target;
  };
  Agreement compare(const Assignment& assignment, const Inputs& inputs, std::uint64_t work, Difference* where = nullptr);

  // Sizes of source tensors that are 0 for some values of the symbols. Proofs exclude sources with an empty
  // tensor.
  const std::vector<ir::Poly>& open_sizes() const;
  bool has_empty_tensors(const Assignment& assignment) const;
  // The shapes of the outputs of a graph, as its operators type them for these sizes; nullopt if they have
  // no type.
  std::optional<std::vector<std::vector<std::int64_t>>> output_shapes(const ir::Graph& graph, const Assignment& assignment) const;

  // True if a side has a conversion that can lose a value.
  bool loses_values() const;

  // The symbols of types, attributes and facts that are not defined by others, and the real variables.
  const std::vector<ir::SymbolId>& symbols() const;
  const std::vector<std::string>& reals() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace xflow::verifier
