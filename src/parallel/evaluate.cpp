#include "src/parallel/evaluate.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "src/parallel/ordering.h"

namespace xflow::parallel {
namespace {

// Task of each node: one for each node on a CPU, one or more for each accelerator.
struct Tasks {
  std::vector<std::uint32_t> task_of_node;
  std::vector<double> times;
};

// How often a path enters the device on its way to the end of `node`, by device: the task of the node there.
std::vector<std::uint32_t> entries_of(const PlacementInstance& instance, const NodeDevices& devices) {
  const auto nodes = static_cast<std::uint32_t>(instance.nodes.size());
  const Adjacency sources(nodes, instance.edges, true);
  const std::vector<std::uint32_t> order = topological_order(nodes, instance.edges);
  std::vector<std::uint32_t> entries(nodes, 0);
  std::vector<std::uint32_t> here(nodes);
  std::vector<bool> is_used(instance.devices());
  for (const std::uint32_t device : devices) is_used[device] = true;
  for (std::uint32_t device = 0; device < instance.accelerators; ++device) {
    if (!is_used[device]) continue;
    for (const std::uint32_t node : order) {
      const bool is_there = devices[node] == device;
      here[node] = is_there ? 1 : 0;
      for (const std::uint32_t source : sources[node]) {
        here[node] = std::max(here[node], here[source] + (is_there && devices[source] != device ? 1 : 0));
      }
      if (is_there) entries[node] = here[node];
    }
  }
  return entries;
}

Tasks tasks_on(const PlacementInstance& instance, const NodeDevices& devices) {
  Tasks tasks;
  const std::vector<std::uint32_t> entries = entries_of(instance, devices);
  std::unordered_map<std::uint64_t, std::uint32_t> task_of_part;
  for (std::size_t k = 0; k < instance.nodes.size(); ++k) {
    const PlacementNode& node = instance.nodes[k];
    auto task = static_cast<std::uint32_t>(tasks.times.size());
    if (devices[k] < instance.accelerators) task = task_of_part.emplace(std::uint64_t{devices[k]} << 32U | entries[k], task).first->second;
    if (task == tasks.times.size()) tasks.times.push_back(0);
    tasks.times[task] += devices[k] < instance.accelerators ? node.accelerator_time : node.cpu_time;
    tasks.task_of_node.push_back(task);
  }
  return tasks;
}

// Adds to each task on an accelerator the transfers of its inputs and outputs.
void add_transfers(const PlacementInstance& instance, const NodeDevices& devices, Tasks& tasks) {
  for (std::size_t k = 0; k < instance.edges.size();) {
    const std::uint32_t from = instance.edges[k].from;
    std::set<std::uint32_t> receivers;
    bool is_sent = false;
    for (; k < instance.edges.size() && instance.edges[k].from == from; ++k) {
      const std::uint32_t to = instance.edges[k].to;
      if (tasks.task_of_node[to] == tasks.task_of_node[from]) continue;
      is_sent = true;
      if (devices[to] < instance.accelerators) receivers.insert(tasks.task_of_node[to]);
    }
    if (is_sent && devices[from] < instance.accelerators) tasks.times[tasks.task_of_node[from]] += instance.output_cost[from];
    for (const std::uint32_t task : receivers) tasks.times[task] += instance.output_cost[from];
  }
}

std::optional<double> longest_path(const std::vector<double>& times, std::span<const PlacementEdge> edges) {
  const auto vertices = static_cast<std::uint32_t>(times.size());
  const Adjacency sources(vertices, edges, true);
  std::vector<double> ends(vertices, 0);
  double last = 0;
  const std::vector<std::uint32_t> order = topological_order(vertices, edges);
  if (order.size() < vertices) return std::nullopt;
  for (const std::uint32_t vertex : order) {
    double start = 0;
    for (const std::uint32_t source : sources[vertex]) start = std::max(start, ends[source]);
    ends[vertex] = start + times[vertex];
    last = std::max(last, ends[vertex]);
  }
  return last;
}

// Nodes that are together on an accelerator and that no path leaves and enters again: those of a class that
// is in no cycle of classes. Other nodes are alone.
std::vector<std::uint32_t> visited_once(const PlacementInstance& instance) {
  const std::vector<std::uint32_t> group_of_node = groups_of_nodes(instance);
  const auto nodes = static_cast<std::uint32_t>(instance.nodes.size());
  std::vector<PlacementEdge> edges;
  edges.reserve(instance.edges.size());
  for (const PlacementEdge& edge : instance.edges) edges.push_back({group_of_node[edge.from], group_of_node[edge.to]});
  const std::vector<std::uint32_t> component = components(nodes, edges);
  std::vector<std::uint32_t> members(nodes, 0);  // groups of each component
  for (const std::uint32_t c : component) ++members[c];
  std::vector<std::uint32_t> result;
  for (std::uint32_t k = 0; k < nodes; ++k) {
    const std::uint32_t group = group_of_node[k];
    result.push_back(members[component[group]] == 1 ? group : nodes + k);
  }
  return result;
}

}  // namespace

NodeDevices node_devices(std::span<const std::uint32_t> group_of_node, std::span<const std::uint32_t> device_of_group) {
  NodeDevices devices;
  for (const std::uint32_t group : group_of_node) devices.push_back(device_of_group[group]);
  return devices;
}

std::vector<double> loads_of(const PlacementInstance& instance, const NodeDevices& devices) {
  Tasks tasks;
  tasks.times.assign(instance.devices(), 0);
  tasks.task_of_node = devices;
  for (std::size_t k = 0; k < instance.nodes.size(); ++k) {
    const PlacementNode& node = instance.nodes[k];
    tasks.times[devices[k]] += devices[k] < instance.accelerators ? node.accelerator_time : node.cpu_time;
  }
  add_transfers(instance, devices, tasks);
  return tasks.times;
}

std::vector<double> bytes_of(const PlacementInstance& instance, const NodeDevices& devices) {
  std::vector<double> bytes(instance.devices(), 0);
  for (std::size_t k = 0; k < instance.nodes.size(); ++k) bytes[devices[k]] += instance.nodes[k].bytes;
  return bytes;
}

bool is_valid(const PlacementInstance& instance, const NodeDevices& devices) {
  const std::vector<double> bytes = bytes_of(instance, devices);
  for (std::uint32_t device = 0; device < instance.accelerators; ++device) {
    if (bytes[device] > instance.memory) return false;
  }
  std::unordered_map<std::int64_t, std::uint32_t> device_of_colour;
  for (std::size_t k = 0; k < instance.nodes.size(); ++k) {
    const PlacementNode& node = instance.nodes[k];
    if (!node.on_accelerator && devices[k] < instance.accelerators) return false;
    if (node.colour && device_of_colour.emplace(*node.colour, devices[k]).first->second != devices[k]) return false;
  }
  return true;
}

std::optional<double> latency_of(const PlacementInstance& instance, const NodeDevices& devices) {
  Tasks tasks = tasks_on(instance, devices);
  add_transfers(instance, devices, tasks);
  std::vector<PlacementEdge> edges;
  for (const PlacementEdge& edge : instance.edges) {
    const PlacementEdge of_tasks{tasks.task_of_node[edge.from], tasks.task_of_node[edge.to]};
    if (of_tasks.from != of_tasks.to) edges.push_back(of_tasks);
  }
  return longest_path(tasks.times, edges);
}

double longest_path(const PlacementInstance& instance) {
  struct Path {
    double before = 0;  // of the components before the last one
    double cpu = 0;     // of the path's nodes in the last one
  };
  const std::vector<std::uint32_t> component = visited_once(instance);
  std::vector<double> accelerator(2 * instance.nodes.size(), instance.accelerators > 0 ? 0 : kInfinity);
  std::vector<double> bytes(2 * instance.nodes.size(), 0);
  for (std::size_t k = 0; k < instance.nodes.size(); ++k) {
    const PlacementNode& node = instance.nodes[k];
    bytes[component[k]] += node.bytes;
    const bool fits = node.on_accelerator && bytes[component[k]] <= instance.memory;
    accelerator[component[k]] += fits ? node.accelerator_time : kInfinity;
  }
  const auto nodes = static_cast<std::uint32_t>(instance.nodes.size());
  const Adjacency sources(nodes, instance.edges, true);
  std::vector<Path> paths(nodes);
  const auto length_at = [&](std::uint32_t node) { return paths[node].before + std::min(accelerator[component[node]], paths[node].cpu); };
  double longest = 0;
  for (const std::uint32_t node : topological_order(nodes, instance.edges)) {
    const double cpu = instance.cpus > 0 ? instance.nodes[node].cpu_time : kInfinity;
    paths[node] = {0, cpu};
    double length = length_at(node);
    for (const std::uint32_t source : sources[node]) {
      const bool is_inside = component[source] == component[node];
      const Path path = is_inside ? Path{paths[source].before, paths[source].cpu + cpu} : Path{length_at(source), cpu};
      const double longer = path.before + std::min(accelerator[component[node]], path.cpu);
      if (longer <= length) continue;
      length = longer;
      paths[node] = path;
    }
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace xflow::parallel
