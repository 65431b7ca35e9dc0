#include "src/optimizer/rewritten_parts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/onnx/document/document.h"
#include "src/onnx/document/fields.h"
#include "src/onnx/document/wire.h"
#include "src/optimizer/operator_counts.h"

namespace xflow::api {
namespace {

namespace node_fields = onnx_io::node_fields;

constexpr onnx_io::GraphId kMain{0};

// Field of a TensorProto.
constexpr std::uint32_t kDims = 1;

// A node of either model.
struct Side {
  std::string_view payload;
  PartNode node;
  std::string beside_inputs;  // all other fields
  bool is_changed = true;
};

Side side_of(std::string_view payload) {
  Side side{payload, {}, {}};
  std::string_view op_type;
  std::string_view domain;
  onnx_io::WireReader reader(payload);
  for (onnx_io::WireField field; reader.next(field);) {
    if (field.is_bytes(node_fields::kInput)) {
      side.node.inputs.emplace_back(field.payload);
      continue;
    }
    side.beside_inputs += field.whole;
    if (field.is_bytes(node_fields::kOutput)) side.node.outputs.emplace_back(field.payload);
    if (field.is_bytes(node_fields::kName)) side.node.name = field.payload;
    if (field.is_bytes(node_fields::kOpType)) op_type = field.payload;
    if (field.is_bytes(node_fields::kDomain)) domain = field.payload;
  }
  side.node.op = operator_name(op_type, domain);
  return side;
}

std::vector<Side> sides_of(const onnx_io::Document& document, std::span<const onnx_io::GraphEdit> edits) {
  const auto nodes = document.nodes(kMain);
  const auto edit = std::ranges::find(edits, kMain, &onnx_io::GraphEdit::graph);
  std::vector<Side> sides;
  if (edit == edits.end() || !edit->nodes) {
    for (const onnx_io::Node& node : nodes) sides.push_back(side_of(node.payload));
  } else {
    for (const onnx_io::Entry& entry : *edit->nodes) sides.push_back(side_of(entry.kept ? nodes[*entry.kept].payload : entry.message));
  }
  return sides;
}

// Pairs changed nodes whose `key` is the same, and calls `pair` with them.
template <typename Key, typename Pair>
void match(std::vector<Side>& before, std::vector<Side>& after, const Key& key, const Pair& pair) {
  std::unordered_multimap<std::string_view, Side*> known;
  for (Side& side : before)
    if (side.is_changed) known.emplace(key(side), &side);
  for (Side& side : after) {
    const auto found = side.is_changed ? known.find(key(side)) : known.end();
    if (found == known.end()) continue;
    found->second->is_changed = side.is_changed = false;
    pair(*found->second, side);
    known.erase(found);
  }
}

// Sets of nodes that are joined one by one.
class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t find(std::size_t element) {
    while (parent_[element] != element) element = parent_[element] = parent_[parent_[element]];
    return element;
  }
  void join(std::size_t a, std::size_t b) {
    const auto [first, second] = std::minmax({find(a), find(b)});
    parent_[second] = first;
  }

 private:
  std::vector<std::size_t> parent_;
};

// The number of elements of a TensorProto whose last field may lack its elements (Entry::tail).
std::uint64_t elements_of(std::string_view message) {
  std::vector<std::int64_t> dims;
  onnx_io::WireReader reader(message);
  for (onnx_io::WireField field; reader.next(field);)
    if (field.number == kDims) onnx_io::append_varints(field, dims);
  std::uint64_t elements = 1;
  for (const std::int64_t size : dims) elements *= static_cast<std::uint64_t>(size);
  return elements;
}

}  // namespace

