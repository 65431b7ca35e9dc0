// Sizes of inputs, for models with dynamic dimensions.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// All dimensions of an input, for costs and runs. The model keeps its dynamic dimensions.
struct InputShape {
  std::string input;                                                       // name of the input
  std::vector<std::int64_t> dims;                                          // sizes, outermost first
  friend bool operator==(const InputShape&, const InputShape&) = default;  // compares all members
};
// Parses "NAME:1,3,48,192". Errors: invalid_argument for any other text.
XFLOW_API Result<InputShape> parse_input_shape(std::string_view text);

}  // namespace xflow
