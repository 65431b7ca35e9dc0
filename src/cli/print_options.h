// What a subcommand prints.
#pragma once

#include <CLI/CLI.hpp>

#include "src/cli/command.h"
#include "src/cli/option_names.h"

namespace xflow::cli {

struct PrintOptions {
  bool quiet = false;  // no report, no progress line
  bool json = false;   // the report as JSON
};

// The options --quiet and --json of a subcommand that prints a report, under the heading Output.
void add_print_options(CLI::App& sub, PrintOptions& options);
// The option --quiet alone.
void add_quiet(CLI::App& sub, bool& quiet);

// Prints a report as text or JSON, or not at all. `to_error`: as print().
template <typename Report>
void print_report(const Report& report, const PrintOptions& options, bool to_error = false) {
  if (!options.quiet) print(with_option_names(options.json ? report.to_json() + "\n" : report.to_text()), to_error);
}

}  // namespace xflow::cli
