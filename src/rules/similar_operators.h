// Suggestions for a misspelled operator name.
#pragma once

#include <string>
#include <string_view>

namespace xflow::rules {

// Operators with a similar name: "; similar: reduce_sum, cumsum". Empty if there are none.
std::string similar_operators(std::string_view name);

}  // namespace xflow::rules
