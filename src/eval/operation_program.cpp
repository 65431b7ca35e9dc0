#include "src/eval/operation_program.h"

#include "src/eval/stabilize.h"
#include "src/ops/operator.h"

namespace xflow::eval {
namespace {

Unexpected cannot(const std::string& what) { return fail(ErrorCode::unsupported, "cannot compile " + what); }

}  // namespace

Result<OperationProgram> program_of(ir::Arena& arena, ir::NodeId operation, int output, bool divides_sums) {
  const ir::Node& node = arena.node(operation);
  const ir::TensorType type = node.outputs.at(static_cast<std::size_t>(output));
  OperationProgram result;
  result.type = type.data_type;
  result.in_double = type.data_type == ir::DataType::float64;
  ProgramInput input;
  input.symbols = &arena.symbols();
  input.data_type = type.data_type;
  input.divides_sums = divides_sums;
  const auto dims = type.ranked ? ir::constant_shape(type.shape) : std::nullopt;
  if (!dims || (!ir::is_floating(type.data_type) && !ir::is_integer(type.data_type) && type.data_type != ir::DataType::boolean))
    return cannot(ir::to_string(arena.symbols(), type));
  input.dims = *dims;
  result.elements = 1;
  for (const std::int64_t d : *dims) result.elements *= d;
  for (const ir::ValueId operand : node.operands) {
    if (arena.is_absent(operand)) {
      input.operands.push_back({});
      result.sources.push_back({});
      continue;
    }
    const ir::TensorType& own = arena.type(operand);
    const auto size = own.ranked ? ir::constant_shape(own.shape) : std::nullopt;
    const auto format = format_of(own.data_type);
    if (!size || !format) return cannot(ir::to_string(arena.symbols(), own));
    std::uint64_t elements = 1;
    for (const std::int64_t d : *size) elements *= static_cast<std::uint64_t>(d);
    result.sources.push_back({nullptr, *format, elements});
    result.in_double = result.in_double || own.data_type == ir::DataType::float64;
    input.operands.push_back({own.data_type, *size});
  }
  if (result.elements == 0) return result;
  input.expression = stabilize(arena.symbols(), ops::semantics_of(arena, operation, output, input.index));
  input.symbol_values = [](ir::SymbolId) { return std::nullopt; };
  XFLOW_TRY(result.program, eval::compile(input));
  return result;
}

}  // namespace xflow::eval
