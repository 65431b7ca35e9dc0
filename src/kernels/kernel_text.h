// Kernels as text, read back: the inverse of ops::to_string.
#pragma once

#include <xflow/error.h>

#include <string_view>

#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// Of one or several pointwise operators.
inline bool is_pointwise(const ops::KernelSpec& spec) { return spec.kernel.starts_with("pointwise/"); }

// The kernel that ops::to_string writes as `text`: of covers that are explained and of keys in a database. Error::syntax, with the byte
// where something else was expected.
Result<ops::KernelSpec> parse_kernel(std::string_view text);

}  // namespace xflow::cost
