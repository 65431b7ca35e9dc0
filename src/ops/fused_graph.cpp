#include "src/ops/fused_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "src/ir/constant.h"
#include "src/ops/fused_functions.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::ops {
namespace {

constexpr int kMostDepth = 8;

template <typename T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Parses "0.5", "$alpha" and "-$alpha".
std::optional<FusedGraph::Number> parse_number(std::string_view token) {
  if (token.starts_with('$')) return FusedGraph::Number{0, std::string(token.substr(1)), false};
  if (token.starts_with("-$")) return FusedGraph::Number{0, std::string(token.substr(2)), true};
  const auto value = number_of<double>(token);
  return value ? std::optional(FusedGraph::Number{*value}) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<FusedGraph> parse() {
    XFLOW_TRY([[maybe_unused]] const std::size_t result, add(text_, std::nullopt, 0));
    assert(result + 1 == graph_.parts.size());
    return std::move(graph_);
  }

 private:
  Unexpected wrong(const std::string& reason) const {
    return fail(ErrorCode::unsupported, fmt::format("'{}' is not a graph of a function: {}", text_, reason));
  }

  template <typename Part>
  std::size_t part(Part made) {
    graph_.parts.emplace_back(std::move(made));
    return graph_.parts.size() - 1;
  }

  // Adds the parts of a graph and returns its result. `x` is the part to use for the token x, if given.
  // `depth` is the number of nested function expansions.
  Result<std::size_t> add(std::string_view text, std::optional<std::size_t> x, int depth) {
    if (depth > kMostDepth) return wrong("a function stands for itself");
    std::vector<std::size_t> stack;
    std::vector<std::size_t> made;
    for (const std::string_view token : split(text, ';')) {
      if (token == "x") {
        stack.push_back(x ? *x : operand(0));
      } else if (token == "b" && !x) {
        stack.push_back(operand(1));
      } else if (token.starts_with('#')) {
        const auto k = number_of<std::size_t>(token.substr(1));
        if (!k || *k >= made.size()) return wrong(fmt::format("nothing before is {}", token));
        stack.push_back(made[*k]);
      } else if (auto number = parse_number(token)) {
        stack.push_back(part(*std::move(number)));
      } else {
        XFLOW_TRY(made.emplace_back(), operation(token, stack, depth));
        stack.push_back(made.back());
      }
    }
    if (stack.size() != 1) return wrong(fmt::format("{} results", stack.size()));
    return stack[0];
  }

  std::size_t operand(std::size_t number) {
    if (!operands_.contains(number)) operands_[number] = part(FusedGraph::Operand{number});
    return operands_[number];
  }

  // Adds an operator or function and returns its result. Pops the operands from the stack.
  Result<std::size_t> operation(std::string_view token, std::vector<std::size_t>& stack, int depth) {
    const std::vector<std::string_view> words = split(token, '~');
    const auto op = find_operator(words[0]);
    const FusedFunction* function = op ? nullptr : find_function(words[0]);
    if (!op && function == nullptr) return wrong(fmt::format("no operator or fused function '{}'", words[0]));
    FusedGraph::Apply made;
    for (std::size_t k = 1; k < words.size(); ++k) {
      const auto real = parse_number(words[k]);
      if (!real || !op) return wrong(fmt::format("'{}' has no such attributes", token));
      made.reals.push_back({static_cast<double>(static_cast<float>(real->value)), real->attribute, real->negated});
    }
    const std::size_t count = op ? get(*op).signature.operands.size() : 1;
    if (count > stack.size()) return wrong(fmt::format("'{}' has {} operands", token, count));
    made.operands.assign(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
    stack.resize(stack.size() - count);
    if (!op) return add(function->graph, made.operands[0], depth + 1);
    made.op = *op;
    return part(std::move(made));
  }

  std::string_view text_;
  FusedGraph graph_;
  std::map<std::size_t, std::size_t> operands_;  // operand number -> part
};

// Builds the values of the parts in an arena.
class Application {
 public:
  Application(ir::Arena& arena, const FusedGraph& graph, std::span<const ir::ValueId> operands, const AttributeValueOf& attribute)
      : arena_(arena), graph_(graph), operands_(operands), attribute_(attribute) {}

  Result<ir::ValueId> apply() {
    if (operands_.size() < operand_count(graph_)) return fail(ErrorCode::internal, "a graph with fewer operands than it reads");
    for (std::size_t k = 0; k < graph_.parts.size(); ++k) {
      if (const auto* operand = std::get_if<FusedGraph::Operand>(&graph_.parts[k])) {
        values_.push_back(operands_[operand->number]);
      } else if (const auto* number = std::get_if<FusedGraph::Number>(&graph_.parts[k])) {
        XFLOW_TRY(values_.emplace_back(), constant(*number));
      } else {
        XFLOW_TRY(values_.emplace_back(), value(std::get<FusedGraph::Apply>(graph_.parts[k])));
      }
    }
    return values_.back();
  }

 private:
  ir::Real real(const FusedGraph::Number& number) const {
    if (number.attribute.empty()) return ir::Real::from_double(number.value);
    const ir::Real value = attribute_(number.attribute);
    return number.negated ? ir::Real::from_double(-value.to_double()) : value;
  }

  Result<ir::ValueId> constant(const FusedGraph::Number& number) {
    const double value = real(number).to_double();
    XFLOW_TRY(ir::Constant made, ir::make_constant(arena_.type(operands_[0]).data_type, {}, std::span(&value, 1)));
    return arena_.constant(std::move(made));
  }

  bool is_attribute_of_one(std::size_t part) const {
    const auto* number = std::get_if<FusedGraph::Number>(&graph_.parts[part]);
    return number != nullptr && !number->attribute.empty() && real(*number) == ir::Real(1);
  }

  Result<ir::ValueId> value(const FusedGraph::Apply& operation) {
    const Op op = get(operation.op).op;
    const Signature& signature = get(operation.op).signature;
    if ((op == Op::Mul || op == Op::Div) && is_attribute_of_one(operation.operands[1])) return values_[operation.operands[0]];
    ir::Attributes attributes;
    std::size_t next = 0;
    for (const AttributeSignature& attribute : signature.attributes) {
      if (attribute.kind == AttributeKind::real && next < operation.reals.size())
        attributes.set(attribute.name, real(operation.reals[next++]));
    }
    std::vector<ir::ValueId> operands;
    operands.reserve(operation.operands.size());
    for (const std::size_t part : operation.operands) operands.push_back(values_[part]);
    return ops::apply(arena_, signature.name, std::move(operands), std::move(attributes));
  }

  ir::Arena& arena_;
  const FusedGraph& graph_;
  std::span<const ir::ValueId> operands_;
  const AttributeValueOf& attribute_;
  std::vector<ir::ValueId> values_;
};

}  // namespace

Result<FusedGraph> parse_fused_graph(std::string_view text) { return Parser(text).parse(); }

std::size_t operand_count(const FusedGraph& graph) {
  std::size_t count = 0;
  for (const auto& part : graph.parts)
    if (const auto* operand = std::get_if<FusedGraph::Operand>(&part)) count = std::max(count, operand->number + 1);
  return count;
}

std::vector<Op> unary_operators(const FusedGraph& graph) {
  std::vector<Op> operators;
  for (const auto& part : graph.parts)
    if (const auto* operation = std::get_if<FusedGraph::Apply>(&part); operation != nullptr && operation->operands.size() == 1)
      operators.push_back(get(operation->op).op);
  return operators;
}

Result<ir::ValueId> apply_fused_graph(ir::Arena& arena, const FusedGraph& graph, std::span<const ir::ValueId> operands,
                                      const AttributeValueOf& attribute) {
  return Application(arena, graph, operands, attribute).apply();
}

}  // namespace xflow::ops
