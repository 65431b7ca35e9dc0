// Numbers for sizes that a model leaves open: for costs and runs alone.
#pragma once

#include <xflow/optimize.h>
#include <xflow/result.h>

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::api {

struct Sizes {
  std::unordered_map<ir::SymbolId, std::int64_t> values;
  std::vector<std::string> assumed;  // "x: [1, 3, 128, 128]": inputs with sizes that nobody gave

  // The valuation for ir::Symbols::evaluate. Sizes of values that no input shows (outputs of opaque nodes) are 128.
  ir::Symbols::Valuation valuation() const;
};

struct NamedInput {
  std::string_view name;
  ir::ValueId value;
};

// Takes the shapes that were given, then `first` for an open first dimension and `other` for any other. Errors: invalid_argument for an
// input that does not exist, a wrong number of dimensions, or a size that contradicts the model or another input.
Result<Sizes> choose_sizes(const ir::Arena& arena, std::span<const NamedInput> inputs, std::span<const InputShape> given,
                           std::int64_t first = 1, std::int64_t other = 128);

// "NAME:1,3,48,192". Error::invalid_argument.
Result<InputShape> parse_shape(std::string_view text);

}  // namespace xflow::api
