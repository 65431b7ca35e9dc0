#include "src/equivalence/merged_nodes.h"

#include <utility>

#include "src/equivalence/element_types.h"
#include "src/equivalence/same_nodes.h"
#include "src/onnx/lift/lift_operator.h"

namespace xflow::equivalence {

using onnx_io::Node;

const Node* MergedNodes::node_of(ir::NodeId id) {
  const ir::Node& node = arena().node(id);
  if (node.kind != ir::NodeKind::opaque || node.serial == onnx_io::kLeafSerial || node.serial < first_) return nullptr;
  return &document_.node(onnx_io::NodeId{node.serial - first_});
}

Result<ir::NodeId> MergedNodes::opaque(ir::NodeId id, std::vector<ir::ValueId> operands) {
  const Node* node = node_of(id);
  if (node == nullptr) return Rebuild::opaque(id, std::move(operands));
  std::vector<ir::NodeId>& known = known_[operands];
  for (const ir::NodeId earlier : known)
    if (arena().node(earlier).outputs.size() == arena().node(id).outputs.size() && are_equal(document_, *node_of(earlier), *node))
      return earlier;
  XFLOW_TRY(const ir::NodeId now, Rebuild::opaque(id, std::move(operands)));
  known.push_back(now);
  return now;
}

ir::DataType MergedNodes::data_type(ir::ValueId value) {
  const ir::DataType known = arena().type(value).data_type;
  if (known != ir::DataType::undefined) return known;
  const Node* node = node_of(value.node);
  if (node == nullptr) return known;
  return value.output < node->outputs.size() ? element_type(document_, node->graph, node->outputs[value.output]) : known;
}

bool MergedNodes::is_needless(const Node& node, ir::ValueId operand) {
  if (node.is("Identity")) return true;
  if (!node.is("Cast")) return false;
  const onnx_io::Attribute* to = node.find("to");
  const auto number = to == nullptr ? Result<std::int64_t>(0) : to->integer();
  const ir::DataType type = data_type(operand);
  return number && type != ir::DataType::undefined && *number == static_cast<std::int64_t>(type);
}

Result<void> MergedNodes::rebuilt(ir::NodeId id, ir::NodeId now) {
  const Node* node = node_of(now);
  if (node == nullptr || arena().node(now).operands.size() != 1 || !is_needless(*node, arena().node(now).operands[0])) return {};
  equate({id, 0}, arena().node(now).operands[0]);
  return {};
}

}  // namespace xflow::equivalence
