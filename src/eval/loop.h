// An operation that is compiled once and run many times on memory of the caller, by the interpreter in
// float.
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

// A compiled operation.
class Loop {
 public:
  // Compiles output `output` of an operation whose sizes are all numbers. Numbers are computed as with
  // Number::float32: in float, or in double if an operand or the result is double. Error::unsupported for
  // types without arithmetic.
  static Result<Loop> compile(ir::Arena& arena, ir::NodeId operation, int output);
  Loop(Loop&&) noexcept;
  Loop& operator=(Loop&&) noexcept;
  ~Loop();

  // Runs on operands (one for each of the operation, null for absent ones) and writes the result. Both are
  // row-major in their own types. False for a read out of range, with the result unchanged. Allocates
  // nothing. Not thread-safe.
  bool run(std::span<const std::byte* const> operands, std::byte* result);
  // Sets a callback that is called at intervals during a run. If it returns true the run ends and returns
  // false. It must outlive the loop.
  void stop_when(const std::function<bool()>& stop);
  bool was_stopped() const;
  // Bytes of the intermediate tensors and of the result before conversion to its type.
  std::size_t bytes() const;

 private:
  struct Compiled;
  explicit Loop(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace xflow::eval
