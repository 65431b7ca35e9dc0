#include "src/parallel/model_parts.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>
#include <utility>

namespace xflow::parallel {
namespace {

using onnx_io::Definition;
using onnx_io::Document;
using onnx_io::Graph;
using onnx_io::Node;

// Operators whose results differ from run to run.
constexpr std::array<std::string_view, 7> kRandom = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
                                                     "Multinomial",  "Bernoulli",        "Dropout"};

// What a node reads: its operands and the outer values that its bodies use, each once.
std::vector<std::string_view> reads_of(const Node& node) {
  std::vector<std::string_view> reads;
  std::unordered_set<std::string_view> seen;
  for (const auto* list : {&node.inputs, &node.captures}) {
    for (const std::string_view name : *list) {
      if (!name.empty() && seen.insert(name).second) reads.push_back(name);
    }
  }
  return reads;
}

class Divider {
 public:
  Divider(const Document& document, std::span<const std::optional<std::uint32_t>> devices, const KnownIntegers& known)
      : document_(document), graph_(document.main()), known_(known), devices_(devices.begin(), devices.end()) {}

  ModelParts run() {
    for (const onnx_io::NodeId id : graph_.order) reads_[id] = reads_of(document_.node(id));
    for (const onnx_io::ValueInfo& output : graph_.outputs) wanted_.insert(output.name);
    find_constants();
    give_devices();
    find_stages();
    find_live();
    make_parts();
    return std::move(result_);
  }

 private:
  using PartKey = std::pair<std::uint32_t, std::uint32_t>;  // stage, device

  const Definition* definition(std::string_view name) const { return document_.find(graph_.id, name); }
  std::optional<onnx_io::NodeId> producer(std::string_view name) const {
    const Definition* found = definition(name);
    return found == nullptr ? std::nullopt : found->node;
  }
  std::size_t number(onnx_io::NodeId id) const { return onnx_io::index(id) - graph_.first_node; }
  bool is_constant(onnx_io::NodeId id) const { return constants_.contains(id); }
  PartKey part_of(onnx_io::NodeId id) const { return {stages_.at(id), *devices_[number(id)]}; }
  // A Constant is copied, and needs no initializer.
  bool is_known(std::string_view name) const {
    const auto source = producer(name);
    return known_.contains(name) && source && !document_.node(*source).is("Constant");
  }
  bool is_initializer(const Definition& definition) const {
    return (definition.initializer || definition.sparse_initializer) && !definition.input;
  }
  // Before IR version 4 an initializer is an input too, and constant.
  bool is_fixed(std::string_view name) const {
    constexpr std::int64_t kFirstWithDefaults = 4;
    if (known_.contains(name)) return true;
    const Definition* found = definition(name);
    if (found == nullptr) return false;
    if (found->node) return is_constant(*found->node);
    return (found->initializer || found->sparse_initializer) && (!found->input || document_.model().ir_version < kFirstWithDefaults);
  }

  void find_constants() {
    for (const onnx_io::NodeId id : graph_.order) {
      const Node& node = document_.node(id);
      if (!onnx_io::is_default_domain(node.domain) || node.has_bodies() || is_random(document_, node)) continue;
      if (std::ranges::all_of(reads_[id], [&](std::string_view name) { return is_fixed(name); })) constants_.insert(id);
    }
  }

  void give_devices() {
    for (auto at = graph_.order.rbegin(); at != graph_.order.rend(); ++at) {
      const auto& device = devices_[number(*at)];
      if (!device || is_constant(*at)) continue;
      // Later readers are visited first, so that the first one has the last word.
      for (const std::string_view name : reads_[*at]) {
        const auto source = producer(name);
        if (source && (!devices_[number(*source)] || followers_.contains(*source))) {
          devices_[number(*source)] = device;
          followers_.insert(*source);
        }
      }
    }
    for (const onnx_io::NodeId id : graph_.order) {
      auto& device = devices_[number(id)];
      for (const std::string_view name : reads_[id]) {
        const auto source = producer(name);
        if (!device && source) device = devices_[number(*source)];
      }
      device = device.value_or(0);
    }
  }

  // The stages of nodes that are not copied.
  void find_stages() {
    for (const onnx_io::NodeId id : graph_.order) {
      std::uint32_t stage = 0;
      for (const std::string_view name : reads_[id]) {
        const auto source = producer(name);
        if (!source || is_constant(*source)) continue;
        const bool is_near = devices_[number(*source)] == devices_[number(id)];
        if (is_near || !is_known(name)) stage = std::max(stage, stages_.at(*source) + (is_near ? 0 : 1));
      }
      stages_[id] = stage;
    }
  }

