// How far modelled prices are from measured ones, estimated from kernels that were held out.
//
// The error of a price is log(measured / predicted). Its variance is near^2 + far^2 x, where x is the weight
// of the uncorrected model among the kernels that correct it (calibration.h): 1 where no similar kernel was
// measured. The errors of two kernels at a distance d (features.h) have the correlation c exp(-d / l), so
// that errors of similar kernels cancel in the difference of their times. near and far minimise the squares;
// both are then scaled so that nine tenths of the held-out errors are within 1.645 deviations, as if errors
// were normal.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace xflow::cost::profile {

// A kernel that was held out.
struct HeldOutError {
  std::array<double, 4> at{};  // its place among the kernels of its model
  std::size_t base = 0;        // kernels with the same base differ in post-operations only
  double alone = 1;            // x
  double error = 0;
};

struct ErrorModel {
  double near = 0;
  double far = 0;
  double correlation = 0;  // c
  double length = 1;       // l

  // The standard deviation of the error of a kernel with x = `alone`.
  double deviation(double alone) const;
  // The correlation of the errors of two kernels at this distance.
  double correlation_at(double distance) const;
};

// A term of a sum of prices whose errors are looked at.
struct TermError {
  const ErrorModel* of = nullptr;  // the model that the errors of similar kernels share; null: the error is its own
  double deviation = 0;            // of log(measured / predicted)
  std::array<double, 4> at{};      // the place of the kernel
};

// The variance of the error of the sum of amounts, in their unit squared.
double variance_of_sum(std::span<const std::pair<TermError, double>> terms);

// Fits a model; needs at least one error. With few errors the deviation is that of all of them, and is not
// scaled down.
ErrorModel fit_errors(const std::vector<HeldOutError>& errors);

}  // namespace xflow::cost::profile
