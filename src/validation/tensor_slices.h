// Slices of tensors along an axis, as Loop and Scan read and stack them.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/eval/tensor.h"

namespace xflow::api {

// Returns the tensor with its elements widened, if they are stored as a constant. Errors: those of
// eval::doubles and eval::integers.
Result<eval::Tensor> with_elements(const eval::Tensor& tensor);

// Returns the elements at `index` of an axis, without this axis. `tensor` is a result of with_elements; the
// axis and the index are in range.
eval::Tensor slice_at(const eval::Tensor& tensor, std::size_t axis, std::int64_t index);

// Joins tensors along a new axis. Errors: those of with_elements; unsupported for tensors of different types
// or shapes, and for none.
Result<eval::Tensor> stacked(const std::vector<eval::Tensor>& tensors, std::size_t axis);

}  // namespace xflow::api
