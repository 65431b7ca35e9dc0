#include "src/rules/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace xflow::rules {
namespace {

const std::array<ops::Signature, 2>& aliases() {
  static const std::array<ops::Signature, 2> list = [] {
    std::array<ops::Signature, 2> result;
    const std::array<std::string_view, 2> names = {"zeros", "ones"};
    for (std::size_t k = 0; k < 2; ++k) {
      result[k].name = names[k];
      result[k].attributes = {{.name = "shape", .kind = ops::AttributeKind::integers}};
      result[k].moves_data = true;
    }
    return result;
  }();
  return list;
}

bool is_literal_like(const Term& term) {
  return term.kind == Term::Kind::literal || term.kind == Term::Kind::absent ||
         (term.kind == Term::Kind::application && is_generator(term.name));
}

}  // namespace

const ops::Signature* find_signature(std::string_view name) {
  for (const ops::Signature& alias : aliases()) {
    if (alias.name == name) return &alias;
  }
  const auto id = ops::find_operator(name);
  return id ? &ops::get(*id).signature : nullptr;
}

const ops::FloatEffect& float_effect(std::string_view name) {
  const bool alias = std::any_of(aliases().begin(), aliases().end(), [&](const ops::Signature& a) { return a.name == name; });
  return ops::get(ops::id_of(alias ? "full" : name)).float_effect;
}

