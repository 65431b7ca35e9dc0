// The program of one operation. Private to src/eval.
#pragma once

#include <xflow/error.h>

#include <vector>

#include "src/eval/program.h"
#include "src/eval/source.h"
#include "src/ir/graph.h"

namespace xflow::eval {

struct OperationProgram {
  ir::DataType type{};          // of the result
  std::int64_t elements = 0;    // without any the program has no stages
  bool in_double = false;       // an operand or the result is
  std::vector<Source> sources;  // the operands, without data; those that are absent have no elements
  Program program;
};

// Of output `output` of an operation all of whose sizes are numbers; `divides_sums` as in ProgramInput. Error::unsupported for types
// without arithmetic.
Result<OperationProgram> program_of(ir::Arena& arena, ir::NodeId operation, int output, bool divides_sums = false);

}  // namespace xflow::eval
