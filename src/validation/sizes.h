// Concrete sizes for dimensions that a model leaves open, for costs and runs only.
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
#include "src/support/acceptance.h"

namespace xflow::api {

using SizeMap = std::unordered_map<ir::SymbolId, std::int64_t>;

// Sizes of results of opaque nodes, which cannot be read from the inputs.
struct InnerSizes {
  // Returns the sizes that follow from those of the inputs. Null: none.
  std::function<SizeMap(const SizeMap&)> infer;
  std::function<std::string(ir::ValueId)> name_of;  // name of a value, for reports
};

struct Sizes {
  SizeMap values;
  std::unordered_set<ir::SymbolId> given;        // by the caller; never changed
  std::unordered_set<ir::SymbolId> of_defaults;  // sizes of default values; not assumed
  std::unordered_set<ir::SymbolId> inner;        // of results of opaque nodes
  std::unordered_set<ir::SymbolId> inferred;     // of `inner`: they follow from the inputs
  // Inputs with sizes that the caller did not give: "x: [1, 3, 128, 128]".
  std::vector<std::string> assumed;
  // The same for results of opaque nodes: "r of node 'nms' (NonMaxSuppression): [128, 3]".
  std::vector<std::string> assumed_inner;
  // Whether operations behind opaque nodes accept their operands; refused with "concat: expected ...".
  Acceptance inner_fit = {};
  // Whether 1 and 128 were assumed; refused with the reason: "conv: expected ...".
  Acceptance defaults_fit = {};

  // Returns the valuation for ir::Symbols::evaluate. A size that is not in `values` is 128.
  ir::Symbols::Valuation valuation() const;
  // Returns a valuation without sizes of results of opaque nodes that are not inferred.
  ir::Symbols::Valuation known() const;
};

struct NamedInput {
  std::string_view name;
  ir::ValueId value;
  std::vector<std::int64_t> default_dims = {};  // of the default value; empty: no default, or a scalar
};

// Sizes of open dimensions by their place in a shape. A dimension that is the first one and the last one is
// the first one.
struct OpenSizes {
  std::int64_t first = 1;
  std::int64_t inner = 128;  // between the first one and the last one
  std::int64_t last = 128;

  static constexpr OpenSizes of(std::int64_t first, std::int64_t other) { return {first, other, other}; }
};

// Chooses sizes: the given shapes, then those of defaults, then `open` for open dimensions. Errors:
// invalid_argument for an input that does not exist, a wrong number of dimensions, or a size that
// contradicts the model or another input.
Result<Sizes> choose_sizes(const ir::Arena& arena, std::span<const NamedInput> inputs, std::span<const InputShape> given,
                           const OpenSizes& open = {});

// Checks that every operation of the graph accepts these sizes, by typing the operands again. Without this
// check evaluation would clamp indices at sizes that no runtime accepts. Error::unsupported, "conv: expected
// ..., found ...".
Result<void> take_sizes(ir::Arena& arena, const ir::Graph& graph, const SizeMap& sizes);

// Like take_sizes, but first sets a size that is not in `fixed` and must equal another expression to the
// value of that expression (the size of a mask is the sum of the past and the present size). Adds the
// changed sizes to `adjusted`. Error::unsupported if adjusting does not help.
Result<void> adjust_sizes(ir::Arena& arena, const ir::Graph& graph, const std::unordered_set<ir::SymbolId>& fixed, SizeMap& sizes,
                          std::unordered_set<ir::SymbolId>* adjusted = nullptr);

// Chooses sizes for a graph that does not accept every size: 1 and 128 for open dimensions, adjusted;
// otherwise the first of some other choices that the graph accepts. Then adds the inner sizes
// (add_inner_sizes). Errors: as choose_sizes; invalid_argument if all sizes are given and refused;
// unsupported if no choice fits.
Result<Sizes> choose_fitting_sizes(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                                   std::span<const InputShape> given, const InnerSizes& inner = {});

// Adds the sizes of results of opaque nodes: inferred ones, otherwise those that their readers require,
// otherwise 128 (less if a value would have more than 2^22 elements). `assumed_inner` lists the assumed
// sizes. Sizes that contradict each other are no error: `inner_fit` has the reason, and no kernel is made
// for them (see kernel_of).
void add_inner_sizes(ir::Arena& arena, const ir::Graph& graph, const InnerSizes& inner, Sizes& sizes);

// Returns "x: [1, 3, 128, 128], y: [1, 128]" for the inputs whose sizes the model leaves open, or "the
// declared sizes" if there are none.
std::string sizes_text(const ir::Arena& arena, std::span<const NamedInput> inputs, const SizeMap& sizes);

// Parses "NAME:1,3,48,192". Error::invalid_argument.
Result<InputShape> parse_shape(std::string_view text);

}  // namespace xflow::api
