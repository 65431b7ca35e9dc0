// Creates the variables of an instance and chooses the ranks, shapes and types that the rule leaves open.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/rules/instance_run.h"
#include "src/rules/instantiate.h"

namespace xflow::rules {

ir::Poly InstanceRun::dimension(const std::string& name) {
  return symbols().substitute(symbols().named(ir::SymbolKind::dimension, name), substitution_);
}

const std::string* InstanceRun::sequence_in(const Expression& e) {
  return e.kind == Expression::Kind::sequence || e.kind == Expression::Kind::ones ? &e.name : nullptr;
}

Result<void> InstanceRun::choose_sequences(const Declaration& declaration) {
  std::size_t rank = 0;
  for (const Expression& dim : declaration.dims) {
    const std::string* name = sequence_in(dim);
    if (name == nullptr) {
      ++rank;
    } else if (const ir::AttributeValue* known = environment_.attribute(*name)) {
      rank += std::get<std::vector<ir::Poly>>(*known).size();
    }
  }
  for (const Expression& dim : declaration.dims) {
    const std::string* sequence = sequence_in(dim);
    if (sequence == nullptr || environment_.attribute(*sequence) != nullptr) continue;
    if (rank > kMaxRank) break;
    const std::string& name = *sequence;
    const std::size_t length = choices_.choose("sequence " + name, kMaxRank - rank + 1);
    chosen_[name] = fmt::format("{}: {} dimension{}", name, length, length == 1 ? "" : "s");
    std::vector<ir::Poly> dims;
    dims.reserve(length);
    for (std::size_t k = 0; k < length; ++k) dims.push_back(dimension(fmt::format("{}{}", name, k)));
    environment_.attributes[name] = std::move(dims);
    rank += length;
  }
  if (rank > kMaxRank) return fail(ErrorCode::ill_typed, fmt::format("'{}' has more than {} dimensions", declaration.variable, kMaxRank));
  return {};
}

Result<void> InstanceRun::rank_guards(const Declaration& declaration) {
  if (std::none_of(rule_.guards.begin(), rule_.guards.end(), is_about_ranks)) return {};
  if (!declaration.list) {
    std::size_t rank = 0;
    for (const Expression& dim : declaration.dims) {
      const std::string* name = sequence_in(dim);
      rank += name == nullptr ? 1 : std::get<std::vector<ir::Poly>>(environment_.attributes.at(*name)).size();
    }
    environment_.values[declaration.variable] = of_rank(std::min(rank, kMaxRank));
  }
  for (const Guard& guard : rule_.guards) {
    if (!is_about_ranks(guard)) continue;
    const auto a = evaluate_integer(guard.arguments[0], environment_, symbols());
    const auto b = evaluate_integer(guard.arguments[1], environment_, symbols());
    if (a && b && holds(guard.kind, *a, *b, symbols()) == false) {
      return fail(ErrorCode::ill_typed, fmt::format("guard {} is false", print(guard)));
    }
  }
  return {};
}

bool InstanceRun::is_about_ranks(const Guard& guard) {
  return guard.value.empty() && is_rank(guard.arguments[0]) && is_rank(guard.arguments[1]);
}

ir::ValueId InstanceRun::of_rank(std::size_t rank) {
  const auto [at, added] = ranks_.try_emplace(rank);
  if (added) at->second = arena_->input({ir::DataType::float32, true, ir::Shape(rank, ir::Poly(1))}, static_cast<std::uint32_t>(rank));
  return at->second;
}

bool InstanceRun::is_rank(const Expression& e) {
  if (e.kind == Expression::Kind::number) return true;
  if (e.kind == Expression::Kind::call) return e.name == "rank";
  const bool arithmetic = e.kind == Expression::Kind::add || e.kind == Expression::Kind::subtract || e.kind == Expression::Kind::multiply ||
                          e.kind == Expression::Kind::negate;
  return arithmetic && std::all_of(e.arguments.begin(), e.arguments.end(), is_rank);
}

Result<ir::Shape> InstanceRun::declared_shape(const Declaration& declaration) {
  ir::Shape shape;
  for (std::size_t k = 0; k < declaration.dims.size(); ++k) {
    const Expression& dim = declaration.dims[k];
    if (dim.kind == Expression::Kind::optional) {
      const bool one = choices_.choose(fmt::format("optional {} of {}", k, declaration.variable), 2) == 1;
      chosen_[fmt::format("{} {}", declaration.variable, k)] =
          fmt::format("{} of {} is {}", print(dim), declaration.variable, one ? "1" : print(dim.arguments[0]));
      if (one) {
        shape.emplace_back(1);
      } else {
        XFLOW_TRY(ir::Poly size, evaluate_integer(dim.arguments[0], environment_, symbols()));
        shape.push_back(std::move(size));
      }
      continue;
    }
    XFLOW_TRY(const ir::AttributeValue value, evaluate(dim, environment_, symbols()));
    if (const auto* list = std::get_if<std::vector<ir::Poly>>(&value)) {
      shape.insert(shape.end(), list->begin(), list->end());
    } else if (const auto* integer = std::get_if<ir::Poly>(&value)) {
      shape.push_back(*integer);
    } else {
      return fail(ErrorCode::ill_typed, fmt::format("expected {} to be a dimension", print(dim)));
    }
  }
  return shape;
}

ir::DataType InstanceRun::data_type(std::string_view variable) {
  if (const Declaration* declaration = rule_.declaration(variable); declaration != nullptr && declaration->data_type) {
    return *declaration->data_type;
  }
  for (const Statement& statement : rule_.source) {
    if (const auto type = asked_type(statement.term, variable)) return *type;
  }
  if (!converts_numbers_) return ir::DataType::float32;
  static constexpr std::array kTypes = {ir::DataType::float32, ir::DataType::float64, ir::DataType::float16, ir::DataType::bfloat16};
  const ir::DataType type = kTypes[choices_.choose(fmt::format("type of {}", variable), kTypes.size())];
  chosen_[fmt::format("type of {}", variable)] = fmt::format("{}: {}", variable, ir::name(type));
  has_other_types_ = has_other_types_ || type != ir::DataType::float32;
  return type;
}

bool InstanceRun::converts_in(const Term& term) {
  const auto to_boolean = [](const Term::NamedExpression& a) { return a.name == "to" && a.value.name == ir::name(ir::DataType::boolean); };
  if (term.kind == Term::Kind::application && term.name == "cast" &&
      std::none_of(term.attributes.begin(), term.attributes.end(), to_boolean))
    return true;
  return std::any_of(term.operands.begin(), term.operands.end(), converts_in);
}

bool InstanceRun::converts_numbers(const Rule& rule) {
  const auto converts = [](const Statement& statement) { return converts_in(statement.term); };
  return std::any_of(rule.source.begin(), rule.source.end(), converts) || std::any_of(rule.target.begin(), rule.target.end(), converts);
}

Result<ir::Shape> InstanceRun::variable_shape(const std::string& variable, const std::string& element) {
  if (rule_.pointwise || guard_of(variable, Guard::Kind::is_scalar) != nullptr) return ir::Shape();
  if (const Declaration* declaration = rule_.declaration(variable)) return declared_shape(*declaration);
  const std::size_t rank = choices_.choose("rank of " + variable, kMaxRank + 1);
  chosen_[variable] = fmt::format("{}: {} dimension{}", variable, rank, rank == 1 ? "" : "s");
  ir::Shape shape;
  for (std::size_t k = 0; k < rank; ++k) shape.push_back(dimension(fmt::format("{}.{}", element, k)));
  return shape;
}

Result<void> InstanceRun::make_variables() {
  for (const auto& [name, kind] : rule_.names) {
    if (kind == NameKind::dimension) environment_.attributes[name] = dimension(name);
  }
  for (const Declaration& declaration : rule_.declarations) {
    XFLOW_CHECK(choose_sequences(declaration));
    XFLOW_CHECK(rank_guards(declaration));
  }
  environment_.values.clear();
  variables_.clear();
  variable_names_.clear();
  for (const std::string& variable : rule_.variables) {
    if (rule_.names.at(variable) == NameKind::values) {
      const std::size_t count = choices_.choose("count of " + variable, kMaxListOperands) + 1;
      chosen_["count of " + variable] = fmt::format("{}: {} operand{}", variable, count, count == 1 ? "" : "s");
      std::vector<ir::ValueId>& list = environment_.lists[variable];
      for (std::size_t k = 0; k < count; ++k) {
        XFLOW_TRY(ir::Shape shape, variable_shape(variable, fmt::format("{}{}", variable, k)));
        list.push_back(add_variable(fmt::format("{}{}", variable, k), data_type(variable), std::move(shape)));
      }
      continue;
    }
    XFLOW_TRY(ir::Shape shape, variable_shape(variable, variable));
    XFLOW_CHECK(make_variable(variable, std::move(shape)));
    if (rule_.declaration(variable) == nullptr) XFLOW_CHECK(length_guards());
  }
  return {};
}

Result<void> InstanceRun::length_guards() {
  for (const Guard& guard : rule_.guards) {
    if (!guard.value.empty()) continue;
    if (is_about_ranks(guard)) {
      const auto a = evaluate_integer(guard.arguments[0], environment_, symbols());
      const auto b = evaluate_integer(guard.arguments[1], environment_, symbols());
      if (a && b && holds(guard.kind, *a, *b, symbols()) == false)
        return fail(ErrorCode::ill_typed, fmt::format("guard {} is false", print(guard)));
      continue;
    }
    if (guard.kind != Guard::Kind::equal) continue;
    const auto a = length_of(guard.arguments[0]);
    const auto b = length_of(guard.arguments[1]);
    if (a && b && *a != *b) return fail(ErrorCode::ill_typed, fmt::format("guard {} is false", print(guard)));
  }
  return {};
}

std::optional<std::size_t> InstanceRun::length_of(const Expression& e) const {
  if (e.kind != Expression::Kind::call || e.arguments.empty()) return std::nullopt;
  if (e.name == "replace") return length_of(e.arguments[0]);
  if ((e.name != "dims" && e.name != "outer") || e.arguments[0].kind != Expression::Kind::name) return std::nullopt;
  const ir::TensorType* type = environment_.type(e.arguments[0].name);
  if (type == nullptr || !type->ranked || (e.name == "outer" && type->shape.empty())) return std::nullopt;
  return type->shape.size() - (e.name == "outer" ? 1 : 0);
}

Result<void> InstanceRun::make_variable(const std::string& variable, ir::Shape shape) {
  const ir::DataType type = data_type(variable);
  if (const Guard* guard = guard_of(variable, Guard::Kind::equals_value)) {
    // The variable equals that number everywhere, so it is not a variable of the instance.
    ops::Typing typing(symbols());
    ir::Attributes attributes{{"value", guard->arguments[0].number}, {"shape", std::move(shape)}, {"data_type", type}};
    XFLOW_TRY(const ir::NodeId node, ops::apply(*arena_, typing, ops::id_of("full"), {}, std::move(attributes)));
    environment_.values[variable] = {node, 0};
    return {};
  }
  const ir::ValueId value = add_variable(variable, type, std::move(shape));
  environment_.values[variable] = value;
  if (guard_of(variable, Guard::Kind::is_nonzero) != nullptr) value_facts_.push_back({value, ValueFact::Kind::nonzero});
  if (guard_of(variable, Guard::Kind::is_positive) != nullptr) value_facts_.push_back({value, ValueFact::Kind::positive});
  if (guard_of(variable, Guard::Kind::is_nonnegative) != nullptr) value_facts_.push_back({value, ValueFact::Kind::nonnegative});
  return {};
}

ir::ValueId InstanceRun::add_variable(std::string name, ir::DataType type, ir::Shape shape) {
  const ir::ValueId value = arena_->input({type, true, std::move(shape)}, static_cast<std::uint32_t>(variables_.size()));
  variables_.push_back(value);
  variable_names_.push_back(std::move(name));
  return value;
}

}  // namespace xflow::rules
