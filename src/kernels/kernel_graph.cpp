#include "src/kernels/kernel_graph.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "src/kernels/node_launch.h"
#include "src/ops/fused_functions.h"
#include "src/ops/kernel_text.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using ir::ValueId;

// Converts kernels to operators of the IR.
class GraphMaker {
 public:
  explicit GraphMaker(ir::Arena& arena) : arena_(arena) {}

  // Applies a pointwise operator or fused function to its operands.
  Result<ValueId> pointwise(const ops::StepFunction& function, const std::vector<double>& reals, const std::vector<ValueId>& operands) {
    if (!function.op) {
      XFLOW_TRY(const ops::FusedGraph graph, ops::graph_of_function(function));
      const std::size_t count = ops::operand_count(graph);
      if (operands.size() != count)
        return fail(ErrorCode::unsupported,
                    fmt::format("'{}' has {} operand, found {}", ops::function_name(function), count, operands.size()));
      return ops::apply_fused_graph(arena_, graph, operands);
    }
    const ops::Signature& signature = ops::get(ops::id_of(*function.op)).signature;
    ir::Attributes attributes;
    std::size_t next = 0;
    for (const ops::AttributeSignature& attribute : signature.attributes) {
      if (attribute.kind == ops::AttributeKind::real && next < reals.size())
        attributes.set(attribute.name, ir::Real::from_double(reals[next++]));
    }
    return apply(signature.name, operands, std::move(attributes));
  }

  // Builds a normalisation from its steps, in the order in which exporters write them.
  Result<ValueId> normalization(const ops::KernelSpec& spec, const std::vector<ValueId>& operands) {
    const ValueId x = operands.at(0);
    const bool centered = spec.is(ops::KernelFamily::layer_normalization);
    ir::Attributes attributes;
    attributes.set("axes", ir::polys(*spec.find("axes")));
    attributes.set("keep_dims", ir::Poly(1));
    const auto mean = [&](ValueId value) { return apply("reduce_mean", {value}, attributes); };
    ValueId difference = x;
    if (centered) {
      XFLOW_TRY(const ValueId middle, mean(x));
      XFLOW_TRY(difference, apply("sub", {x, middle}));
    }
    XFLOW_TRY(const ValueId squares, apply("pow", {difference, number(x, 2)}));
    XFLOW_TRY(const ValueId variance, mean(squares));
    XFLOW_TRY(const ValueId sum, apply("add", {variance, number(x, spec.reals.at(0).second)}));
    XFLOW_TRY(const ValueId root, apply("sqrt", {sum}));
    XFLOW_TRY(ValueId y, apply("div", {difference, root}));
    if (operands.size() > 1) {
      XFLOW_TRY(y, apply("mul", {y, operands[1]}));
    }
    if (operands.size() > 2) {
      XFLOW_TRY(y, apply("add", {y, operands[2]}));
    }
    return y;
  }

  // softmax(query transpose(key) * scale + mask) value.
  Result<ValueId> attention(const ops::KernelSpec& spec, const std::vector<ValueId>& operands) {
    const std::vector<std::int64_t>* perm = spec.find("perm");
    if (perm == nullptr || operands.size() < 3) return fail(ErrorCode::unsupported, "an attention needs a query, a key and a value");
    XFLOW_TRY(const ValueId key, apply("transpose", {operands[1]}, {{"perm", ir::polys(*perm)}}));
    XFLOW_TRY(ValueId scores, apply("matmul", {operands[0], key}));
    if (!spec.reals.empty() && spec.reals[0].second != 1) {
      XFLOW_TRY(scores, apply("mul", {scores, number(scores, spec.reals[0].second)}));
    }
    if (operands.size() > 3) {
      XFLOW_TRY(scores, apply("add", {scores, operands[3]}));
    }
    const auto axis = static_cast<std::int64_t>(perm->size()) - 1;
    XFLOW_TRY(const ValueId weights, apply("softmax", {scores}, {{"axis", ir::Poly(axis)}}));
    return apply("matmul", {weights, operands[2]});
  }

  Result<ValueId> apply(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    return ops::apply(arena_, name, std::move(operands), std::move(attributes));
  }

 private:
  ValueId number(ValueId like, double value) {
    return arena_.constant(ir::make_constant(arena_.type(like).data_type, {}, std::vector<double>{value}).value());
  }

  ir::Arena& arena_;
};

// The attributes of the kernel's operator.
ir::Attributes attributes_of(const ops::Signature& signature, const ops::KernelSpec& spec) {
  ir::Attributes attributes;
  for (const ops::AttributeSignature& attribute : signature.attributes) {
    const std::string name(attribute.name);
    const std::vector<std::int64_t>* integers = spec.find(name);
    const std::optional<double> real = spec.real(name);
    const std::string_view word = spec.word(name);
    switch (attribute.kind) {
      case ops::AttributeKind::integer:
        if (integers != nullptr && integers->size() == 1) attributes.set(name, ir::Poly((*integers)[0]));
        break;
      case ops::AttributeKind::integers:
        if (integers != nullptr) attributes.set(name, ir::polys(*integers));
        break;
      case ops::AttributeKind::real:
        if (real) attributes.set(name, ir::Real::from_double(*real));
        break;
      case ops::AttributeKind::word:
        if (!word.empty()) attributes.set(name, std::string(word));
        break;
      case ops::AttributeKind::data_type:
        if (!spec.results.empty()) attributes.set(name, spec.results[0].data_type);
        break;
    }
  }
  return attributes;
}

