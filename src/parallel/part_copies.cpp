#include "src/parallel/part_copies.h"

#include <algorithm>
#include <cmath>

#include "src/parallel/kernel_times.h"

namespace xflow::parallel {

bool is_contiguous(const Box& whole, const Box& part) {
  // Dimensions after the first one of several elements are whole.
  const auto first = std::ranges::find_if(part, [](const Interval& own) { return own.size() > 1; }) - part.begin();
  for (auto d = static_cast<std::size_t>(first) + 1; d < part.size(); ++d)
    if (part[d] != whole[d]) return false;
  return true;
}

double CopyTimes::at(cost::KernelCosts& costs, int exponent) {
  const auto [found, is_new] = known_.try_emplace({&costs, exponent}, 0);
  if (!is_new) return found->second;
  constexpr double kMoves = 2;  // read and written
  const cost::DatabaseEntry& entry = cost_of(costs, stand_in(kMoves * std::exp2(exponent)));
  if (entry.ran) found->second = Seconds(entry.cost.median).count();
  return found->second;
}

double CopyTimes::seconds(cost::KernelCosts& costs, double bytes) {
  if (bytes <= 0) return 0;
  constexpr int kLeast = 6;
  const int exponent = std::max(kLeast, std::ilogb(bytes));
  const double low = std::exp2(exponent);
  const double seconds = at(costs, exponent);
  return bytes <= low ? seconds : seconds + (at(costs, exponent + 1) - seconds) * (bytes - low) / low;
}

double CopyTimes::seconds_of_sum(cost::KernelCosts& costs, double bytes, std::uint32_t ranks) {
  constexpr double kOfCopy = 1.5;  // an addition reads two tensors and writes one
  return (ranks - 1) * seconds(costs, kOfCopy * bytes / ranks) + seconds(costs, bytes);
}

void OperandCopies::take(const Box& held, const Box& part, bool is_sent, double element_bytes) {
  ++taken_;
  if (!is_sent && !is_contiguous(held, part)) bytes_.push_back(elements(part) * element_bytes);
}

std::vector<double> OperandCopies::join(const Box& wanted, double element_bytes) {
  if (taken_ > 1) bytes_.push_back(elements(wanted) * element_bytes);
  return std::move(bytes_);
}

}  // namespace xflow::parallel
