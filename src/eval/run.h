// The instances of the interpreter, one a number type, each compiled in a file of its own. Private to src/eval.
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

// A program with the memory that it takes: made once, run many times, by one thread at a time. A run allocates nothing.
template <typename Number>
class Runner {
 public:
  virtual ~Runner() = default;
  // `operands`: where each operand lies; the result goes to `numbers` or, for an integer or boolean result, to `integers`. False for a read
  // out of range.
  virtual bool run(std::span<const std::byte* const> operands, Number* numbers, std::int64_t* integers) = 0;
  // Asked now and then in a run: true ends it, which then returns false. It must outlive the runs. Empty: never.
  virtual void stop_when(const std::function<bool()>& stop) = 0;
  virtual bool is_stopped() const = 0;    // in the last run
  virtual std::size_t bytes() const = 0;  // of tensors between stages
};

// `sources`: the operands, not where they lie. The program must outlive the runner. Error::unsupported for functions without arithmetic.
Result<std::unique_ptr<Runner<double>>> make_double_runner(const Program& program, std::vector<Source> sources);
Result<std::unique_ptr<Runner<float>>> make_float_runner(const Program& program, std::vector<Source> sources);

// `stop` is asked now and then: true is Error::limit.
// `sources` are the operands; the result goes to `numbers` or, for an integer or boolean result, to `integers`.
Result<void> run_double(const Program& program, std::vector<Source> sources, double* numbers, std::int64_t* integers,
                        const std::function<bool()>& stop = {});
Result<void> run_float(const Program& program, std::vector<Source> sources, float* numbers, std::int64_t* integers,
                       const std::function<bool()>& stop = {});
Result<void> run_rational(bool uninterpreted, const Program& program, std::vector<Source> sources, Exact* numbers, std::int64_t* integers);
Result<void> run_prime(std::uint32_t prime, const Program& program, std::vector<Source> sources, std::uint32_t* numbers,
                       std::int64_t* integers);

}  // namespace xflow::eval
