#include "src/parallel/kept_document.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "src/onnx/document/fields.h"
#include "src/onnx/document/new_model.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lift/lift_operator.h"

namespace xflow::parallel {
namespace {

using ir::ValueId;
using onnx_io::Document;
using onnx_io::Node;
using onnx_io::ValueInfo;
using onnx_io::WireField;
using onnx_io::WireReader;
using onnx_io::WireWriter;
namespace graph_fields = onnx_io::graph_fields;
namespace model_fields = onnx_io::model_fields;

constexpr std::int64_t kLeastIrVersion = 8;

class PartDocument {
 public:
  PartDocument(const Document& document, const onnx_io::LiftedModel& lifted, ir::Arena& arena, const PlanPart& part)
      : document_(document),
        arena_(arena),
        part_(part),
        opset_(lifted.opset > 0 ? lifted.opset : static_cast<int>(onnx_io::kNewestOpset)) {}

  Result<std::string> write() {
    take_kept();
    find_new();
    // A graph with the nodes that are new.
    std::optional<Document> made;
    if (!new_.outputs.empty()) {
      XFLOW_TRY(std::string bytes, new_part());
      XFLOW_TRY(made, Document::parse(std::move(bytes)));
    }
    const Document* fresh = made ? &*made : nullptr;
    WireWriter out;
    out.varint(model_fields::kIrVersion, std::max(kLeastIrVersion, document_.model().ir_version));
    out.bytes(model_fields::kGraph, graph_of(fresh));
    bool has_opset = false;
    WireReader reader(document_.bytes());
    for (const onnx_io::OperatorSet& set : document_.model().opsets) has_opset = has_opset || onnx_io::is_default_domain(set.domain);
    for (WireField field; reader.next(field);)
      if (!field.is_bytes(model_fields::kGraph) && !field.is_varint(model_fields::kIrVersion) && !field.is_bytes(model_fields::kTraining))
        out.raw(field.whole);
    if (!has_opset) out.bytes(model_fields::kOpset, WireWriter().bytes(1, "").varint(2, opset_).view());
    return out.take();
  }

 private:
  // What the kept nodes define, and their results as values.
  void take_kept() {
    std::set<onnx_io::NodeId> seen;
    for (const PartInput& input : part_.inputs) defined_.insert(input.name);
    for (const PartNodes& own : part_.kept) {
      for (const onnx_io::NodeId id : own.nodes->nodes) {
        if (!seen.insert(id).second) continue;
        kept_.push_back(id);
        for (const std::string_view name : document_.node(id).outputs)
          if (!name.empty()) defined_.emplace(name);
      }
      for (const std::string_view name : own.nodes->initializers)
        if (defined_.emplace(name).second) initializers_.push_back(name);
      for (std::size_t k = 0; k < own.results.size(); ++k)
        if (!own.nodes->results[k].name.empty()) results_.emplace_back(own.nodes->results[k].name, own.results[k]);
    }
  }

  // What is computed by new nodes: outputs, and what kept nodes read by a name.
  void find_new() {
    const auto add = [&](const std::string& name, ValueId value) {
      if (!defined_.insert(name).second) return;
      names_.outputs.push_back(name);
      new_.outputs.push_back(value);
    };
    for (std::size_t k = 0; k < part_.outputs.size(); ++k) add(part_.outputs[k], part_.graph.outputs[k]);
    for (const PartNodes& own : part_.kept)
      for (std::size_t k = 0; k < own.operands.size(); ++k) add(own.nodes->reads[k].name, own.operands[k]);
    for (const ir::NodeId id : ir::topological_order(arena_, new_)) used_.insert(id);
  }

  Result<std::string> new_part() {
    std::vector<ValueId> inputs;
    const auto add = [&](const std::string& name, ValueId value) {
      if (!used_.contains(value.node)) return;
      names_.inputs.push_back(name);
      inputs.push_back(value);
    };
    for (const PartInput& input : part_.inputs) add(input.name, input.value);
    for (const auto& [name, value] : results_) add(name, value);
    names_.around = &document_;
    names_.has_open_sizes = true;
    return onnx_io::new_model(arena_, new_, inputs, opset_, &names_);
  }

