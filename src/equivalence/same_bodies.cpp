#include "src/equivalence/same_bodies.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "src/onnx/document/body_document.h"

namespace xflow::equivalence {
namespace {

using onnx_io::Document;
using onnx_io::Graph;
using onnx_io::Node;

// The captured values of a node by name.
std::unordered_map<std::string_view, ir::ValueId> captured(const Node& node, const OpaqueUse& use) {
  std::unordered_map<std::string_view, ir::ValueId> values;
  for (std::size_t k = 0; k < node.captures.size(); ++k) values.emplace(node.captures[k], use.operands[node.inputs.size() + k]);
  return values;
}

// Constants of at most so many elements are copied into the document of a body that captures them, so that
// what one program computed of them is compared with what the other one stored.
constexpr std::uint64_t kMostStoredElements = std::uint64_t{1} << 22;

onnx_io::KnownValues known(const ir::Arena& arena, const std::unordered_map<std::string_view, ir::ValueId>& values) {
  onnx_io::LiftedModel around;
  around.values = values;
  onnx_io::KnownValues known = onnx_io::known_values(around, arena);
  for (const auto& [name, value] : values) {
    const ir::Node& node = arena.node(value);
    if (node.kind == ir::NodeKind::constant && node.constant.elements() <= kMostStoredElements)
      known.at(std::string(name)).constant = node.constant;
  }
  return known;
}

// Whether a caller may leave out an input, which then has a default.
bool has_defaults(const Document& document, const Graph& body) {
  return std::ranges::any_of(body.inputs, [&](const onnx_io::ValueInfo& input) {
    const onnx_io::Definition* definition = document.find(body.id, input.name);
    return definition == nullptr || definition->initializer || definition->sparse_initializer;
  });
}

}  // namespace

const ModelProof* SameBodies::compare(const Graph& a, const OpaqueUse& use_a, const Graph& b, const OpaqueUse& use_b) {
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return nullptr;
  if (has_defaults(a_, a) || has_defaults(b_, b)) return nullptr;
  const auto values_a = captured(a_.node(*a.owner), use_a);
  const auto values_b = captured(b_.node(*b.owner), use_b);
  auto body_a = onnx_io::body_document(a_, a.id, known(arena_, values_a));
  auto body_b = onnx_io::body_document(b_, b.id, known(arena_, values_b));
  if (!body_a || !body_b) return nullptr;
  BodyInputs inputs;
  std::unordered_map<ir::ValueId, std::size_t> classes;
  std::size_t next = a.inputs.size();
  const auto number = [&](const Document& body, const std::unordered_map<std::string_view, ir::ValueId>& values) {
    std::vector<std::size_t> result;
    for (std::size_t k = 0; k < body.main().inputs.size(); ++k) {
      const auto value = values.find(body.main().inputs[k].name);
      if (k < a.inputs.size()) {
        result.push_back(k);
      } else if (value == values.end()) {
        result.push_back(next++);
      } else {
        const auto [known, added] = classes.try_emplace(value->second, next);
        if (added) ++next;
        result.push_back(known->second);
      }
    }
    return result;
  };
  inputs.a = number(*body_a, values_a);
  inputs.b = number(*body_b, values_b);
  Key key{onnx_io::index(a.id), onnx_io::index(b.id)};
  for (const auto* list : {&inputs.a, &inputs.b}) {
    key.push_back(list->size());
    key.insert(key.end(), list->begin(), list->end());
  }
  // Constants are no inputs.
  for (const OpaqueUse* use : {&use_a, &use_b})
    for (const ir::ValueId value : use->operands)
      if (arena_.is_constant(value)) key.push_back(static_cast<std::size_t>(value.node));
  const auto before = known_.find(key);
  if (before != known_.end() && before->second.verdict == Verdict::proved) return &before->second;
  auto proof = prove_(*std::move(body_a), *std::move(body_b), inputs);
  if (!proof) return nullptr;
  ModelProof& kept = known_[key];
  kept = *std::move(proof);
  return &kept;
}

bool SameBodies::operator()(const Node& a, const OpaqueUse& use_a, const Node& b, const OpaqueUse& use_b) {
  if (a.outputs.size() != b.outputs.size()) return false;
  std::vector<const ModelProof*> proofs;
  for (const onnx_io::Attribute& attribute : a.attributes) {
    const onnx_io::Attribute* other = b.find(attribute.name);
    if (other == nullptr || attribute.graphs.size() != other->graphs.size()) return false;
    for (std::size_t k = 0; k < attribute.graphs.size(); ++k) {
      const ModelProof* proof = compare(a_.graph(attribute.graphs[k]), use_a, b_.graph(other->graphs[k]), use_b);
      if (proof == nullptr || proof->verdict != Verdict::proved) {
        if (proof != nullptr) failed_.try_emplace(b.id, std::vector{proof});
        return false;
      }
      proofs.push_back(proof);
    }
  }
  equal_.insert_or_assign(b.id, std::move(proofs));
  return true;
}

void SameBodies::note_equal(const Node& b) { equal_.insert_or_assign(b.id, std::vector<const ModelProof*>()); }

std::vector<const ModelProof*> SameBodies::proofs() const {
  std::vector<const ModelProof*> result;
  for (const auto& [node, proofs] : equal_) result.insert(result.end(), proofs.begin(), proofs.end());
  for (const auto& [node, proofs] : failed_)
    if (!equal_.contains(node)) result.insert(result.end(), proofs.begin(), proofs.end());
  return result;
}

void SameBodies::clear() {
  equal_.clear();
  failed_.clear();
}

}  // namespace xflow::equivalence
