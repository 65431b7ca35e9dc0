// Numbers for sizes that a model leaves open: for costs and runs alone.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::api {

using SizeMap = std::unordered_map<ir::SymbolId, std::int64_t>;

// Sizes of results of opaque nodes, which no input shows.
struct InnerSizes {
  std::function<SizeMap(const SizeMap&)> infer;     // those that follow from the sizes of the inputs; null: none does
  std::function<std::string(ir::ValueId)> name_of;  // of a value, for reports
};

struct Sizes {
  SizeMap values;
  std::unordered_set<ir::SymbolId> given;        // by the caller: these stay
  std::unordered_set<ir::SymbolId> of_defaults;  // those that values have by default: not assumed
  std::unordered_set<ir::SymbolId> inner;        // of results of opaque nodes
  std::vector<std::string> assumed;              // "x: [1, 3, 128, 128]": inputs with sizes that nobody gave
  std::vector<std::string> assumed_inner;        // "r of node 'nms' (NonMaxSuppression): [128, 3]": the same of results of opaque nodes
  std::string contradiction;  // why operations behind opaque nodes do not take their operands: "concat: expected ..."; empty if all do
  std::string refused;        // why 1 and 128 were not assumed: "conv: expected ..."; empty where they were

  // The valuation for ir::Symbols::evaluate. A size that is not in `values` is 128.
  ir::Symbols::Valuation valuation() const;
};

struct NamedInput {
  std::string_view name;
  ir::ValueId value;
  std::vector<std::int64_t> default_dims = {};  // of the value that an input has by default; empty: none, or a scalar
};

// Takes the shapes that were given, then those of defaults, then `first` for an open first dimension and `other` for any other. Errors:
// invalid_argument for an input that does not exist, a wrong number of dimensions, or a size that contradicts the model or another input.
Result<Sizes> choose_sizes(const ir::Arena& arena, std::span<const NamedInput> inputs, std::span<const InputShape> given,
                           std::int64_t first = 1, std::int64_t other = 128);

// Whether every operation of the graph takes these sizes, which operators ask for where they type their operands; evaluation would clamp
// indices of sizes that no runtime accepts. Error::unsupported, "conv: expected ..., found ...".
Result<void> take_sizes(ir::Arena& arena, const ir::Graph& graph, const SizeMap& sizes);

// The same; a size that is not fixed and must equal something else is set to it first (a mask as long as the past and the present
// together); `adjusted` gets those. Error::unsupported where that does not help.
Result<void> adjust_sizes(ir::Arena& arena, const ir::Graph& graph, const std::unordered_set<ir::SymbolId>& fixed, SizeMap& sizes,
                          std::unordered_set<ir::SymbolId>* adjusted = nullptr);

// choose_sizes for a graph that may not take every size: 1 and 128 for what is open, adjusted; otherwise the first of some other choices
// that the graph takes. Then the inner sizes (add_inner_sizes). Errors: as choose_sizes; invalid_argument if all sizes are given and
// refused; unsupported if no choice fits.
Result<Sizes> choose_fitting_sizes(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                                   std::span<const InputShape> given, const InnerSizes& inner = {});

// Adds the sizes of results of opaque nodes to those of the inputs: inferred, else what operations that read them demand, else 128 (less
// where a value would have more than 2^22 elements), which `assumed_inner` tells. Sizes that contradict each other are no error:
// `contradiction` says so, and no kernel is made of them (see kernel_of).
void add_inner_sizes(ir::Arena& arena, const ir::Graph& graph, const InnerSizes& inner, Sizes& sizes);

// "x: [1, 3, 128, 128], y: [1, 128]": the inputs whose sizes the model leaves open; "the declared sizes" where there are none.
std::string sizes_text(const ir::Arena& arena, std::span<const NamedInput> inputs, const SizeMap& sizes);

// "NAME:1,3,48,192". Error::invalid_argument.
Result<InputShape> parse_shape(std::string_view text);

}  // namespace xflow::api
