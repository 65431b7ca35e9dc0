#include "src/cli/print_options.h"

namespace xflow::cli {

void add_quiet(CLI::App& sub, bool& quiet) {
  sub.add_flag("--quiet", quiet, "print nothing but warnings and errors, and no progress line")->group("Output");
}

void add_print_options(CLI::App& sub, PrintOptions& options) {
  add_quiet(sub, options.quiet);
  sub.add_flag("--json", options.json, "print the report as JSON")->group("Output")->excludes("--quiet");
}

}  // namespace xflow::cli