  // Which parts need which nodes, readers first.
  void find_live() {
    for (auto at = graph_.order.rbegin(); at != graph_.order.rend(); ++at) {
      const Node& node = document_.node(*at);
      std::set<PartKey>& parts = parts_of_[*at];
      if (std::ranges::any_of(node.outputs, [&](std::string_view name) { return wanted_.contains(name); })) parts.insert(part_of(*at));
      for (const PartKey& part : parts) {
        for (const std::string_view name : reads_[*at]) need(name, part);
      }
    }
  }

  void need(std::string_view name, const PartKey& part) {
    const auto source = producer(name);
    if (!source) return;
    const PartKey own = part_of(*source);
    if (own != part && is_known(name)) return;
    parts_of_[*source].insert(is_constant(*source) ? part : own);
  }

  void make_parts() {
    std::map<PartKey, std::uint32_t> numbers;
    for (const auto& [id, parts] : parts_of_) {
      for (const PartKey& part : parts) numbers.emplace(part, 0);
    }
    for (auto& [part, number] : numbers) {
      number = static_cast<std::uint32_t>(result_.parts.size());
      result_.parts.emplace_back().stage = part.first;
      result_.parts.back().device = part.second;
    }
    for (const onnx_io::NodeId id : graph_.order) {
      const std::set<PartKey>& parts = parts_of_.at(id);
      result_.left_out += parts.empty() ? 1 : 0;
      result_.copied += parts.size() > 1 ? 1 : 0;
      for (const PartKey& part : parts) result_.parts[numbers.at(part)].nodes.push_back(id);
    }
    for (std::uint32_t k = 0; k < result_.parts.size(); ++k) find_tensors(k, numbers);
    for (const onnx_io::ValueInfo& output : graph_.outputs) {
      const auto source = producer(output.name);
      std::optional<std::uint32_t> part;
      if (source) part = numbers.at(part_of(*source));
      // An initializer that is an output needs a part that has it.
      const Definition* found = definition(output.name);
      if (!source && found != nullptr && is_initializer(*found)) {
        part = 0;
        add_once(result_.parts[0].initializers, output.name);
      }
      result_.outputs.push_back({output.name, part});
      if (part) add_once(result_.parts[*part].outputs, output.name);
    }
  }

  template <typename Item>
  static void add_once(std::vector<Item>& list, const Item& item) {
    if (std::ranges::find(list, item) == list.end()) list.push_back(item);
  }

  // What a part reads that its nodes do not compute; asks other parts for it.
  void find_tensors(std::uint32_t k, const std::map<PartKey, std::uint32_t>& numbers) {
    ModelPart& part = result_.parts[k];
    std::unordered_set<std::string_view> seen;
    for (const onnx_io::NodeId id : part.nodes) {
      for (const std::string_view name : document_.node(id).outputs) seen.insert(name);
    }
    const auto find = [&](std::string_view name) {
      if (!seen.insert(name).second) return;
      const Definition* found = definition(name);
      if (found != nullptr && is_initializer(*found)) return part.initializers.push_back(name);
      if (is_known(name)) return part.known.push_back(name);
      if (found == nullptr || !found->node) return part.inputs.push_back({name, std::nullopt});
      const std::uint32_t source = numbers.at(part_of(*found->node));
      part.inputs.push_back({name, source});
      add_once(result_.parts[source].outputs, name);
    };
    for (const onnx_io::NodeId id : part.nodes) {
      for (const std::string_view name : reads_[id]) find(name);
    }
  }

  const Document& document_;
  const Graph& graph_;
  const KnownIntegers& known_;
  std::vector<std::optional<std::uint32_t>> devices_;
  std::map<onnx_io::NodeId, std::vector<std::string_view>> reads_;
  std::unordered_set<std::string_view> wanted_;  // outputs of the model
  std::set<onnx_io::NodeId> constants_;          // nodes that are copied to their readers
  std::set<onnx_io::NodeId> followers_;          // nodes that got the device of a reader
  std::map<onnx_io::NodeId, std::uint32_t> stages_;
  std::map<onnx_io::NodeId, std::set<PartKey>> parts_of_;
  ModelParts result_;
};

}  // namespace

bool is_random(const Document& document, const Node& node) {
  if (onnx_io::is_default_domain(node.domain) && std::ranges::find(kRandom, node.op_type) != kRandom.end()) return true;
  const auto has_random = [&](onnx_io::GraphId graph) {
    return std::ranges::any_of(document.nodes(graph), [&](const Node& own) { return is_random(document, own); });
  };
  for (const onnx_io::Attribute& attribute : node.attributes)
    if (std::ranges::any_of(attribute.graphs, has_random)) return true;
  for (const onnx_io::Function& function : document.model().functions)
    if (function.domain == node.domain && function.name == node.op_type && has_random(function.body)) return true;
  return false;
}

ModelParts divide(const Document& document, std::span<const std::optional<std::uint32_t>> devices, const KnownIntegers& known) {
  return Divider(document, devices, known).run();
}

}  // namespace xflow::parallel
