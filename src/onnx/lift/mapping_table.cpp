#include "src/onnx/lift/mapping_table.h"

#include <algorithm>
#include <map>
#include <string>

#include "src/ops/operator.h"

namespace xflow::onnx_io {
namespace {

struct Row {
  ir::OperatorId op;
  ops::OnnxMapping mapping;
};

using Table = std::multimap<std::string, Row, std::less<>>;

std::string key(std::string_view domain, std::string_view type) { return std::string(domain) + ":" + std::string(type); }

const Table& table() {
  static const Table rows = [] {
    Table result;
    const auto all = ops::all_operators();
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const ops::OnnxMapping& mapping : all[i].onnx_mappings())
        result.emplace(key(mapping.domain, mapping.type), Row{static_cast<ir::OperatorId>(i), mapping});
    return result;
  }();
  return rows;
}

bool covers(const ops::OnnxMapping& mapping, int opset) { return mapping.since <= opset && opset <= mapping.until; }

}  // namespace

Result<std::vector<ir::ValueId>> lift_mapped(const NodeView& node) {
  const auto [begin, end] = table().equal_range(key(node.domain(), node.type()));
  Error error{ErrorCode::unsupported,
              "no operator for " + (node.domain().empty() ? std::string() : std::string(node.domain()) + ".") + std::string(node.type()),
              ""};
  for (auto it = begin; it != end; ++it) {
    const ops::OnnxMapping& mapping = it->second.mapping;
    if (mapping.lift == nullptr || !covers(mapping, node.opset())) continue;
    auto lifted = mapping.lift(node);
    if (!lifted) {
      error = std::move(lifted).error();
      continue;
    }
    std::vector<ir::ValueId> operands;
    for (const int k : lifted->operands) operands.push_back(k < 0 ? node.arena().absent() : node.operand(static_cast<std::size_t>(k)));
    ops::Typing typing(node.symbols());
    const auto applied = ops::apply(node.arena(), typing, it->second.op, std::move(operands), std::move(lifted->attributes));
    if (!applied) {
      error = applied.error();
      continue;
    }
    std::vector<ir::ValueId> outputs;
    outputs.reserve(node.arena().node(*applied).outputs.size());
    for (std::uint32_t k = 0; k < node.arena().node(*applied).outputs.size(); ++k) outputs.push_back({*applied, k});
    return outputs;
  }
  error.code = ErrorCode::unsupported;
  return fail(std::move(error));
}

bool is_elementwise(std::string_view op_type) {
  const auto [begin, end] = table().equal_range(key("", op_type));
  return begin != end && std::all_of(begin, end, [](const auto& row) { return ops::get(row.second.op).signature.pointwise; });
}

Result<ExportedNode> export_node(const ir::Arena& arena, ir::NodeId id, int opset) {
  const ir::Node& node = arena.node(id);
  const ops::Operator& op = ops::get(node.op);
  const std::vector<ir::TensorType> operand_types = ops::operand_types(arena, node);
  const ops::Operation operation{operand_types, node.attributes, node.outputs};
  Error error{ErrorCode::unsupported, "no ONNX operator of opset " + std::to_string(opset) + " for " + std::string(op.signature.name), ""};
  std::optional<ExportedNode> best;
  int best_since = 0;
  for (const ops::OnnxMapping& mapping : op.onnx_mappings()) {
    if (mapping.to_onnx == nullptr || !covers(mapping, opset) || !mapping.domain.empty()) continue;
    if (best && mapping.since <= best_since) continue;
    auto exported = mapping.to_onnx(operation, opset);
    if (!exported) {
      error = std::move(exported).error();
      continue;
    }
    best = ExportedNode{mapping.domain, mapping.type, *std::move(exported)};
    best_since = mapping.since;
  }
  if (!best) return fail(std::move(error));
  return *std::move(best);
}

}  // namespace xflow::onnx_io
