// The innermost loops over the lanes of a block. Private to src/eval.
#pragma once

#include <cstdint>

#include "src/eval/lanes.h"
#include "src/ops/expr.h"

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

// acc[l] += sum over k of a[k, l] * b[k, l]: convolutions and products.
void multiply_add(double* acc, std::int64_t lanes, std::int64_t terms, const Factor<double>& a, const Factor<double>& b);
void multiply_add(float* acc, std::int64_t lanes, std::int64_t terms, const Factor<float>& a, const Factor<float>& b);

// acc[l] += x[l].
void add_lanes(double* acc, const double* x, std::int64_t lanes);
void add_lanes(float* acc, const float* x, std::int64_t lanes);

// out[l] = coefficient * x[l] and out[l] += coefficient * x[l].
void scale_lanes(std::int64_t* out, const std::int64_t* x, std::int64_t coefficient, std::int64_t lanes);
void add_scaled_lanes(std::int64_t* out, const std::int64_t* x, std::int64_t coefficient, std::int64_t lanes);
// x[l] -= first. Whether all are multiples of `stride`, that of lane l the l-th; x[0] must be `first`.
bool subtract_first(std::int64_t* x, std::int64_t first, std::int64_t stride, std::int64_t lanes);

// Masks are 1 for a lane that takes part and 0 for one that does not. Where `view` does not satisfy the relation, the mask becomes 0.
void apply_atom(std::uint8_t* mask, const IndexView& view, ops::Relation relation, std::int64_t lanes);
// The lanes of `asked` (null: all) that are not in `taken` become `rest`. How many are in `taken` and `asked`.
struct MaskCounts {
  std::int64_t taken = 0;
  std::int64_t asked = 0;
};
MaskCounts split_mask(std::uint8_t* rest, const std::uint8_t* taken, const std::uint8_t* asked, std::int64_t lanes);
// The offset of each lane in a view where the mask is 1, `otherwise` where it is 0.
void masked_offsets(std::int64_t* offsets, const IndexView& view, const std::uint8_t* mask, std::int64_t otherwise, std::int64_t lanes);
// Whether each offset of the lanes in the mask (null: all) is in [0, count).
bool all_within(const IndexView& view, const std::uint8_t* mask, std::int64_t lanes, std::int64_t count);

}  // namespace xflow::eval
