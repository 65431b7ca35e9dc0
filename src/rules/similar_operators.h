// Operators whose names are like one that does not exist.
#pragma once

#include <string>
#include <string_view>

namespace xflow::rules {

// "; similar: reduce_sum, cumsum"; empty if there are none.
std::string similar_operators(std::string_view name);

}  // namespace xflow::rules
