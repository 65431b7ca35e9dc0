// Presents a node of the document to the ONNX mappings of src/ops.
#pragma once

#include <unordered_map>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/ops/onnx_mapping.h"

namespace xflow::onnx_io {

class NodeView final : public ops::OnnxNode {
 public:
  // `operands` are the values of the node's inputs; an omitted input is arena.absent().
  NodeView(const Document& document, const Node& node, int opset, ir::Arena& arena, std::vector<ir::ValueId> operands)
      : document_(document), node_(node), opset_(opset), arena_(arena), operands_(std::move(operands)) {}

  std::string_view type() const override { return node_.op_type; }
  std::string_view domain() const override { return is_default_domain(node_.domain) ? std::string_view() : node_.domain; }
  int opset() const override { return opset_; }
  ir::Symbols& symbols() const override { return arena_.symbols(); }
  std::size_t input_count() const override { return operands_.size(); }
  bool has_input(std::size_t k) const override { return k < operands_.size() && !arena_.is_absent(operands_[k]); }
  // A missing input is an omitted one.
  const ir::TensorType& input_type(std::size_t k) const override { return arena_.type(operand(k)); }
  std::size_t output_count() const override;
  bool has_output(std::size_t k) const override { return k < node_.outputs.size() && !node_.outputs[k].empty(); }
  std::optional<std::vector<ir::Poly>> integers(std::size_t k) const override;
  std::optional<ir::Constant> constant(std::size_t k) const override;
  std::optional<std::vector<ir::Real>> reals(std::size_t k) const override;
  bool has_attribute(std::string_view name) const override { return node_.find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const override;
  std::optional<std::vector<std::int64_t>> integer_list(std::string_view name) const override;
  ir::Real real(std::string_view name, const ir::Real& otherwise) const override;
  std::optional<std::vector<float>> real_list(std::string_view name) const override;
  std::string word(std::string_view name, std::string_view otherwise) const override;
  std::optional<ir::Constant> tensor(std::string_view name) const override;

  const Document& document() const { return document_; }
  const Node& node() const { return node_; }
  ir::Arena& arena() const { return arena_; }
  ir::ValueId operand(std::size_t k) const { return k < operands_.size() ? operands_[k] : arena_.absent(); }

 private:
  const Document& document_;
  const Node& node_;
  int opset_;
  ir::Arena& arena_;
  std::vector<ir::ValueId> operands_;
};

}  // namespace xflow::onnx_io
