// Splits and slices that a runtime makes without copying: each result is a view of the operand.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "src/ops/kernel_spec.h"
#include "src/ops/op.h"

namespace xflow::cost {

// The offset of each result of a split or slice in its row-major operand, in bytes, if each result is a
// contiguous part: all dimensions before the first one that is cut are 1 in the result. nullopt otherwise,
// for other kernels, and for tensors without elements.
std::optional<std::vector<std::size_t>> view_offsets(const ops::KernelSpec& spec);

// What a runtime makes views.
struct ViewSupport {
  std::vector<ops::Op> operators;  // Slice, Split or both, in this order; empty: it copies
  std::size_t alignment = 1;       // in bytes, at least 1: a result that begins elsewhere is copied
  // Whether all results of the kernel are views. Row-major tensors are assumed.
  bool covers(const ops::KernelSpec& spec) const;
  friend bool operator==(const ViewSupport&, const ViewSupport&) = default;
};

}  // namespace xflow::cost
