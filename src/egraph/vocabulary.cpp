#include "src/egraph/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "src/egraph/numbers.h"
#include "src/ops/operator.h"

namespace xflow::generator {

OpRef Vocabulary::op(ir::OperatorId op, const ir::Attributes& attributes) {
  const std::size_t hash = attributes.hash() * 31 + static_cast<std::size_t>(op);
  const auto [begin, end] = op_ids_.equal_range(hash);
  for (auto k = begin; k != end; ++k)
    if (operator_of(k->second) == op && this->attributes(k->second) == attributes) return k->second;
  const auto id = static_cast<OpRef>(ops_.size());
  Entry entry{op, attributes, std::nullopt, ops::get(op).signature.commutative};
  if (op == ops::id_of("full")) entry.fills = attributes.real("value").rational();
  ops_.push_back(std::move(entry));
  operators_.push_back(op);
  op_ids_.emplace(hash, id);
  return id;
}

OpRef Vocabulary::op_on(ir::OperatorId op, const ir::Attributes& attributes, std::span<const TypeRef> operands) {
  std::size_t hash = attributes.hash() * 31 + static_cast<std::size_t>(op);
  for (const TypeRef t : operands) hash = mix(hash ^ static_cast<std::uint64_t>(t));
  const auto [begin, end] = asked_.equal_range(hash);
  for (auto k = begin; k != end; ++k) {
    const Asked& asked = k->second;
    if (asked.op == op && std::equal(asked.operands.begin(), asked.operands.end(), operands.begin(), operands.end()) &&
        asked.attributes == attributes) {
      return asked.is;
    }
  }
  ir::Arena arena;
  ops::Typing typing(arena.symbols());
  std::vector<ir::ValueId> inputs;
  inputs.reserve(operands.size());
  for (const TypeRef t : operands)
    inputs.push_back(
        arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(dims(t))}, static_cast<std::uint32_t>(inputs.size())));
  const auto applied = ops::apply(arena, typing, op, inputs, attributes);
  assert(applied.has_value());
  const OpRef is = this->op(op, arena.node(*applied).attributes);
  asked_.emplace(hash, Asked{op, attributes, {operands.begin(), operands.end()}, is});
  return is;
}

std::size_t Vocabulary::DimsHash::operator()(const std::vector<std::int64_t>& dims) const {
  std::uint64_t hash = dims.size();
  for (const std::int64_t d : dims) hash = mix(hash ^ static_cast<std::uint64_t>(d));
  return hash;
}

TypeRef Vocabulary::type(const std::vector<std::int64_t>& dims) {
  const auto [found, added] = type_ids_.try_emplace(dims, static_cast<TypeRef>(types_.size()));
  if (added) types_.push_back(dims);
  return found->second;
}

OpRef Vocabulary::filled(const std::vector<std::int64_t>& dims, const ir::Rational& value) {
  return op(ops::id_of("full"), {{"data_type", ir::DataType::float32}, {"shape", ir::polys(dims)}, {"value", ir::Real(value)}});
}

Result<std::vector<TypeRef>> Vocabulary::apply(OpRef op, std::span<const TypeRef> operands) {
  std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(op)};
  for (const TypeRef t : operands) key.push_back(static_cast<std::uint32_t>(t));
  if (const auto found = typings_.find(key); found != typings_.end()) return found->second;
  ir::Arena arena;
  ops::Typing typing(arena.symbols());
  std::vector<ir::ValueId> inputs;
  for (const TypeRef t : operands)
    inputs.push_back(
        arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(dims(t))}, static_cast<std::uint32_t>(inputs.size())));
  XFLOW_TRY(const ir::NodeId node, ops::apply(arena, typing, operator_of(op), inputs, attributes(op)));
  std::vector<TypeRef> types;
  for (const ir::TensorType& t : arena.node(node).outputs) {
    const auto shape = ir::constant_shape(t.shape);
    if (!shape) return fail(ErrorCode::unsupported, "sizes that are not known");
    types.push_back(type(*shape));
  }
  typings_.emplace(std::move(key), types);
  return types;
}

