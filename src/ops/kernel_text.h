// Kernels as text, and read back: the only place that knows what kernels are called in databases, profiles and reports.
#pragma once

#include <xflow/error.h>

#include <string>
#include <string_view>

#include "src/ops/kernel_spec.h"

namespace xflow::ops {

// What is before the colon and behind it: "reduce" and "sum", "copy" and "resize/linear/half_pixel/floor", "pointwise/relu" and "".
std::string kernel_name(const KernelSpec& spec);
std::string kernel_word(const KernelSpec& spec);
// The inverse: a kernel without tensors and attributes. A name of no operator makes a kernel that no device has (StepFunction::unknown).
KernelSpec kernel_named(std::string_view name, std::string_view word = "");

// "relu", "gelu_erf", without a graph.
std::string_view function_name(const StepFunction& function);
// "relu", "sub@1" (operand 1 is the result of the kernel), "gelu_erf:x;1.4142135;div;erf;1;add;x;mul;0.5;mul" (with a graph).
std::string step_name(const PostOperation& post);
// The inverse: a post-operation without attributes and operands.
PostOperation step_named(std::string_view name);

// One line, equal exactly for equal specs: the key in the cost database.
std::string to_string(const KernelSpec& spec);
// The kernel that to_string writes as `text`: of covers that are explained and of keys in a database. Error::syntax, with the byte where
// something else was expected.
Result<KernelSpec> parse_kernel(std::string_view text);

}  // namespace xflow::ops