Result<std::vector<ValueId>> base(ir::Arena& arena, GraphMaker& make, const ops::KernelSpec& spec, const std::vector<ValueId>& operands) {
  if (ops::is_normalization(spec)) {
    XFLOW_TRY(const ValueId value, make.normalization(spec, operands));
    return std::vector<ValueId>{value};
  }
  if (spec.is(ops::KernelFamily::attention)) {
    XFLOW_TRY(const ValueId value, make.attention(spec, operands));
    return std::vector<ValueId>{value};
  }
  if (is_pointwise(spec) && !spec.function.op) {
    XFLOW_TRY(const ValueId value, make.pointwise(spec.function, {}, operands));
    return std::vector<ValueId>{value};
  }
  ir::Arena scratch(arena.shared_symbols());
  XFLOW_TRY(const ir::NodeId known, operation_of(scratch, spec));
  ops::Typing typing(arena.symbols());
  XFLOW_TRY(const ir::NodeId node, ops::apply(arena, typing, scratch.node(known).op, operands, scratch.node(known).attributes));
  std::vector<ValueId> results(arena.node(node).outputs.size());
  for (std::uint32_t k = 0; k < results.size(); ++k) results[k] = {node, k};
  return results;
}

}  // namespace

Result<ir::NodeId> operation_of(ir::Arena& arena, const ops::KernelSpec& spec) {
  const auto none = [&] { return fail(ErrorCode::unsupported, fmt::format("{} is not a single operator", ops::to_string(spec))); };
  if (!spec.function.op) return none();
  const ir::OperatorId op = ops::id_of(*spec.function.op);
  std::vector<ValueId> operands;
  operands.reserve(spec.operands.size());
  for (const ops::TensorSpec& operand : spec.operands)
    operands.push_back(arena.input({operand.data_type, true, ir::polys(operand.dims)}, static_cast<std::uint32_t>(operands.size())));
  ops::Typing typing(arena.symbols());
  const auto node = ops::apply(arena, typing, op, operands, attributes_of(ops::get(op).signature, spec));
  if (!node) return none();
  auto own = kernel_of(arena, *node, [](ir::SymbolId) { return std::nullopt; });
  if (!own || own->spec.operands.size() != spec.operands.size()) return none();
  for (std::size_t k = 0; k < spec.operands.size(); ++k) own->spec.operands[k].constant = spec.operands[k].constant;
  own->spec.post = spec.post;
  if (!(own->spec == spec)) return none();
  return *node;
}

Result<std::vector<ValueId>> graph_of(ir::Arena& arena, const ops::KernelSpec& spec, std::span<const ValueId> operands) {
  GraphMaker make(arena);
  const std::vector<ValueId> own(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(spec.operands.size()));
  XFLOW_TRY(std::vector<ValueId> results, base(arena, make, spec, own));
  std::size_t next = own.size();
  for (const ops::PostOperation& post : spec.post) {
    std::vector<ValueId> values(operands.begin() + static_cast<std::ptrdiff_t>(next),
                                operands.begin() + static_cast<std::ptrdiff_t>(next + post.operands.size()));
    next += post.operands.size();
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(post.position), results.at(0));
    XFLOW_TRY(results[0], make.pointwise(post.function, post.reals, values));
  }
  return results;
}

Result<void> check_shapes(const ops::KernelSpec& spec) {
  const auto refuse = [&](const std::string& reason) {
    return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: {}", ops::to_string(spec), reason));
  };
  if (spec.is(ops::KernelFamily::reorder)) {
    const bool same = spec.operands.size() == 1 && spec.results.size() == 1 && spec.operands[0].dims == spec.results[0].dims;
    return same ? Result<void>() : refuse("expected a result with the sizes of the operand");
  }
  ir::Arena arena;
  std::vector<ValueId> operands;
  for (const ops::TensorSpec& operand : ops::all_operands(spec))
    operands.push_back(arena.input({operand.data_type, true, ir::polys(operand.dims)}, static_cast<std::uint32_t>(operands.size())));
  const auto results = graph_of(arena, spec, operands);
  if (!results) return refuse(results.error().message);
  if (results->size() != spec.results.size()) return refuse(fmt::format("expected {} results", results->size()));
  for (std::size_t k = 0; k < results->size(); ++k) {
    const ir::TensorType& type = arena.type((*results)[k]);
    if (type == ir::TensorType{spec.results[k].data_type, true, ir::polys(spec.results[k].dims)}) continue;
    return refuse(fmt::format("expected a result {}", ir::to_string(arena.symbols(), type)));
  }
  return {};
}

}  // namespace xflow::cost
