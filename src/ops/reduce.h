// Reductions over a set of axes: helpers for reduce_sum, reduce_mean and the other reductions.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "src/ops/common.h"

namespace xflow::ops {

// The signature of a reduction: operand x, attributes axes (a set) and keep_dims (0 or 1, default 1).
Signature reduce_signature(std::string_view name, TypeClass type_class);
// The output type: reduced dimensions become 1, or disappear with keep_dims = 0.
Types reduce_type(Typing& typing, const Operation& operation);
// reduce_type for reductions whose reduced dimensions must be at least 1.
Types reduce_nonempty_type(Typing& typing, const Operation& operation);
// The product of the reduced dimensions.
ir::Poly reduced_elements(const Operation& operation);

// The sum or the maximum over the reduced axes of element(x[...]).
using ReduceElement = std::function<Expr(const Expr& x)>;
Expr reduce_sum(Builder& builder, const Operation& operation, std::span<const ir::Poly> index, const ReduceElement& element);
Expr reduce_maximum(Builder& builder, const Operation& operation, std::span<const ir::Poly> index, const ReduceElement& element);

// A kernel of family reduction with the attributes axes and keep_dims.
Result<KernelSpec> reduce_kernel(const Operation& operation);

// How an ONNX reduction takes its axes.
enum class AxesForm { attribute, input };

Result<Lifted> lift_reduce_attribute(const OnnxNode& node);
Result<Lifted> lift_reduce_input(const OnnxNode& node);
Result<Exported> export_reduce(const Operation& operation, int opset, TypeSet types, AxesForm form);

template <TypeSet types, AxesForm form>
OnnxMapping reduce_mapping(std::string_view type, int since, int until = kNewest) {
  return OnnxMapping{"",
                     type,
                     since,
                     until,
                     form == AxesForm::attribute ? &lift_reduce_attribute : &lift_reduce_input,
                     [](const Operation& operation, int opset) { return export_reduce(operation, opset, types, form); }};
}

// ONNX GlobalAveragePool and similar operators: reductions over all dimensions after the first two, which
// become 1.
Result<Lifted> lift_global(const OnnxNode& node);
Result<Exported> export_global(const Operation& operation, int opset, TypeSet types);

template <TypeSet types>
OnnxMapping global_mapping(std::string_view type, int since, int until = kNewest) {
  return OnnxMapping{"",    type,         since,
                     until, &lift_global, [](const Operation& operation, int opset) {
                    return export_global(operation, opset, types); }};
}

}  // namespace xflow::ops
