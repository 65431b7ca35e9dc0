#include "src/ops/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace xflow::ops {
namespace {

// For each dimension of operand 0: whether it is reduced.
std::vector<bool> reduced_axes(const Operation& operation) {
  std::vector<bool> reduced(operation.operands[0].rank(), false);
  for (const ir::Poly& axis : operation.attributes.integers("axes")) reduced[static_cast<std::size_t>(axis.constant_term())] = true;
  return reduced;
}

// The indices of operand 0 for an output index and the indices along the reduced axes.
std::vector<ir::Poly> reduced_read(const Operation& operation, std::span<const ir::Poly> index, const std::vector<ir::Poly>& binders) {
  const bool keep = operation.attributes.integer("keep_dims").is_one();
  std::vector<ir::Poly> read;
  std::size_t next_index = 0;
  std::size_t next_binder = 0;
  for (const bool reduced : reduced_axes(operation)) {
    read.push_back(reduced ? binders[next_binder++] : index[next_index]);
    if (!reduced || keep) ++next_index;
  }
  return read;
}

std::vector<ir::Poly> reduced_extents(const Operation& operation) {
  std::vector<ir::Poly> extents;
  const ir::Shape& shape = operation.operands[0].shape;
  for (const ir::Poly& axis : operation.attributes.integers("axes"))
    extents.push_back(shape[static_cast<std::size_t>(axis.constant_term())]);
  return extents;
}

std::vector<ir::Poly> all_axes(std::size_t rank, std::size_t first = 0) {
  std::vector<ir::Poly> axes;
  for (std::size_t k = first; k < rank; ++k) axes.emplace_back(static_cast<std::int64_t>(k));
  return axes;
}

Lifted reduction(const OnnxNode& node, std::vector<ir::Poly> axes) {
  Lifted lifted;
  lifted.operands = {0};
  lifted.attributes.set("axes", std::move(axes));
  lifted.attributes.set("keep_dims", ir::Poly(node.integer("keepdims", 1)));
  return lifted;
}

}  // namespace

Signature reduce_signature(std::string_view name, TypeClass type_class) {
  Signature signature;
  signature.name = name;
  signature.operands = {{"x", type_class}};
  AttributeSignature axes{"axes", AttributeKind::integers};
  axes.axis = true;
  signature.attributes = {std::move(axes),
                          {.name = "keep_dims", .kind = AttributeKind::integer, .default_value = ir::Poly(1), .flag = true}};
  return signature;
}

Types reduce_type(Typing& /*typing*/, const Operation& operation) {
  XFLOW_CHECK(require_flag(operation.attributes, "keep_dims"));
  const bool keep = operation.attributes.integer("keep_dims").is_one();
  const std::vector<bool> reduced = reduced_axes(operation);
  ir::Shape shape;
  for (std::size_t k = 0; k < reduced.size(); ++k) {
    if (!reduced[k]) {
      shape.push_back(operation.operands[0].shape[k]);
    } else if (keep) {
      shape.emplace_back(1);
    }
  }
  return one_type(operation.operands[0].data_type, std::move(shape));
}

Types reduce_nonempty_type(Typing& typing, const Operation& operation) {
  for (const ir::Poly& extent : reduced_extents(operation)) {
    XFLOW_CHECK(typing.require_at_least_zero(extent - 1, "the reduced dimensions to be at least 1"));
  }
  return reduce_type(typing, operation);
}

ir::Poly reduced_elements(const Operation& operation) { return ir::element_count(reduced_extents(operation)); }

Expr reduce_sum(Builder& builder, const Operation& operation, std::span<const ir::Poly> index, const ReduceElement& element) {
  return builder.sum(reduced_extents(operation), [&](const std::vector<ir::Poly>& binders) {
    return element(builder.read(0, reduced_read(operation, index, binders)));
  });
}

Expr reduce_maximum(Builder& builder, const Operation& operation, std::span<const ir::Poly> index, const ReduceElement& element) {
  return builder.maximum(reduced_extents(operation), [&](const std::vector<ir::Poly>& binders) {
    return element(builder.read(0, reduced_read(operation, index, binders)));
  });
}

Result<KernelSpec> reduce_kernel(const Operation& operation) {
  XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::reduction, operation));
  XFLOW_CHECK(add_integers(spec, operation, "axes"));
  XFLOW_CHECK(add_integers(spec, operation, "keep_dims"));
  return spec;
}

Result<Lifted> lift_reduce_attribute(const OnnxNode& node) {
  XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
  const auto axes = node.integer_list("axes");
  return reduction(node, axes && !axes->empty() ? ir::polys(*axes) : all_axes(rank));
}

Result<Lifted> lift_reduce_input(const OnnxNode& node) {
  XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
  std::vector<ir::Poly> axes;
  if (node.has_input(1)) {
    XFLOW_TRY(axes, input_integers(node, 1, "axes"));
  }
  if (!axes.empty()) return reduction(node, std::move(axes));
  if (node.integer("noop_with_empty_axes", 0) != 0) return fail(ErrorCode::unsupported, "a reduction over no axis");
  return reduction(node, all_axes(rank));
}

Result<Exported> export_reduce(const Operation& operation, int opset, TypeSet types, AxesForm form) {
  XFLOW_CHECK(require_exportable(operation, 0, types));
  XFLOW_TRY(Exported exported, export_operands(operation, opset));
  XFLOW_TRY(std::vector<std::int64_t> axes, known_integers(operation, "axes"));
  if (axes.empty()) return fail(ErrorCode::unsupported, "a reduction over no axis cannot be exported");
  if (form == AxesForm::attribute) {
    exported.attributes.emplace_back("axes", std::move(axes));
  } else {
    exported.inputs.emplace_back(Exported::IntegersInput{ir::polys(axes)});
  }
  XFLOW_TRY(const std::int64_t keep_dims, known_integer(operation, "keep_dims"));
  exported.attributes.emplace_back("keepdims", keep_dims);
  return exported;
}

Result<Lifted> lift_global(const OnnxNode& node) {
  XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
  if (rank < 3) return fail(ErrorCode::unsupported, "a global pool has at least 1 spatial dimension");
  return reduction(node, all_axes(rank, 2));
}

Result<Exported> export_global(const Operation& operation, int opset, TypeSet types) {
  XFLOW_CHECK(require_exportable(operation, 0, types));
  const std::size_t rank = operation.operands[0].rank();
  if (rank < 3 || !operation.attributes.integer("keep_dims").is_one() || operation.attributes.integers("axes") != all_axes(rank, 2)) {
    return fail(ErrorCode::unsupported, "not a reduction over all spatial dimensions");
  }
  return export_operands(operation, opset);
}

}  // namespace xflow::ops
