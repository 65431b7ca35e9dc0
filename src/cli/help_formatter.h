// The layout of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace xflow::cli {

// Prints an option as its name, value type and default, then its description, wrapped at column 100.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace xflow::cli