  // The nodes in an order in which they can run, kept ones as early as possible.
  std::vector<std::string_view> nodes_of(const Document* fresh) const {
    std::vector<const Node*> nodes;
    nodes.reserve(kept_.size());
    for (const onnx_io::NodeId id : kept_) nodes.push_back(&document_.node(id));
    if (fresh != nullptr)
      for (const onnx_io::NodeId id : fresh->main().order) nodes.push_back(&fresh->node(id));
    std::unordered_map<std::string_view, std::size_t> makers;
    for (std::size_t k = 0; k < nodes.size(); ++k)
      for (const std::string_view name : nodes[k]->outputs)
        if (!name.empty()) makers.emplace(name, k);
    std::vector<std::vector<std::size_t>> readers(nodes.size());
    std::vector<std::size_t> waits(nodes.size(), 0);
    for (std::size_t k = 0; k < nodes.size(); ++k)
      for (const auto* names : {&nodes[k]->inputs, &nodes[k]->captures})
        for (const std::string_view name : *names) {
          const auto maker = makers.find(name);
          if (maker == makers.end()) continue;
          readers[maker->second].push_back(k);
          ++waits[k];
        }
    std::set<std::size_t> ready;
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (waits[k] == 0) ready.insert(k);
    std::vector<std::string_view> fields;
    while (!ready.empty()) {
      const std::size_t next = *ready.begin();
      ready.erase(ready.begin());
      fields.push_back(nodes[next]->field);
      for (const std::size_t reader : readers[next])
        if (--waits[reader] == 0) ready.insert(reader);
    }
    return fields;
  }

  std::string graph_of(const Document* fresh) const {
    const onnx_io::Graph& graph = document_.main();
    WireWriter out;
    for (const std::string_view node : nodes_of(fresh)) out.raw(node);
    for (const std::string_view bytes : graph.pieces) {
      WireReader reader(bytes);
      for (WireField field; reader.next(field);)
        if (field.is_bytes(graph_fields::kName) || field.is_bytes(graph_fields::kDocString) || field.is_bytes(graph_fields::kMetadata))
          out.raw(field.whole);
    }
    for (const std::string_view name : initializers_) {
      const onnx_io::Definition& definition = *document_.find(graph.id, name);
      out.raw(definition.initializer ? graph.initializers[*definition.initializer].field
                                     : graph.sparse_initializers[*definition.sparse_initializer].field);
    }
    if (fresh != nullptr)
      for (const onnx_io::Initializer& own : fresh->main().initializers) out.raw(own.field);
    for (const PartInput& input : part_.inputs) write_input(input, out);
    for (std::size_t k = 0; k < part_.outputs.size(); ++k) write_output(fresh, k, out);
    for (const ValueInfo& info : graph.value_infos) {
      const auto makes = [&](onnx_io::NodeId id) { return std::ranges::count(document_.node(id).outputs, info.name) > 0; };
      const bool is_output = std::ranges::find(part_.outputs, info.name) != part_.outputs.end();
      if (!is_output && std::ranges::any_of(kept_, makes)) out.raw(info.field);
    }
    return out.take();
  }

  // An input that kept nodes alone read is declared as in the document.
  void write_input(const PartInput& input, WireWriter& out) const {
    const ValueInfo* declared = find_info(document_.main().inputs, input.name);
    if (declared != nullptr && !input.part && !used_.contains(input.value.node))
      out.raw(declared->field);
    else
      out.bytes(graph_fields::kInput, onnx_io::interface_message(input.name, arena_.type(input.value)));
  }
  // So is a result of a kept node that is an output of the model.
  void write_output(const Document* fresh, std::size_t k, WireWriter& out) const {
    const std::string& name = part_.outputs[k];
    const ValueInfo* made = fresh == nullptr ? nullptr : find_info(fresh->main().outputs, name);
    const ValueInfo* declared = find_info(document_.main().outputs, name);
    if (made == nullptr && declared != nullptr)
      out.raw(declared->field);
    else
      out.bytes(graph_fields::kOutput, onnx_io::interface_message(name, arena_.type(part_.graph.outputs[k])));
  }

  const Document& document_;
  ir::Arena& arena_;
  const PlanPart& part_;
  const int opset_;
  std::vector<onnx_io::NodeId> kept_;
  std::vector<std::string_view> initializers_;
  std::vector<std::pair<std::string, ValueId>> results_;
  std::unordered_set<std::string> defined_;  // names in the part
  ir::Graph new_;                            // what new nodes compute
  std::unordered_set<ir::NodeId> used_;      // by it
  onnx_io::NewModelNames names_;             // of it
};

}  // namespace

Result<std::string> kept_document(const Document& document, const onnx_io::LiftedModel& lifted, ir::Arena& arena, const PlanPart& part) {
  return PartDocument(document, lifted, arena, part).write();
}

std::string unused_prefix(const Document& document) {
  std::string prefix = "xflow_";
  const auto is_taken = [&](std::string_view name) {
    return name.size() > prefix.size() && name.starts_with(prefix) && std::isdigit(static_cast<unsigned char>(name[prefix.size()])) != 0;
  };
  const auto has_taken = [&](const onnx_io::Graph& graph) {
    return std::ranges::any_of(graph.definitions, [&](const auto& own) { return is_taken(own.first); });
  };
  while (std::ranges::any_of(document.graphs(), has_taken)) prefix += '_';
  return prefix;
}

}  // namespace xflow::parallel
