// The innermost loops over the lanes of a block. Private to src/eval.
#pragma once

#include <cstdint>

#include "src/eval/lanes.h"
#include "src/ops/expr.h"

// g++ vectorises loops of unknown length only at -O3.
#if defined(__GNUC__) && !defined(__clang__)
#define XFLOW_VECTORIZED __attribute__((optimize("O3")))
#else
#define XFLOW_VECTORIZED
#endif

namespace xflow::eval {

// The dependence of a factor on the lane l. `step` is added to the offset for each k.
template <typename Number>
struct Factor {
  enum class Kind : std::uint8_t { uniform, contiguous, gathered };
  const Number* data = nullptr;  // at k = 0
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
// x[l] -= first, where x[0] must be `first`. Returns whether x[l] = l * stride on all lanes afterwards.
bool subtract_first(std::int64_t* x, std::int64_t first, std::int64_t stride, std::int64_t lanes);

// Clears the mask where `view` does not satisfy the relation. Masks are 1 for active lanes and 0 for others.
void apply_atom(std::uint8_t* mask, const IndexView& view, ops::Relation relation, std::int64_t lanes);
// Sets `rest` to the lanes of `asked` (null: all) that are not in `taken`. Returns the numbers of lanes in
// `taken` and in `asked`.
struct MaskCounts {
  std::int64_t taken = 0;
  std::int64_t asked = 0;
};
MaskCounts split_mask(std::uint8_t* rest, const std::uint8_t* taken, const std::uint8_t* asked, std::int64_t lanes);
// The offset of each lane in the view where the mask is 1, and `otherwise` where it is 0.
void masked_offsets(std::int64_t* offsets, const IndexView& view, const std::uint8_t* mask, std::int64_t otherwise, std::int64_t lanes);
// Whether the offsets of all lanes in the mask (null: all lanes) are in [0, count).
bool all_within(const IndexView& view, const std::uint8_t* mask, std::int64_t lanes, std::int64_t count);

}  // namespace xflow::eval
