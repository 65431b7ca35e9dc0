#include "src/optimizer/operator_counts.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "src/onnx/document/document.h"
#include "src/onnx/document/fields.h"
#include "src/onnx/document/wire.h"

namespace xflow::api {
namespace {

// Of a NodeProto. The last of several fields counts, as in protobuf.
std::string operator_of(std::string_view message) {
  std::string_view op_type;
  std::string_view domain;
  onnx_io::WireReader reader(message);
  for (onnx_io::WireField field; reader.next(field);) {
    if (field.is_bytes(onnx_io::node_fields::kOpType)) op_type = field.payload;
    if (field.is_bytes(onnx_io::node_fields::kDomain)) domain = field.payload;
  }
  return operator_name(op_type, domain);
}

}  // namespace

std::string operator_name(std::string_view op_type, std::string_view domain) {
  return onnx_io::is_default_domain(domain) ? std::string(op_type) : std::string(domain) + "." + std::string(op_type);
}

std::vector<OperatorChange> operator_counts(const onnx_io::Document& original, const onnx_io::Document& base,
                                            std::span<const onnx_io::GraphEdit> edits) {
  constexpr onnx_io::GraphId kMain{0};
  std::map<std::string, OperatorChange> counts;
  for (const onnx_io::Node& node : original.nodes(kMain)) ++counts[operator_name(node.op_type, node.domain)].before;
  const auto kept = base.nodes(kMain);
  const auto edit = std::ranges::find(edits, kMain, &onnx_io::GraphEdit::graph);
  if (edit == edits.end() || !edit->nodes) {
    for (const onnx_io::Node& node : kept) ++counts[operator_name(node.op_type, node.domain)].after;
  } else {
    for (const onnx_io::Entry& entry : *edit->nodes)
      ++counts[entry.kept ? operator_name(kept[*entry.kept].op_type, kept[*entry.kept].domain) : operator_of(entry.message)].after;
  }
  std::vector<OperatorChange> result;
  result.reserve(counts.size());
  for (auto& [op, count] : counts) result.push_back({op, count.before, count.after});
  return result;
}

}  // namespace xflow::api
