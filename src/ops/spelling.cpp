#include "src/ops/spelling.h"

#include "src/ops/operator.h"

namespace xflow::ops {

Result<Lifted> lift_operands(const OnnxNode& node) {
  Lifted lifted;
  for (std::size_t k = 0; k < node.input_count(); ++k) lifted.operands.push_back(node.has_input(k) ? static_cast<int>(k) : -1);
  return lifted;
}

Result<Spelled> spell_operands(const Operation& operation, int /*opset*/) {
  Spelled spelled;
  for (std::size_t k = 0; k < operation.operands.size(); ++k) {
    if (operation.has(k)) {
      spelled.inputs.emplace_back(Spelled::OperandInput{static_cast<int>(k)});
    } else {
      spelled.inputs.emplace_back(Spelled::Absent{});
    }
  }
  return spelled;
}

}  // namespace xflow::ops