namespace {

// The number that a float32 approximates: a rational with a small denominator or few decimals if one rounds
// to it, else its exact value.
std::optional<ir::Rational> number_of(double stored) {
  const auto with = [&](std::int64_t denominator) -> std::optional<ir::Rational> {
    const double numerator = stored * static_cast<double>(denominator);
    if (!(std::abs(numerator) < 1e15)) return std::nullopt;
    const auto value = ir::Rational::make(static_cast<std::int64_t>(std::llround(numerator)), denominator);
    return value && ir::Real(*value).nearest_in_type(stored, 24) ? value : std::nullopt;
  };
  for (std::int64_t denominator = 1; denominator <= 64; ++denominator)
    if (const auto value = with(denominator)) return value;
  for (std::int64_t denominator = 100; denominator <= 1'000'000; denominator *= 10)
    if (const auto value = with(denominator)) return value;
  return ir::Rational::from_double(stored);
}

}  // namespace

Result<FlatGraph> Vocabulary::flatten(const ir::Arena& arena, std::span<const ir::ValueId> inputs, std::span<const ir::ValueId> outputs) {
  FlatGraph result;
  std::unordered_map<ir::NodeId, std::int32_t> numbers;
  for (std::size_t k = 0; k < inputs.size(); ++k) numbers[inputs[k].node] = flat_input(k).node;
  for (const ir::NodeId id : ir::topological_order(arena, ir::Graph{{outputs.begin(), outputs.end()}})) {
    if (numbers.contains(id)) continue;
    const ir::Node& node = arena.node(id);
    FlatNode flat;
    for (const ir::TensorType& t : node.outputs) {
      const auto shape = t.data_type == ir::DataType::float32 ? ir::constant_shape(t.shape) : std::nullopt;
      if (!shape) return fail(ErrorCode::unsupported, "a tensor that is not of float32 and known size");
      flat.types.push_back(type(*shape));
    }
    if (node.kind == ir::NodeKind::constant) {
      XFLOW_TRY(const std::vector<double> values, ir::doubles(node.constant));
      const bool one_number = !values.empty() && std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
      const auto number = one_number ? number_of(values[0]) : std::nullopt;
      if (!number) return fail(ErrorCode::unsupported, "a constant that is not one number");
      flat.op = filled(dims(flat.types[0]), *number);
    } else if (node.kind == ir::NodeKind::operation) {
      flat.op = op(node.op, node.attributes);
      for (const ir::ValueId v : node.operands) {
        if (arena.is_absent(v)) return fail(ErrorCode::unsupported, "an operand that is absent");
        flat.operands.push_back({numbers.at(v.node), v.output});
      }
    } else {
      return fail(ErrorCode::unsupported, "a value that is not among the inputs");
    }
    numbers[id] = static_cast<std::int32_t>(result.nodes.size());
    result.nodes.push_back(std::move(flat));
  }
  for (const ir::ValueId v : outputs) result.outputs.push_back({numbers.at(v.node), v.output});
  return result;
}

std::string Vocabulary::to_string(const FlatGraph& graph, const std::vector<std::string>& inputs) const {
  const ir::Symbols symbols;
  std::vector<std::string> texts;
  const auto text = [&](const FlatValue& v) {
    if (v.node < 0) return inputs[static_cast<std::size_t>(-1 - v.node)];
    const FlatNode& n = graph.nodes[static_cast<std::size_t>(v.node)];
    return n.types.size() == 1 ? texts[static_cast<std::size_t>(v.node)]
                               : fmt::format("{}.{}", texts[static_cast<std::size_t>(v.node)], v.output);
  };
  for (const FlatNode& n : graph.nodes) {
    if (const auto& number = fills(n.op)) {
      texts.push_back(number->to_string());
      continue;
    }
    std::vector<std::string> parts;
    parts.reserve(n.operands.size());
    for (const FlatValue& v : n.operands) parts.push_back(text(v));
    const auto& defaults = ops::get(operator_of(n.op)).signature.attributes;
    for (const ir::Attribute& a : attributes(n.op).list()) {
      const auto signature = std::find_if(defaults.begin(), defaults.end(), [&](const auto& s) { return s.name == a.name; });
      if (signature != defaults.end() && signature->default_value && *signature->default_value == a.value) continue;
      if (a.name == "data_type") continue;
      parts.push_back(fmt::format("{}: {}", a.name, ir::to_string(symbols, a.value)));
    }
    texts.push_back(fmt::format("{}({})", ops::get(operator_of(n.op)).signature.name, fmt::join(parts, ", ")));
  }
  std::string result;
  for (const FlatValue& v : graph.outputs) result += (result.empty() ? "" : "; ") + text(v);
  return result;
}

}  // namespace xflow::generator
