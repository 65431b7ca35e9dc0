#include <fmt/format.h>
#include <xflow/device.h>

#include <cstdio>
#include <memory>

#include "src/cli/command.h"

namespace xflow::cli {
namespace {

ExitCode list() {
  for (const DeviceDescription& device : devices())
    print(fmt::format("{:<10} {}{}\n", device.name, device.usable ? "" : "cannot be used: ", device.text));
  return ExitCode::done;
}

ExitCode check(const std::string& name) {
  const auto checked = check_device(name);
  if (!checked) return report(checked.error());
  if (!checked->passed) {
    std::fprintf(stderr, "xflow: %s differs from the reference: %s\n", name.c_str(), checked->failure.c_str());
    return ExitCode::negative;
  }
  print(fmt::format("{:<10} {} graphs agree with the reference in {} values\n", name, checked->graphs, checked->values));
  return ExitCode::done;
}

}  // namespace

void add_devices(CLI::App& sub, Command& command) {
  auto name = std::make_shared<std::string>();
  sub.add_option("--check", *name, "compare small graphs on this device (cpu, cuda:N) with the reference");
  sub.footer(examples({"xflow devices", "xflow devices --check cuda:0"}));
  sub.callback([&command, name] { command.run = [name] { return name->empty() ? list() : check(*name); }; });
}

}  // namespace xflow::cli
