// An operation compiled once and run many times on memory of the caller: the reference's loops, in float.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::eval {

class Loop {
 public:
  // Output `output` of an operation all of whose sizes are numbers. Numbers are computed as with Number::float32: in float, in double where
  // an operand or the result is. Error::unsupported for types without arithmetic.
  static Result<Loop> compile(ir::Arena& arena, ir::NodeId operation, int output);
  Loop(Loop&&) noexcept;
  Loop& operator=(Loop&&) noexcept;
  ~Loop();

  // Operands (one for each of the operation, null where it has none) and the result row-major, in their types. False for a read out of
  // range: then the result stays as it is. Allocates nothing. One thread at a time.
  bool run(std::span<const std::byte* const> operands, std::byte* result);
  // Asked now and then in a run: true ends it, which then returns false. It must outlive the loop.
  void stop_when(const std::function<bool()>& stop);
  bool was_stopped() const;
  // Memory that it keeps for its steps.
  std::size_t bytes() const;

 private:
  struct Compiled;
  explicit Loop(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace xflow::eval
