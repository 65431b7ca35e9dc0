// Writes generated graphs of policies as instances of `xflow place`.
//
//   xflow-bench-graphs FAMILY OUT.json [--seed N] [--cluster NAME] [--nodes N]
//
// --nodes is the number of nodes of the family `large`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <string_view>

#include "src/parallel/large_graphs.h"
#include "src/parallel/step_instance.h"
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
  text += "]";
  if (!instance.fusions.empty()) text += ",\n \"fusions\": [";
  separator = "\n  ";
  for (const auto& [node, into, saved] : instance.fusions) {
    text += fmt::format("{}{{\"nodeId\": {}, \"intoId\": {}, \"saved\": {}}}", separator, instance.nodes[node].id, instance.nodes[into].id,
                        saved);
    separator = ",\n  ";
  }
  if (!instance.fusions.empty()) text += "]";
  return text + "}\n";
}

Result<parallel::PlacementInstance> generated(const std::string& family, std::uint64_t seed, const std::string& cluster_name,
                                              std::uint32_t nodes) {
  XFLOW_TRY(const parallel::DeviceCluster cluster, parallel::open_cluster(cluster_name));
  if (nodes == 0) return policy::family_graph(family, seed, cluster);
  if (family != "large") return fail(ErrorCode::invalid_argument, "--nodes is for the family large");
  XFLOW_TRY(const parallel::LargeGraph graph, parallel::large_graph(nodes, seed, cluster));
  return parallel::instance_of(graph, cluster);
}

Result<void> write(const std::string& path, const Result<parallel::PlacementInstance>& instance) {
  if (!instance) return fail(instance.error());
  const std::string text = json_of(*instance);
  return onnx_io::write_file(path, std::array<std::string_view, 1>{text});
}

int run(int argc, char** argv) {
  CLI::App app("Writes a generated graph as an instance of xflow place.");
  std::string family;
  std::string path;
  std::string cluster = "dgx-h100";
  std::uint64_t seed = 1;
  std::uint32_t nodes = 0;
  app.add_option("FAMILY", family)->required();
  app.add_option("OUT", path)->required();
  app.add_option("--seed", seed);
  app.add_option("--cluster", cluster);
  app.add_option("--nodes", nodes, "of the family large");
  CLI11_PARSE(app, argc, argv);
  const auto written = write(path, generated(family, seed, cluster, nodes));
  if (written) return 0;
  fmt::print(stderr, "xflow-bench-graphs: {}\n", written.error().message);
  return 1;
}

}  // namespace
}  // namespace xflow

int main(int argc, char** argv) { return xflow::run(argc, argv); }