const ops::AttributeSignature* find_attribute(const ops::Signature& signature, std::string_view name) {
  for (const ops::AttributeSignature& attribute : signature.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

bool is_generator(std::string_view name) {
  const ops::Signature* signature = find_signature(name);
  return signature != nullptr && signature->operands.empty();
}

std::optional<ir::DataType> asked_type(const Term& term, std::string_view variable) {
  if (term.kind != Term::Kind::application) return std::nullopt;
  const ops::Signature& signature = *find_signature(term.name);
  for (std::size_t k = 0; k < term.operands.size(); ++k) {
    const Term& operand = term.operands[k];
    if (operand.name == variable && operand.kind != Term::Kind::application) {
      const ops::TypeClass type_class = signature.operands[std::min(k, signature.operands.size() - 1)].type_class;
      if (type_class == ops::TypeClass::boolean) return ir::DataType::boolean;
      if (type_class == ops::TypeClass::integer || type_class == ops::TypeClass::quantized) return ir::DataType::int64;
    }
    if (const auto inner = asked_type(operand, variable)) return inner;
  }
  return std::nullopt;
}

const ir::AttributeValue* Environment::attribute(std::string_view name) const {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}

const ir::TensorType* Environment::type(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &arena_->type(found->second);
}

std::vector<ir::TensorType> Environment::types(std::string_view name) const {
  std::vector<ir::TensorType> result;
  if (const auto found = lists.find(name); found != lists.end()) {
    for (const ir::ValueId value : found->second) result.push_back(arena_->type(value));
  }
  return result;
}

Result<std::vector<ir::ValueId>> TermBuilder::build(const Term& term, ir::DataType type) {
  switch (term.kind) {
    case Term::Kind::variable: {
      const auto found = environment_.values.find(term.name);
      if (found == environment_.values.end()) return fail(ErrorCode::ill_typed, fmt::format("'{}' is not known here", term.name));
      return std::vector<ir::ValueId>{found->second};
    }
    case Term::Kind::list: {
      const auto found = environment_.lists.find(term.name);
      if (found == environment_.lists.end()) return fail(ErrorCode::ill_typed, fmt::format("list '{}' is not known here", term.name));
      return found->second;
    }
    case Term::Kind::literal: {
      XFLOW_TRY(const ir::ValueId value, literal(term.literal, type));
      return std::vector<ir::ValueId>{value};
    }
    case Term::Kind::absent:
      return std::vector<ir::ValueId>{arena_.absent()};
    case Term::Kind::application:
      break;
  }
  return application(term, type);
}

Result<std::vector<ir::ValueId>> TermBuilder::application(const Term& term, ir::DataType type) {
  const ops::Signature& signature = *find_signature(term.name);
  // Literals take the data type of the operands beside them, so those operands are built first.
  std::vector<std::vector<ir::ValueId>> built(term.operands.size());
  for (const bool literals : {false, true}) {
    for (std::size_t k = 0; k < term.operands.size(); ++k) {
      if (is_literal_like(term.operands[k]) != literals) continue;
      XFLOW_TRY(built[k], build(term.operands[k], type));
      const bool boolean = signature.operands[std::min(k, signature.operands.size() - 1)].type_class == ops::TypeClass::boolean;
      if (!literals && !boolean && !built[k].empty()) type = arena_.type(built[k][0]).data_type;
    }
  }
  std::vector<ir::ValueId> operands;
  for (const std::vector<ir::ValueId>& values : built) operands.insert(operands.end(), values.begin(), values.end());
  std::vector<ir::TensorType> types;
  types.reserve(operands.size());
  for (const ir::ValueId operand : operands) types.push_back(arena_.type(operand));

  XFLOW_CHECK(before(term, signature, types));
  XFLOW_TRY(ir::Attributes given, attributes(term, signature, types, type));
  const bool full = term.name == "zeros" || term.name == "ones";
  XFLOW_TRY(const ir::NodeId node, apply(term, ops::id_of(full ? "full" : term.name), std::move(operands), std::move(given)));
  std::vector<ir::ValueId> outputs;
  outputs.reserve(arena_.node(node).outputs.size());
  for (std::uint32_t k = 0; k < arena_.node(node).outputs.size(); ++k) outputs.push_back({node, k});
  simplify(outputs);
  return outputs;
}

Result<ir::NodeId> TermBuilder::apply(const Term& /*term*/, ir::OperatorId op, std::vector<ir::ValueId> operands,
                                      ir::Attributes attributes) {
  return ops::apply(arena_, typing_, op, std::move(operands), std::move(attributes));
}

Result<ir::Attributes> TermBuilder::attributes(const Term& term, const ops::Signature& signature, std::span<const ir::TensorType> operands,
                                               ir::DataType type) {
  ir::Attributes result;
  for (const Term::NamedExpression& attribute : term.attributes) {
    const ops::AttributeSignature& expected = *find_attribute(signature, attribute.name);
    auto value = evaluate_attribute(attribute.value, expected.kind, list_length(signature, attribute.name, operands), environment_,
                                    arena_.symbols());
    if (!value) {
      Error error = std::move(value).error();
      error.message = fmt::format("{} of {}: {}", attribute.name, term.name, error.message);
      return fail(std::move(error));
    }
    result.set(attribute.name, *std::move(value));
  }
  if (term.name == "zeros") result.set("value", ir::Real(0));
  if (term.name == "ones") result.set("value", ir::Real(1));
  const bool typed = term.name == "zeros" || term.name == "ones" || find_attribute(signature, "data_type") != nullptr;
  if (typed && signature.operands.empty() && !result.has("data_type")) result.set("data_type", type);
  return result;
}

Result<ir::ValueId> TermBuilder::literal(const ir::Real& value, ir::DataType type) {
  if (literals_ == Literals::exact) {
    ir::Attributes attributes{{"value", value}, {"shape", std::vector<ir::Poly>{}}, {"data_type", type}};
    XFLOW_TRY(const ir::NodeId node, ops::apply(arena_, typing_, ops::id_of("full"), {}, std::move(attributes)));
    return ir::ValueId{node, 0};
  }
  const auto number = value.rational();
  if (!ir::is_floating(type) && (!number || number->denominator() != 1))
    return fail(ErrorCode::ill_typed,
                fmt::format("expected an integer as the elements of {}, found {}", ir::name(type), value.to_string()));
  const double element = value.to_double();
  XFLOW_TRY(ir::Constant constant, ir::make_constant(type, {}, std::span(&element, 1)));
  return arena_.constant(std::move(constant));
}

}  // namespace xflow::rules
