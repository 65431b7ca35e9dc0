// The instances of the interpreter, one for each number type. Each is compiled in a separate file. Private
// to src/eval.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/eval/program.h"
#include "src/eval/source.h"

namespace xflow::eval {

class Exact;

// A program with its memory: made once, run many times, not thread-safe. A run allocates nothing.
template <typename Number>
class Runner {
 public:
  virtual ~Runner() = default;
  // `operands` points to the data of each operand. The result is written to `numbers` or, for an integer or
  // boolean result, to `integers`. False for a read out of range.
  virtual bool run(std::span<const std::byte* const> operands, Number* numbers, std::int64_t* integers) = 0;
  // Sets a callback that is called at intervals during a run. If it returns true the run ends and returns
  // false. It must outlive the runs. Empty: never.
  virtual void stop_when(const std::function<bool()>& stop) = 0;
  virtual bool is_stopped() const = 0;    // whether the last run was stopped
  virtual std::size_t bytes() const = 0;  // of intermediate tensors
};

// `sources` describe the operands without their data. The program must outlive the runner.
// Error::unsupported for functions that the arithmetic lacks.
Result<std::unique_ptr<Runner<double>>> make_double_runner(const Program& program, std::vector<Source> sources);
Result<std::unique_ptr<Runner<float>>> make_float_runner(const Program& program, std::vector<Source> sources);

// Run a program once. `sources` are the operands. The result is written to `numbers` or, for an integer or
// boolean result, to `integers`. `stop` is called at intervals; if it returns true the run fails with
// Error::limit.
Result<void> run_double(const Program& program, std::vector<Source> sources, double* numbers, std::int64_t* integers,
                        const std::function<bool()>& stop = {});
Result<void> run_float(const Program& program, std::vector<Source> sources, float* numbers, std::int64_t* integers,
                       const std::function<bool()>& stop = {});
Result<void> run_rational(bool uninterpreted, const Program& program, std::vector<Source> sources, Exact* numbers, std::int64_t* integers);
Result<void> run_prime(std::uint32_t prime, const Program& program, std::vector<Source> sources, std::uint32_t* numbers,
                       std::int64_t* integers);

}  // namespace xflow::eval
