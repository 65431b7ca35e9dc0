#include "src/policy/graph_families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/parallel/large_graphs.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/step_instance.h"

namespace xflow::policy {
namespace {

using parallel::RandomNumbers;
using Node = std::uint32_t;

constexpr double kFloat = 4;  // bytes
constexpr double kMilliseconds = 1e3;
constexpr double kCpuSlowdown = 20;
constexpr double kMemoryOfEvenShare = 1.5;

// Nodes with their work.
class FamilyGraph {
 public:
  struct Work {
    double operations = 0;
    double elements = 0;  // of the output
    double weights = 0;   // elements
  };

  Node add(const Work& work, std::vector<Node> operands) {
    const auto node = static_cast<Node>(work_.size());
    work_.push_back(work);
    std::ranges::sort(operands);
    const auto repeated = std::unique(operands.begin(), operands.end());
    operands.erase(repeated, operands.end());
    for (const Node operand : operands) edges_.push_back({operand, node});
    return node;
  }
  // An operation for each element.
  Node pointwise(double elements, std::vector<Node> operands) { return add({elements, elements, 0}, std::move(operands)); }
  Node product(double rows, double terms, double columns, Node operand) {
    return add({2 * rows * terms * columns, rows * columns, terms * columns}, {operand});
  }
  // A convolution of images of size `pixels`.
  Node conv(double pixels, double from, double to, double window, Node operand) {
    return add({2 * pixels * from * to * window, pixels * to, from * to * window}, {operand});
  }

  parallel::PlacementInstance on(const parallel::DeviceCluster& cluster) const;

