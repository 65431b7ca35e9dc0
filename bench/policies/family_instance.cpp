// Writes generated graphs of policies as instances of `xflow place`.
//
//   xflow-bench-graphs FAMILY OUT.json [--seed N] [--cluster NAME]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <string_view>

#include "src/policy/graph_families.h"
#include "src/support/file.h"

namespace xflow {
namespace {

std::string json_of(const parallel::PlacementInstance& instance) {
  std::string text = fmt::format("{{\"maxFPGAs\": {}, \"maxCPUs\": {}, \"maxSizePerFPGA\": {},\n \"nodes\": [", instance.accelerators,
                                 instance.cpus, instance.memory);
  const char* separator = "\n  ";
  for (const parallel::PlacementNode& node : instance.nodes) {
    text += fmt::format(
        "{}{{\"id\": {}, \"cpuLatency\": {}, \"fpgaLatency\": {}, \"size\": {}, \"supportedOnFpga\": {}, "
        "\"isBackwardNode\": {}}}",
        separator, node.id, node.cpu_time, node.accelerator_time, node.bytes, node.on_accelerator, node.is_backward);
    separator = ",\n  ";
  }
  text += "],\n \"edges\": [";
  separator = "\n  ";
  for (const auto& [from, to] : instance.edges) {
    text += fmt::format("{}{{\"sourceId\": {}, \"destId\": {}, \"cost\": {}}}", separator, instance.nodes[from].id, instance.nodes[to].id,
                        instance.output_cost[from]);
    separator = ",\n  ";
  }
  return text + "]}\n";
}

Result<void> write(const std::string& family, const std::string& path, std::uint64_t seed, const std::string& cluster_name) {
  XFLOW_TRY(const parallel::DeviceCluster cluster, parallel::open_cluster(cluster_name));
  XFLOW_TRY(const parallel::PlacementInstance instance, policy::family_graph(family, seed, cluster));
  const std::string text = json_of(instance);
  return onnx_io::write_file(path, std::array<std::string_view, 1>{text});
}

int run(int argc, char** argv) {
  CLI::App app("Writes a generated graph as an instance of xflow place.");
  std::string family;
  std::string path;
  std::string cluster = "dgx-h100";
  std::uint64_t seed = 1;
  app.add_option("FAMILY", family)->required();
  app.add_option("OUT", path)->required();
  app.add_option("--seed", seed);
  app.add_option("--cluster", cluster);
  CLI11_PARSE(app, argc, argv);
  const auto written = write(family, path, seed, cluster);
  if (written) return 0;
  fmt::print(stderr, "xflow-bench-graphs: {}\n", written.error().message);
  return 1;
}

}  // namespace
}  // namespace xflow

int main(int argc, char** argv) { return xflow::run(argc, argv); }
