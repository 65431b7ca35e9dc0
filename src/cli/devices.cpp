#include <xflow/devices.h>

#include <cstdio>

#include "src/cli/command.h"

namespace xflow::cli {

void add_devices(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("devices", "List where costs can be measured, and why not elsewhere");
  sub->footer(examples({"xflow devices"}));
  sub->callback([&command] {
    command.run = [] {
      for (const DeviceDescription& device : devices())
        std::printf("%-10s %s%s\n", device.name.c_str(), device.usable ? "" : "cannot be used: ", device.text.c_str());
      return ExitCode::done;
    };
  });
}

}  // namespace xflow::cli
