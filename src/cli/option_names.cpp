#include "src/cli/option_names.h"

#include <cstddef>
#include <string_view>

namespace xflow::cli {
namespace {

struct OptionName {
  std::string_view library;
  std::string_view command_line;
};

// clang-format off
// Options, and phrases that have an option in the command line alone.
constexpr OptionName kOptionNames[] = {
    {"option 'accept' = smaller", "--accept smaller"},
    {"option 'allow_external'",   "--allow-external"},
    {"option 'cost_database'",    "--costs"},
    {"option 'device' =",         "--device"},
    {"option 'gap'",              "--gap on"},
    {"option 'gate' = false",     "--no-gate"},
    {"option 'max_operators'",    "--max-ops"},
    {"in an input file",          "with --inputs"},
    {"no other rules are given",  "no other rules are given; give some with --by"},
    {"option 'runner'",           "--runner"},
    {"option 'shapes'",           "--shape"},
    {"option 'time_limit'",       "--time-limit"},
};
// clang-format on

}  // namespace

std::string with_option_names(std::string text) {
  for (const auto& [library, command_line] : kOptionNames) {
    for (std::size_t at = text.find(library); at != std::string::npos; at = text.find(library, at + command_line.size()))
      text.replace(at, library.size(), command_line);
  }
  return text;
}

}  // namespace xflow::cli