std::vector<RewrittenPart> rewritten_parts(const onnx_io::Document& original, const onnx_io::Document& base,
                                           std::span<const onnx_io::GraphEdit> edits, std::span<const RewriteStep> steps) {
  std::vector<Side> before = sides_of(original, {});
  std::vector<Side> after = sides_of(base, edits);
  std::vector<std::pair<const Side*, const Side*>> reconnected;
  const auto payload = [](const Side& side) { return side.payload; };
  const auto beside_inputs = [](const Side& side) { return std::string_view(side.beside_inputs); };
  match(before, after, payload, [](const Side&, const Side&) {});
  match(before, after, beside_inputs, [&](const Side& a, const Side& b) { reconnected.emplace_back(&a, &b); });

  // The changed nodes, those of the original first, and which of them computes a value.
  std::vector<const Side*> changed;
  for (const std::vector<Side>* sides : {&before, &after})
    for (const Side& side : *sides)
      if (side.is_changed) changed.push_back(&side);
  Sets sets(changed.size());
  std::unordered_map<std::string_view, std::size_t> makers;
  for (std::size_t k = 0; k < changed.size(); ++k) {
    for (const std::string& output : changed[k]->node.outputs) {
      if (output.empty()) continue;
      const auto [known, fresh] = makers.emplace(output, k);
      if (!fresh) sets.join(known->second, k);
    }
  }
  for (std::size_t k = 0; k < changed.size(); ++k) {
    for (const std::string& input : changed[k]->node.inputs)
      if (const auto maker = makers.find(input); maker != makers.end()) sets.join(maker->second, k);
  }
  for (const auto& [a, b] : reconnected) {
    for (std::size_t k = 0; k < std::min(a->node.inputs.size(), b->node.inputs.size()); ++k) {
      const auto left = makers.find(a->node.inputs[k]);
      const auto right = makers.find(b->node.inputs[k]);
      if (a->node.inputs[k] != b->node.inputs[k] && left != makers.end() && right != makers.end()) sets.join(left->second, right->second);
    }
  }

  std::map<std::size_t, RewrittenPart> parts;
  std::map<std::string, std::size_t> places;  // of the original's nodes -> set
  std::size_t next = 0;
  const auto nodes = original.nodes(kMain);
  for (std::size_t k = 0; k < before.size(); ++k) {
    if (!before[k].is_changed) continue;
    const std::size_t set = sets.find(next++);
    places.emplace(onnx_io::describe(original, nodes[k].id), set);
    parts[set].before.push_back(std::move(before[k].node));
  }
  for (Side& side : after)
    if (side.is_changed) parts[sets.find(next++)].after.push_back(std::move(side.node));
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (const auto place = places.find(steps[k].where); place != places.end()) parts[place->second].steps.push_back(k);
  std::vector<RewrittenPart> result;
  result.reserve(parts.size());
  for (auto& [set, part] : parts) result.push_back(std::move(part));
  return result;
}

ParameterCounts parameter_counts(const onnx_io::Document& original, const onnx_io::Document& base,
                                 std::span<const onnx_io::GraphEdit> edits) {
  const auto elements = [](const onnx_io::TensorView& tensor) { return tensor.elements() ? *tensor.elements() : 0; };
  ParameterCounts counts;
  for (const onnx_io::Graph& graph : original.graphs())
    for (const onnx_io::Initializer& initializer : graph.initializers) counts.before += elements(initializer.tensor);
  for (const onnx_io::Graph& graph : base.graphs()) {
    const auto edit = std::ranges::find(edits, graph.id, &onnx_io::GraphEdit::graph);
    if (edit == edits.end() || !edit->initializers) {
      for (const onnx_io::Initializer& initializer : graph.initializers) counts.after += elements(initializer.tensor);
      continue;
    }
    for (const onnx_io::Entry& entry : *edit->initializers)
      counts.after += entry.kept ? elements(graph.initializers[*entry.kept].tensor) : elements_of(entry.message);
  }
  return counts;
}

std::uint64_t file_bytes(const onnx_io::Document& document) {
  std::uint64_t bytes = document.bytes().size();
  for (const onnx_io::ExternalFile& file : document.external_files()) bytes += file.content->bytes().size();
  return bytes;
}

}  // namespace xflow::api