 private:
  std::vector<Work> work_;
  std::vector<parallel::PlacementEdge> edges_;
};

parallel::PlacementInstance FamilyGraph::on(const parallel::DeviceCluster& cluster) const {
  parallel::PlacementInstance instance;
  instance.accelerators = cluster.size();
  instance.cpus = 1;
  instance.edges = edges_;
  std::ranges::sort(instance.edges);
  std::vector<double> read(work_.size());
  instance.output_cost.assign(work_.size(), 0);
  for (const auto& [from, to] : edges_) {
    read[to] += kFloat * work_[from].elements;
    instance.output_cost[from] = kMilliseconds * cluster.inside.seconds(kFloat * work_[from].elements);
  }
  double all = 0;
  double largest = 0;
  for (Node node = 0; node < work_.size(); ++node) {
    const Work& work = work_[node];
    const double own = kFloat * (work.weights + work.elements);
    const double time = kMilliseconds * cluster.devices[0].rates.seconds(work.operations, own + read[node]);
    instance.nodes.push_back({.id = node,
                              .cpu_time = kCpuSlowdown * time,
                              .accelerator_time = time,
                              .bytes = own,
                              .on_accelerator = true,
                              .is_backward = false});
    all += own;
    largest = std::max(largest, own);
  }
  instance.memory = std::min(cluster.devices[0].memory, std::max(largest, kMemoryOfEvenShare * all / cluster.size()));
  return instance;
}

double one_of(RandomNumbers& random, std::initializer_list<double> choices) {
  return choices.begin()[random.below(static_cast<std::uint32_t>(choices.size()))];
}

FamilyGraph cells(RandomNumbers& random) {
  FamilyGraph graph;
  const double batch = one_of(random, {8, 16, 32, 64});
  double pixels = batch * one_of(random, {784, 1024, 3136});
  double channels = one_of(random, {32, 48, 64, 96});
  constexpr std::uint32_t kBlocks = 4;
  struct Block {
    std::uint32_t first, second, window;
  };
  std::array<Block, kBlocks> plan{};
  for (std::uint32_t k = 0; k < kBlocks; ++k) plan[k] = {random.below(k + 2), random.below(k + 2), random.below(3)};
  Node before = graph.conv(pixels, 3, channels, 9, graph.pointwise(3 * pixels, {}));
  Node last = before;
  const std::uint32_t count = 6 + random.below(5);
  for (std::uint32_t cell = 0; cell < count; ++cell) {
    if (cell > 0 && cell % 3 == 0) {
      pixels /= 4;
      last = graph.conv(pixels, channels, 2 * channels, 1, last);
      before = graph.conv(pixels, channels, 2 * channels, 1, before);
      channels *= 2;
    }
    std::vector<Node> values = {before, last};
    for (const Block& block : plan) {
      const double window = block.window == 0 ? 1 : block.window == 1 ? 9 : 25;
      const Node left = graph.conv(pixels, channels, channels, window, values[block.first]);
      const Node right = block.window == 2 ? graph.pointwise(9 * pixels * channels, {values[block.second]})
                                           : graph.conv(pixels, channels, channels, 9, values[block.second]);
      values.push_back(graph.pointwise(pixels * channels, {left, right}));
    }
    before = last;
    last =
        graph.add({2 * pixels * 4 * channels * channels, pixels * channels, 4 * channels * channels}, {values.begin() + 2, values.end()});
  }
  graph.product(batch, channels, 1000, graph.pointwise(pixels * channels, {last}));
  return graph;
}

FamilyGraph transformers(RandomNumbers& random) {
  FamilyGraph graph;
  const double length = one_of(random, {128, 256, 512});
  const double rows = length * one_of(random, {1, 4, 8});
  const double width = one_of(random, {512, 768, 1024});
  const auto heads = static_cast<std::uint32_t>(one_of(random, {2, 4, 8}));
  const std::uint32_t layers = 3 + random.below(4);
  Node x = graph.add({rows * width, rows * width, 30'000 * width}, {});
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const double part = width / heads;
    std::vector<Node> results;
    for (std::uint32_t head = 0; head < heads; ++head) {
      const Node q = graph.product(rows, width, part, x);
      const Node k = graph.product(rows, width, part, x);
      const Node v = graph.product(rows, width, part, x);
      const Node scores = graph.add({2 * rows * length * part, rows * length, 0}, {q, k});
      results.push_back(graph.add({2 * rows * length * part, rows * part, 0}, {graph.pointwise(5 * rows * length, {scores}), v}));
    }
    const Node joined = graph.pointwise(rows * width, results);
    const Node attended = graph.pointwise(8 * rows * width, {x, graph.product(rows, width, width, joined)});
    const Node wide = graph.pointwise(4 * rows * width, {graph.product(rows, width, 4 * width, attended)});
    x = graph.pointwise(8 * rows * width, {attended, graph.product(rows, 4 * width, width, wide)});
  }
  graph.product(rows, width, 30'000, x);
  return graph;
}

FamilyGraph layers(RandomNumbers& random) {
  FamilyGraph graph;
  const std::uint32_t nodes = 60 + random.below(140);
  const std::uint32_t width = 2 + random.below(9);
  std::vector<std::vector<Node>> made = {{graph.pointwise(1e6, {})}};
  const auto some = [&](const std::vector<Node>& of) { return of[random.below(static_cast<std::uint32_t>(of.size()))]; };
  for (Node next = 1; next < nodes;) {
    std::vector<Node> layer;
    const std::uint32_t count = std::min(1 + random.below(width), nodes - next);
    for (std::uint32_t k = 0; k < count; ++k, ++next) {
      std::vector<Node> operands = {some(made.back())};
      if (random.unit() < 0.4) operands.push_back(some(made.back()));
      if (random.unit() < 0.1) operands.push_back(some(made[random.below(static_cast<std::uint32_t>(made.size()))]));
      const double elements = 1e5 * std::exp(3 * random.unit());
      layer.push_back(graph.add({-1e9 * std::log(random.unit()), elements, elements * random.unit()}, operands));
    }
    made.push_back(std::move(layer));
  }
  return graph;
}

FamilyGraph recurrent(RandomNumbers& random) {
  FamilyGraph graph;
  const double batch = one_of(random, {32, 64, 128});
  const double width = one_of(random, {512, 1024, 2048});
  const std::uint32_t steps = 6 + random.below(11);
  const std::uint32_t depth = 2 + random.below(3);
  std::vector<Node> below(steps);
  for (Node& step : below) step = graph.add({batch * width, batch * width, 0}, {});
  for (std::uint32_t layer = 0; layer < depth; ++layer) {
    std::vector<Node> states;
    for (std::uint32_t step = 0; step < steps; ++step) {
      // One step has the weights of a layer.
      const FamilyGraph::Work gates{16 * batch * width * width, 4 * batch * width, step == 0 ? 8 * width * width : 0};
      const Node products = states.empty() ? graph.add(gates, {below[step]}) : graph.add(gates, {below[step], states.back()});
      states.push_back(graph.pointwise(10 * batch * width, {products}));
    }
    below = std::move(states);
  }
  const bool attends = random.below(2) == 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::vector<Node> read = {below[step]};
    if (attends) read.insert(read.end(), below.begin(), below.begin() + step);
    const Node context = graph.add({4 * batch * width * static_cast<double>(read.size()), batch * width, 0}, read);
    graph.product(batch, width, one_of(random, {4000, 8000}), context);
  }
  return graph;
}

FamilyGraph inception(RandomNumbers& random) {
  FamilyGraph graph;
  const double batch = one_of(random, {8, 16, 32, 64});
  double pixels = batch * 1225;
  double channels = one_of(random, {128, 192, 256});
  Node x = graph.conv(4 * pixels, 3, channels, 9, graph.pointwise(12 * pixels, {}));
  x = graph.pointwise(9 * pixels * channels, {x});
  const std::uint32_t modules = 5 + random.below(6);
  for (std::uint32_t module = 0; module < modules; ++module) {
    if (module > 0 && module % 3 == 0) pixels /= 4;
    const double to = channels / 4 * (1 + random.below(2));
    std::vector<Node> ends;
    double joined = 0;
    const std::uint32_t branches = 3 + random.below(3);
    for (std::uint32_t branch = 0; branch < branches; ++branch) {
      Node end = branch == 1 ? graph.pointwise(9 * pixels * channels, {x}) : x;
      double from = channels;
      for (std::uint32_t depth = 0; depth <= branch; ++depth) {
        end = graph.pointwise(pixels * to, {graph.conv(pixels, from, to, depth == 0 ? 1 : one_of(random, {7, 9}), end)});
        from = to;
      }
      ends.push_back(end);
      joined += to;
    }
    x = graph.pointwise(pixels * joined, ends);
    channels = joined;
  }
  graph.product(batch, channels, 1000, graph.pointwise(pixels * channels, {x}));
  return graph;
}

using Maker = FamilyGraph (*)(RandomNumbers&);
constexpr std::array<std::pair<std::string_view, Maker>, 5> kFamilies = {
    {{"cells", cells}, {"transformers", transformers}, {"layers", layers}, {"recurrent", recurrent}, {"inception", inception}}};

constexpr std::string_view kLargeFamily = "large";

}  // namespace

std::vector<std::string> graph_families() {
  std::vector<std::string> names;
  names.reserve(kFamilies.size() + 1);
  for (const auto& family : kFamilies) names.emplace_back(family.first);
  names.emplace_back(kLargeFamily);
  return names;
}

Result<parallel::PlacementInstance> family_graph(std::string_view family, std::uint64_t seed, const parallel::DeviceCluster& cluster) {
  if (family == kLargeFamily) {
    XFLOW_TRY(const parallel::LargeGraph graph, parallel::large_graph(seed % 2 == 0 ? 1000 : 2000, seed, cluster));
    return parallel::instance_of(graph, cluster);
  }
  if (cluster.devices[0].source != parallel::TimeSource::roofline)
    return fail(ErrorCode::invalid_argument, "graphs of families need a cluster whose first device has a roofline", cluster.name);
  for (const auto& [name, make] : kFamilies) {
    if (name != family) continue;
    RandomNumbers random(seed);
    return make(random).on(cluster);
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("there is no family of graphs '{}'; the families are {}", family, fmt::join(graph_families(), ", ")));
}

}  // namespace xflow::policy
