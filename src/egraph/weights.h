// Rough weights of operations: enough to decide which of two graphs is better to keep, for all sizes.
#pragma once

namespace xflow::generator {

inline constexpr int kMovementWeight = 1;
inline constexpr int kPointwiseWeight = 2;
inline constexpr int kFunctionWeight = 3;  // an elementwise operation that does what several do
inline constexpr int kReductionWeight = 4;
inline constexpr int kWindowWeight = 5;    // pooling: more than two elementwise operations
inline constexpr int kProductWeight = 16;  // matrix products, and convolutions with groups
inline constexpr int kPointConvolutionWeight = 32;
inline constexpr int kConvolutionWeight = 64;

}  // namespace xflow::generator
