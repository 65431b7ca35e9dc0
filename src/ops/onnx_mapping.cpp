#include "src/ops/onnx_mapping.h"

#include "src/ops/operator.h"

namespace xflow::ops {

Result<Lifted> lift_operands(const OnnxNode& node) {
  Lifted lifted;
  for (std::size_t k = 0; k < node.input_count(); ++k) lifted.operands.push_back(node.has_input(k) ? static_cast<int>(k) : -1);
  return lifted;
}

Result<Exported> export_operands(const Operation& operation, int /*opset*/) {
  Exported exported;
  for (std::size_t k = 0; k < operation.operands.size(); ++k) {
    if (operation.has(k)) {
      exported.inputs.emplace_back(Exported::OperandInput{static_cast<int>(k)});
    } else {
      exported.inputs.emplace_back(Exported::Absent{});
    }
  }
  return exported;
}

}  // namespace xflow::ops
