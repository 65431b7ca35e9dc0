// Prints and parses kernels. Only this file knows the names of kernels in databases, profiles and reports.
#pragma once

#include <xflow/error.h>

#include <string>
#include <string_view>

#include "src/ops/kernel_spec.h"

namespace xflow::ops {

// The texts before and after the colon: "reduce" and "sum", "copy" and "resize/linear/half_pixel/floor",
// "pointwise/relu" and "".
std::string kernel_name(const KernelSpec& spec);
std::string kernel_variant(const KernelSpec& spec);
// The inverse: a kernel without tensors and number attributes. A name that is no operator gives a kernel
// with StepFunction::unknown, which no device supports.
KernelSpec kernel_named(std::string_view name, std::string_view variant = "");

// The name of a function without its graph: "relu", "gelu_erf".
std::string_view function_name(const StepFunction& function);
// The name of a post-operation: "relu", "sub@1" (operand 1 is the result of the kernel),
// "gelu_erf:x;1.4142135;div;erf;1;add;x;mul;0.5;mul" (with a graph).
std::string step_name(const PostOperation& post);
// The inverse: a post-operation without attributes and operands.
PostOperation step_named(std::string_view name);

// One line; two specs print equally if and only if they are equal. It is the key in the cost database.
std::string to_string(const KernelSpec& spec);
// The inverse of to_string, for explained kernel covers and keys of a database. Error::syntax names the byte
// of the first unexpected text.
Result<KernelSpec> parse_kernel(std::string_view text);

}  // namespace xflow::ops
