// How --help looks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace xflow::cli {

// An option is its name, the kind of its value and its default, then a text of as many columns as are left of 100.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace xflow::cli
