// Nodes of one document that xflow has no operator for, without those that are needless.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "src/equivalence/rebuild.h"
#include "src/onnx/document/document.h"

namespace xflow::equivalence {

// Rebuilds a graph with one of several nodes that have the same operator, attributes and operands, and draw
// no random numbers; and with the operand of an Identity, or of a Cast to the type that it has
// anyway. Programs leave out the other nodes.
class MergedNodes final : public Rebuild {
 public:
  // Serial numbers of the document's nodes begin at `first`. The arguments must outlive this object.
  MergedNodes(ir::Arena& arena, const onnx_io::Document& document, std::uint32_t first)
      : Rebuild(arena), document_(document), first_(first) {}

 protected:
  Result<ir::NodeId> opaque(ir::NodeId id, std::vector<ir::ValueId> operands) override;
  Result<void> rebuilt(ir::NodeId id, ir::NodeId now) override;

 private:
  // The node of the document; nullptr if the opaque node is none.
  const onnx_io::Node* node_of(ir::NodeId id);
  ir::DataType data_type(ir::ValueId value);
  bool is_needless(const onnx_io::Node& node, ir::ValueId operand);

  const onnx_io::Document& document_;
  const std::uint32_t first_;
  std::map<std::vector<ir::ValueId>, std::vector<ir::NodeId>> known_;  // by operands
};

}  // namespace xflow::equivalence
