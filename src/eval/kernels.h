// The innermost loop of convolutions and products: acc[l] += sum over k of a[k, l] * b[k, l]. Private to src/eval.
#pragma once

#include <cstdint>

// g++ vectorises loops of unknown length at -O3 only.
#if defined(__GNUC__) && !defined(__clang__)
#define XFLOW_VECTORIZED __attribute__((optimize("O3")))
#else
#define XFLOW_VECTORIZED
#endif

namespace xflow::eval {

// How one factor depends on the lane l; `step` is added for each k.
template <typename Number>
struct Factor {
  enum class Kind : std::uint8_t { uniform, contiguous, gathered };
  const Number* data = nullptr;  // of k = 0
  std::int64_t step = 0;
  Kind kind = Kind::uniform;
  const std::int64_t* offsets = nullptr;  // gathered: the element of lane l is data[offsets[l]]
};

void multiply_add(double* acc, std::int64_t lanes, std::int64_t terms, const Factor<double>& a, const Factor<double>& b);
void multiply_add(float* acc, std::int64_t lanes, std::int64_t terms, const Factor<float>& a, const Factor<float>& b);

}  // namespace xflow::eval
