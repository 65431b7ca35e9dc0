#include "src/eval/prime_field.h"
#include "src/eval/program_runner.h"
#include "src/eval/run.h"

namespace xflow::eval {

Result<void> run_prime(std::uint32_t prime, const Program& program, std::vector<Source> sources, std::uint32_t* numbers,
                       std::int64_t* integers) {
  return run_program(PrimeField(prime), program, std::move(sources), numbers, integers);
}

}  // namespace xflow::eval
