#include "src/kernels/kernel_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>

#include "src/kernels/device.h"
#include "src/kernels/kernel_operation.h"
#include "src/kernels/kernel_text.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using ir::ValueId;

// Functions that graphs spell as several operators, as most of them do.
class Spelling {
 public:
  explicit Spelling(ir::Arena& arena) : arena_(arena) {}

  // A pointwise operator or composite of its operands.
  Result<ValueId> pointwise(std::string_view name, const std::vector<double>& reals, const std::vector<ValueId>& operands) {
    const auto op = ops::find_operator(name);
    if (!op) {
      const std::size_t colon = name.find(':');
      return colon == std::string_view::npos ? composite(name, operands.at(0)) : spelled(name.substr(colon + 1), operands.at(0));
    }
    ir::Attributes attributes;
    std::size_t next = 0;
    for (const ops::AttributeSignature& attribute : ops::get(*op).signature.attributes) {
      if (attribute.kind == ops::AttributeKind::real && next < reals.size())
        attributes.set(attribute.name, ir::Real::from_double(reals[next++]));
    }
    return apply(name, operands, std::move(attributes));
  }

  // The steps of a normalisation in the order in which exporters write them.
  Result<ValueId> normalization(const ops::KernelSpec& spec, const std::vector<ValueId>& operands) {
    const ValueId x = operands.at(0);
    const bool centered = spec.word == "layer";
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

  // softmax(query transpose(key) * scale + mask) value
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

  Result<ValueId> composite(std::string_view name, ValueId x) {
    if (name == "square") return apply("pow", {x, number(x, 2)});
    if (name == "swish" || name == "mish" || name == "hard_swish") return gated(name, x);
    if (name == "gelu_erf") {
      XFLOW_TRY(const ValueId scaled, apply("div", {x, number(x, std::numbers::sqrt2)}));
      XFLOW_TRY(const ValueId erf, apply("erf", {scaled}));
      return gelu(x, erf);
    }
    if (name == "gelu_tanh") {
      XFLOW_TRY(const ValueId cube, apply("pow", {x, number(x, 3)}));
      XFLOW_TRY(const ValueId part, apply("mul", {cube, number(x, 0.044715)}));
      XFLOW_TRY(const ValueId sum, apply("add", {x, part}));
      XFLOW_TRY(const ValueId scaled, apply("mul", {sum, number(x, std::sqrt(2 / std::numbers::pi))}));
      XFLOW_TRY(const ValueId tanh, apply("tanh", {scaled}));
      return gelu(x, tanh);
    }
    return fail(ErrorCode::unsupported, fmt::format("{} is no operator", name));
  }

  // As a graph spells it: see Composite.
  Result<ValueId> spelled(std::string_view spelling, ValueId x) {
    std::vector<ValueId> stack;
    std::vector<ValueId> made;
    const auto wrong = [&] { return fail(ErrorCode::unsupported, fmt::format("'{}' is no spelling of a function", spelling)); };
    // Not std::views::split, which clang 14 does not compile with the library of g++ 12.
    for (std::size_t begin = 0; begin <= spelling.size();) {
      const std::size_t end = std::min(spelling.find(';', begin), spelling.size());
      const std::string_view token = spelling.substr(begin, end - begin);
      begin = end + 1;
      if (token == "x") {
        stack.push_back(x);
      } else if (token.starts_with('#')) {
        const auto k = number_of<std::size_t>(token.substr(1));
        if (!k || *k >= made.size()) return wrong();
        stack.push_back(made[*k]);
      } else if (const auto value = number_of<double>(token)) {
        stack.push_back(number(x, *value));
      } else {
        XFLOW_TRY(made.emplace_back(), spelled_operator(token, stack));
        stack.push_back(made.back());
      }
    }
    if (stack.size() != 1) return wrong();
    return stack[0];
  }

  // Takes its operands from the stack. "hard_sigmoid~0.16666667~0.5".
  Result<ValueId> spelled_operator(std::string_view token, std::vector<ValueId>& stack) {
    std::vector<double> reals;
    const std::string_view name = token.substr(0, token.find('~'));
    for (std::size_t at = name.size(); at < token.size();) {
      const std::size_t end = std::min(token.find('~', at + 1), token.size());
      const auto real = number_of<double>(token.substr(at + 1, end - at - 1));
      if (!real) return fail(ErrorCode::unsupported, fmt::format("'{}' is no operator with its attributes", token));
      reals.push_back(*real);
      at = end;
    }
    const auto op = ops::find_operator(name);
    const std::size_t count = op ? ops::get(*op).signature.operands.size() : 0;
    if (!op || count > stack.size())
      return fail(ErrorCode::unsupported, fmt::format("'{}' is no operator of what stands before it", token));
    const std::vector<ValueId> operands(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
    stack.resize(stack.size() - count);
    return pointwise(name, reals, operands);
  }

  template <typename T>
  static std::optional<T> number_of(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  }

  // x times a function of x.
  Result<ValueId> gated(std::string_view name, ValueId x) {
    ValueId gate = x;
    if (name == "swish") {
      XFLOW_TRY(gate, apply("sigmoid", {x}));
    } else if (name == "mish") {
      XFLOW_TRY(const ValueId softplus, apply("softplus", {x}));
      XFLOW_TRY(gate, apply("tanh", {softplus}));
    } else {
      XFLOW_TRY(gate, pointwise("hard_sigmoid", {1.0 / 6, 0.5}, {x}));
    }
    return apply("mul", {x, gate});
  }

  // x (1 + part) / 2
  Result<ValueId> gelu(ValueId x, ValueId part) {
    XFLOW_TRY(const ValueId sum, apply("add", {part, number(x, 1)}));
    XFLOW_TRY(const ValueId product, apply("mul", {x, sum}));
    return apply("mul", {product, number(x, 0.5)});
  }

  ir::Arena& arena_;
};

Result<std::vector<ValueId>> base(ir::Arena& arena, Spelling& spelling, const ops::KernelSpec& spec, const std::vector<ValueId>& operands) {
  if (spec.kernel == "normalization") {
    XFLOW_TRY(const ValueId value, spelling.normalization(spec, operands));
    return std::vector<ValueId>{value};
  }
  if (spec.kernel == "attention") {
    XFLOW_TRY(const ValueId value, spelling.attention(spec, operands));
    return std::vector<ValueId>{value};
  }
  if (is_pointwise(spec) && !ops::find_operator(parse_step(spec.kernel).operation)) {
    std::string name(parse_step(spec.kernel).operation);
    if (!spec.word.empty()) name += ":" + spec.word;
    XFLOW_TRY(const ValueId value, spelling.pointwise(name, {}, operands));
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

bool is_spelled_function(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"square", "hard_swish", "swish", "gelu_erf", "gelu_tanh", "mish"};
  return std::ranges::find(kNames, name.substr(0, name.find(':'))) != kNames.end();
}

Result<std::vector<ValueId>> graph_of(ir::Arena& arena, const ops::KernelSpec& spec, std::span<const ValueId> operands) {
  Spelling spelling(arena);
  const std::vector<ValueId> own(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(spec.operands.size()));
  XFLOW_TRY(std::vector<ValueId> results, base(arena, spelling, spec, own));
  std::size_t next = own.size();
  for (const ops::PostOperation& post : spec.post) {
    const StepName step = parse_step(post.name);
    std::vector<ValueId> values(operands.begin() + static_cast<std::ptrdiff_t>(next),
                                operands.begin() + static_cast<std::ptrdiff_t>(next + post.operands.size()));
    next += post.operands.size();
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(step.position), results.at(0));
    XFLOW_TRY(results[0], spelling.pointwise(step.operation, post.reals, values));
  }
  return results;
}

Result<void> check_shapes(const ops::KernelSpec& spec) {
  const auto refuse = [&](const std::string& reason) {
    return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: {}", ops::to_string(spec), reason));
  };
  if (spec.kernel == "reorder") {
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
