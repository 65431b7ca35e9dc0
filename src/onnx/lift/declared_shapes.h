// Declares shapes of values as `value_info` for runtimes that do not infer them. If shapes are equal by
// name, a runtime may write a result in place of an operand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {

class DeclaredShapes {
 public:
  DeclaredShapes(const Document& document, const LiftedModel& model, ir::Arena& arena);

  // Returns a ValueInfoProto. Returns nothing if the type or the rank is unknown, or if the value depends on
  // results of opaque nodes, whose declared sizes are not checked at run time. A size is a number, a
  // polynomial in the names of the inputs' sizes, or left out.
  std::optional<std::string> message(std::string_view name, ir::ValueId value);

 private:
  bool depends_on_opaque(ir::NodeId node);
  std::optional<std::string> text_of(const ir::Poly& size);

  ir::Arena& arena_;
  std::unordered_set<ir::SymbolId> named_;  // named sizes of the inputs
  std::vector<bool> of_opaque_;             // by node: whether it depends on an opaque node
};

}  // namespace xflow::onnx_io
