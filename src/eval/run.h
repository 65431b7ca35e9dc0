// The instances of the interpreter, one a number type, each compiled in a file of its own. Private to src/eval.
#pragma once

#include <xflow/result.h>

#include <cstdint>
#include <vector>

#include "src/eval/program.h"
#include "src/eval/source.h"

namespace xflow::eval {

class Exact;

// `sources` are the operands; the result goes to `numbers` or, for an integer or boolean result, to `integers`.
Result<void> run_double(const Program& program, std::vector<Source> sources, double* numbers, std::int64_t* integers);
Result<void> run_float(const Program& program, std::vector<Source> sources, float* numbers, std::int64_t* integers);
Result<void> run_rational(bool uninterpreted, const Program& program, std::vector<Source> sources, Exact* numbers, std::int64_t* integers);
Result<void> run_prime(std::uint32_t prime, const Program& program, std::vector<Source> sources, std::uint32_t* numbers,
                       std::int64_t* integers);

}  // namespace xflow::eval
