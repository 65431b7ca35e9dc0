// The copies that a part needs before it has its operands, and that others need of its results.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "src/cost/kernel_costs.h"
#include "src/parallel/box.h"

namespace xflow::parallel {

// Whether a part of a row-major tensor is a range of its memory, which is read or sent where it is.
bool is_contiguous(const Box& whole, const Box& part);

// The seconds of copies by a device. Kernels are timed at sizes that are powers of two, between which times
// are interpolated.
class CopyTimes {
 public:
  // A copy of so many bytes, at least 0.
  double seconds(cost::KernelCosts& costs, double bytes);
  // Where all of `ranks` devices add their tensors of so many bytes: each adds one range of all, and then
  // joins the ranges.
  double seconds_of_sum(cost::KernelCosts& costs, double bytes, std::uint32_t ranks);

 private:
  double at(cost::KernelCosts& costs, int exponent);

  std::map<std::pair<const cost::KernelCosts*, int>, double> known_;
};

// Bytes of each copy that makes an operand of what its holders have or sent.
class OperandCopies {
 public:
  // A part of what a holder has; `is_sent`: from another device, which sent that part alone.
  void take(const Box& held, const Box& part, bool is_sent, double element_bytes);
  // Parts are joined into all of `wanted`, which may be one of them.
  std::vector<double> join(const Box& wanted, double element_bytes);

 private:
  std::vector<double> bytes_;
  std::size_t taken_ = 0;
};

}  // namespace xflow::parallel
