#include "src/onnx/document/new_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"

namespace xflow::onnx_io {
namespace {

constexpr std::int64_t kNewIrVersion = 8;
constexpr std::string_view kPlaceholderDomain = "xflow.placeholder";

// Errors: unsupported for a size that is not a number, unless such sizes may be there.
Result<std::string> checked_message(const std::string& name, const ir::TensorType& type, const NewModelNames* names) {
  const auto is_open = [](const ir::Poly& dim) { return !dim.is_constant() || *dim.constant() < 0; };
  if ((names == nullptr || !names->has_open_sizes) && std::ranges::any_of(type.shape, is_open))
    return fail(ErrorCode::unsupported, "a new model needs sizes that are numbers");
  return interface_message(name, type);
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
              checked_message(names == nullptr ? "x" + std::to_string(k) : names->inputs[k], arena.type(inputs[k]), names));
    interface.bytes(11, input);
  }
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const std::string name = names == nullptr ? "y" + std::to_string(k) : names->outputs[k];
    placeholder.output(name);
    XFLOW_TRY(const std::string output, checked_message(name, arena.type(graph.outputs[k]), names));
    interface.bytes(12, output);
  }
  const std::string main = WireWriter().bytes(1, placeholder.message()).bytes(2, "kernels").raw(interface.view()).take();
  const std::string set = WireWriter().bytes(1, "").varint(2, opset).take();
  return WireWriter().varint(1, kNewIrVersion).bytes(7, main).bytes(8, set).take();
}

}  // namespace

std::string interface_message(std::string_view name, const ir::TensorType& type) {
  std::vector<Dimension> dims;
  for (const ir::Poly& dim : type.shape) {
    const auto size = dim.constant();
    if (size && *size >= 0)
      dims.push_back({Dimension::Kind::value, *size, {}});
    else
      dims.emplace_back();
  }
  return value_info_message(name, type.data_type, dims);
}

Result<std::string> new_model(ir::Arena& arena, const ir::Graph& graph, std::span<const ir::ValueId> inputs, int opset,
                              const NewModelNames* names) {
  XFLOW_TRY(std::string bytes, template_of(arena, graph, inputs, opset, names));
  XFLOW_TRY(const Document document, Document::parse(std::move(bytes)));
  XFLOW_TRY(LiftedModel model, lift(document, arena));
  // The inputs of the graph take the place of those of the template, whose open sizes are other symbols.
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::string_view name = model.input_names[k];
    model.names.erase(std::exchange(model.inputs[k], inputs[k]));
    model.names.insert_or_assign(inputs[k], name);
    model.values.insert_or_assign(name, inputs[k]);
  }
  ir::ValueMap correspondence;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) correspondence.emplace(model.graph.outputs[k], graph.outputs[k]);
  const Fold fold = [&](ir::ValueId value) { return eval::fold(arena, value); };
  LowerOptions options;
  if (names != nullptr) options.around = names->around;
  XFLOW_TRY(const LoweredModel lowered, lower(document, model, arena, graph, correspondence, fold, options));
  return write_bytes(document, lowered.edits);
}

}  // namespace xflow::onnx_io
