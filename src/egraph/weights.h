// What operations cost, roughly: enough to tell which of two graphs is the better one to keep, for all sizes.
#pragma once

namespace xflow::generator {

inline constexpr int kMovementWeight = 1;
inline constexpr int kPointwiseWeight = 2;
inline constexpr int kReductionWeight = 4;
inline constexpr int kWindowWeight = 5;    // poolings: more than two elementwise operations
inline constexpr int kProductWeight = 16;  // of matrices, and of channels one by one
inline constexpr int kPointConvolutionWeight = 32;
inline constexpr int kConvolutionWeight = 64;

}  // namespace xflow::generator
