#include "src/cli/command.h"

namespace xflow::cli {

void add_rules(CLI::App& sub, Command& command) {
  sub.require_subcommand(1);
#define XFLOW_RULES_COMMAND(NAME, TEXT) add_rules_##NAME(*sub.add_subcommand(#NAME, TEXT), command);
#include "src/cli/commands.def"
}

}  // namespace xflow::cli
