#include <fmt/format.h>
#include <xflow/device.h>
#include <xflow/report.h>
#include <xflow/run.h>

#include <cstdio>
#include <memory>

#include "src/cli/command.h"
#include "src/cli/measured_clusters.h"
#include "src/cli/processes/mpi_workers.h"
#include "src/cli/processes/run_processes.h"

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

Result<void> measure_links(const std::string& name) {
  if (mpi_place().processes == 1)
    return fail(ErrorCode::invalid_argument,
                "links are measured between processes; start two or more: mpirun -n 2 xflow devices --measure " + name);
  std::string file = name;
  if (is_measured_cluster(name)) {
    XFLOW_TRY(file, measured_cluster_file(name, mpi_place().processes));
  }
  XFLOW_TRY(const auto messages, join_run());
  XFLOW_TRY(const MeasuredCluster cluster, measure_cluster(*messages));
  if (messages->process() != 0) return {};
  print(cluster.to_text(), is_standard_output(file));
  return write_report(file, cluster.to_json());
}

ExitCode measure(const std::string& file) {
  const auto measured = measure_links(file);
  return measured || mpi_place().process != 0 ? ExitCode::done : report(measured.error());
}

}  // namespace

void add_devices(CLI::App& sub, Command& command) {
  auto name = std::make_shared<std::string>();
  auto cluster = std::make_shared<std::string>();
  CLI::Option* checked = sub.add_option("--check", *name, "compare small graphs on this device (cpu, cuda:N) with the reference");
  sub.add_option("--measure", *cluster, "measure links between processes, write a cluster: a file or cpu-N")
      ->type_name("CLUSTER")
      ->excludes(checked);
  sub.footer(examples({"xflow devices", "xflow devices --check cuda:0", "mpirun -n 2 xflow devices --measure cpu-2",
                       "mpirun -n 2 xflow devices --measure pair.json"}));
  sub.callback([&command, name, cluster] {
    command.run = [name, cluster] { return !cluster->empty() ? measure(*cluster) : name->empty() ? list() : check(*name); };
  });
}

}  // namespace xflow::cli
