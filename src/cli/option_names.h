// Options of the library under the names that the command line gives them.
#pragma once

#include <string>

namespace xflow::cli {

// Replaces the options of the library that a message names: "option 'shapes'" becomes "--shape".
std::string with_option_names(std::string text);

}  // namespace xflow::cli
