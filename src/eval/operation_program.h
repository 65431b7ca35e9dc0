// The program of one operation. Private to src/eval.
#pragma once

#include <xflow/error.h>

#include <vector>

#include "src/eval/program.h"
#include "src/eval/source.h"
#include "src/ir/graph.h"

namespace xflow::eval {

// A program with the properties of its result and operands.
struct OperationProgram {
  ir::DataType type{};          // of the result
  std::int64_t elements = 0;    // if 0, the program has no stages
  bool in_double = false;       // whether an operand or the result is double
  std::vector<Source> sources;  // the operands without data; absent operands have no elements
  Program program;
};

// The program of output `output` of an operation whose sizes are all numbers. `divides_sums` as in
// ProgramInput. Error::unsupported for types without arithmetic.
Result<OperationProgram> program_of(ir::Arena& arena, ir::NodeId operation, int output, bool divides_sums = false);

}  // namespace xflow::eval
