// A model that is rewritten by hand: lifted, values replaced, lowered, written and parsed again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"

namespace xflow::onnx_io::testing {

class Rewritten {
 public:
  // Bytes of a valid model.
  explicit Rewritten(std::string bytes);

  ir::Arena& arena() { return arena_; }
  const Document& original() const { return document_; }
  const LiftedModel& model() const { return model_; }
  const ir::Graph& graph() const { return graph_; }

  // The value that the document calls so.
  ir::ValueId value(std::string_view name) const { return model_.values.at(name); }
  // A new operation.
  ir::ValueId op(std::string_view name, std::vector<ir::ValueId> operands, ir::Attributes attributes = {});
  ir::ValueId scalar(float value);

  // Puts `after` in the place of `before`, both of this model, everywhere downstream, as one step of a search does.
  void replace(ir::ValueId before, ir::ValueId after);
  void replace(std::string_view before, ir::ValueId after) { replace(value(before), after); }
  void replace_all(ir::ValueMap replacements);

  // Lowers and writes. Fails the test on an error; error() does not.
  const LoweredModel& lower();
  std::string error();
  const std::string& bytes();  // after lower()
  // One line a node, "Relu x -> y", with " =" where it is in the original byte for byte.
  std::string nodes();
  std::string initializers();  // "a b c"
  std::string value_infos();

  // What becomes of an expression of constants; by default a tensor of its type full of 3.
  Fold fold;

 private:
  Result<LoweredModel> try_lower();

  Document document_;
  ir::Arena arena_;
  LiftedModel model_;
  ir::Graph graph_;
  ir::ValueMap correspondence_;
  LoweredModel lowered_;
  std::string bytes_;
};

// The nodes of the main graph as in Rewritten::nodes, without marks.
std::string node_lines(const Document& document);

}  // namespace xflow::onnx_io::testing
