#include "src/onnx/document/new_model.h"

#include <algorithm>
#include <iterator>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"

namespace xflow::onnx_io {
namespace {

constexpr std::int64_t kIrVersion = 8;
constexpr std::string_view kPlaceholderDomain = "xflow.placeholder";

Result<std::string> interface_message(const std::string& name, const ir::TensorType& type) {
  std::vector<Dimension> dims;
  for (const ir::Poly& dim : type.shape) {
    if (!dim.is_constant() || *dim.constant() < 0) return fail(ErrorCode::unsupported, "a new model needs sizes that are numbers");
    dims.push_back({Dimension::Kind::value, *dim.constant(), {}});
  }
  return value_info_message(name, type.data_type, dims);
}

// Returns a model with these inputs and outputs and a single node that is to be replaced.
Result<std::string> template_of(const ir::Arena& arena, const ir::Graph& graph, std::span<const ir::ValueId> inputs, int opset,
                                const NewModelNames* names) {
  NodeBuilder placeholder("Placeholder", kPlaceholderDomain);
  // Named, so that the nodes that replace it get names as well.
  placeholder.name("placeholder");
  WireWriter interface;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    XFLOW_TRY(const std::string input,
              interface_message(names == nullptr ? "x" + std::to_string(k) : names->inputs[k], arena.type(inputs[k])));
    interface.bytes(11, input);
  }
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const std::string name = names == nullptr ? "y" + std::to_string(k) : names->outputs[k];
    placeholder.output(name);
    XFLOW_TRY(const std::string output, interface_message(name, arena.type(graph.outputs[k])));
    interface.bytes(12, output);
  }
  const std::string main = WireWriter().bytes(1, placeholder.message()).bytes(2, "kernels").raw(interface.view()).take();
  const std::string set = WireWriter().bytes(1, "").varint(2, opset).take();
  return WireWriter().varint(1, kIrVersion).bytes(7, main).bytes(8, set).take();
}

}  // namespace

Result<std::string> new_model(ir::Arena& arena, const ir::Graph& graph, std::span<const ir::ValueId> inputs, int opset,
                              const NewModelNames* names) {
  XFLOW_TRY(std::string bytes, template_of(arena, graph, inputs, opset, names));
  XFLOW_TRY(const Document document, Document::parse(std::move(bytes)));
  XFLOW_TRY(const LiftedModel model, lift(document, arena));
  ir::ValueMap given;
  for (std::size_t k = 0; k < inputs.size(); ++k) given.emplace(inputs[k], model.inputs[k]);
  XFLOW_TRY(const ir::Graph placed, ir::replace(arena, graph, given));
  ir::ValueMap correspondence;
  for (std::size_t k = 0; k < placed.outputs.size(); ++k) correspondence.emplace(model.graph.outputs[k], placed.outputs[k]);
  const Fold fold = [&](ir::ValueId value) { return eval::fold(arena, value); };
  XFLOW_TRY(const LoweredModel lowered, lower(document, model, arena, placed, correspondence, fold));
  return write_bytes(document, lowered.edits);
}

}  // namespace xflow::onnx_io
