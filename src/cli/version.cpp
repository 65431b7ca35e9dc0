#include "xflow/version.h"

#include <cstdio>

#include "src/cli/command.h"

namespace xflow::cli {

void add_version(CLI::App& sub, Command& command) {
  sub.footer(examples({"xflow version"}));
  sub.callback([&command] {
    command.run = [] {
      std::printf("xflow %s\n", XFLOW_VERSION);
      return ExitCode::done;
    };
  });
}

}  // namespace xflow::cli
