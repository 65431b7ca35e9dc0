#include "src/eval/evaluate.h"

namespace xflow::eval {

Result<ir::Constant> fold(ir::Arena& arena, ir::ValueId value) {
  XFLOW_TRY(std::vector<Tensor> result, evaluate(arena, ir::Graph{{value}}, {}));
  return to_constant(result[0]);
}

}  // namespace xflow::eval
