// Makes operations of parts in an arena: slices, concatenations, and the steps of part programs.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/operator.h"
#include "src/parallel/box.h"
#include "src/parallel/part_program.h"

namespace xflow::parallel {

// A value that has a box of another one.
struct BoxValue {
  Box box;
  ir::ValueId value;
};

class PartAssembler {
 public:
  PartAssembler(ir::Arena& arena, const ir::Symbols::Valuation& sizes) : arena_(arena), sizes_(sizes), typing_(arena.symbols()) {}

  // `part` of a value that has the box `from`.
  Result<ir::ValueId> slice(ir::ValueId value, const Box& from, const Box& part);
  // A box of a value from boxes of it, which divide each dimension alike. Errors: internal if they do not
  // cover it.
  Result<ir::ValueId> join(const std::vector<BoxValue>& held, const Box& wanted);

  // The results of a program. `outside` gives what the program reads: a value and its box. Errors: those of
  // typing a part, which its proof excludes.
  using Outside = std::function<Result<ir::ValueId>(ir::ValueId, const Box&)>;
  Result<std::unordered_map<ir::ValueId, BoxValue>> run(const PartProgram& program, const Outside& outside);

 private:
  ir::Arena& arena_;
  const ir::Symbols::Valuation& sizes_;
  ops::Typing typing_;
};

}  // namespace xflow::parallel
