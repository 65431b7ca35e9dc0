// The type check of a rule: finds the kind of each name and checks that operators, attributes and guards are
// well formed.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/ops/operator.h"
#include "src/rules/build.h"
#include "src/rules/evaluate.h"
#include "src/rules/rule.h"
#include "src/rules/rule_kinds.h"
#include "src/rules/similar_operators.h"

namespace xflow::rules {
namespace {

std::string_view describe(NameKind kind) {
  switch (kind) {
    case NameKind::value:
      return "a tensor";
    case NameKind::values:
      return "a list of operands";
    case NameKind::dimension:
      return "a dimension";
    case NameKind::sequence:
      return "a sequence of dimensions";
    case NameKind::integer:
      return "an integer";
    case NameKind::integers:
      return "a list of integers";
    case NameKind::real:
      return "a real number";
  }
  return "";
}

class Checker {
 public:
  explicit Checker(Rule& rule) : rule_(rule) {}

  Result<void> run() {
    for (const Statement& statement : rule_.source) XFLOW_CHECK(source_statement(statement));
    XFLOW_CHECK(declarations());
    XFLOW_CHECK(bind_attributes());
    for (const Statement& statement : rule_.source) XFLOW_CHECK(attribute_names(statement.term));
    source_defined_ = defined_;
    XFLOW_CHECK(target_outputs());
    defined_.clear();
    for (const Statement& statement : rule_.target) XFLOW_CHECK(target_statement(statement));
    for (const Guard& guard : rule_.guards) XFLOW_CHECK(check_guard(guard));
    XFLOW_CHECK(bound_dimensions());
    find_kinds(rule_);
    return {};
  }

 private:
  Unexpected error(Place place, std::string message) const {
    return fail(ErrorCode::ill_typed, std::move(message), place_text(rule_.file, place));
  }

  Result<void> define(const std::string& name, NameKind kind, Place place) {
    const auto [at, fresh] = rule_.names.emplace(name, kind);
    if (!fresh && at->second != kind) {
      return error(place, fmt::format("'{}' is {} and {}", name, describe(at->second), describe(kind)));
    }
    return {};
  }

  // Checks the operators of a source statement and finds the names of tensors.
  Result<void> source_statement(const Statement& statement) {
    if (statement.term.kind != Term::Kind::application) {
      return error(statement.term.place, "expected an operator: a source statement is 'y = OPERATOR(...)'");
    }
    if (is_generator(statement.term.name)) {
      return error(statement.term.place,
                   fmt::format("{} generates a constant; in the source it is an operand beside others", statement.term.name));
    }
    XFLOW_CHECK(source_term(statement.term));
    return outputs_of(statement);
  }
  Result<void> outputs_of(const Statement& statement) {
    const ops::Signature& signature = *find_signature(statement.term.name);
    const auto count = static_cast<int>(statement.outputs.size());
    if (signature.outputs >= 0 && signature.outputs != count) {
      return error(statement.place, fmt::format("expected {} output{} of {}, found {}", signature.outputs,
                                                signature.outputs == 1 ? "" : "s", signature.name, count));
    }
    for (const std::string& output : statement.outputs) {
      if (defined_.contains(output)) return error(statement.place, fmt::format("'{}' is already defined", output));
      if (std::find(rule_.variables.begin(), rule_.variables.end(), output) != rule_.variables.end()) {
        return error(statement.place, fmt::format("'{}' is used before it is defined", output));
      }
      XFLOW_CHECK(define(output, NameKind::value, statement.place));
      defined_.insert(output);
    }
    return {};
  }

  Result<void> check_operator(const Term& term) {
    const ops::Signature* signature = find_signature(term.name);
    if (signature == nullptr) return error(term.place, fmt::format("unknown operator '{}'{}", term.name, similar_operators(term.name)));
    const auto& operands = signature->operands;
    const bool variadic = !operands.empty() && operands.back().variadic;
    const auto required =
        static_cast<std::size_t>(std::count_if(operands.begin(), operands.end(), [](const auto& o) { return !o.optional; }));
    if (term.operands.size() < required || (term.operands.size() > operands.size() && !variadic)) {
      std::string expected = std::to_string(required);
      if (variadic) expected = fmt::format("at least {}", required);
      if (!variadic && required != operands.size()) expected = fmt::format("{} to {}", required, operands.size());
      return error(term.place, fmt::format("expected {} operand{} of {}, found {}", expected,
                                           expected == "1" || expected == "at least 1" ? "" : "s", term.name, term.operands.size()));
    }
    for (std::size_t k = 0; k < term.operands.size(); ++k) {
      const Term& operand = term.operands[k];
      if (operand.kind == Term::Kind::list && !(variadic && k + 1 >= operands.size())) {
        return error(operand.place, fmt::format("{} takes no list of operands here", term.name));
      }
      if (operand.kind == Term::Kind::list && k + 1 != term.operands.size()) {
        return error(operand.place, "a list of operands must be the last operand");
      }
      if (operand.kind == Term::Kind::absent && !operands[std::min(k, operands.size() - 1)].optional) {
        return error(operand.place, fmt::format("operand {} of {} is not optional", k + 1, term.name));
      }
    }
    return check_attributes(term, *signature);
  }
  Result<void> check_attributes(const Term& term, const ops::Signature& signature) {
    for (std::size_t k = 0; k < term.attributes.size(); ++k) {
      const Term::NamedExpression& attribute = term.attributes[k];
      if (find_attribute(signature, attribute.name) == nullptr) {
        std::string known;
        for (const ops::AttributeSignature& a : signature.attributes) known += fmt::format("{}{}", known.empty() ? "" : ", ", a.name);
        return error(attribute.place,
                     fmt::format("unknown attribute '{}' of {}, expected {}", attribute.name, term.name, known.empty() ? "none" : known));
      }
      for (std::size_t j = 0; j < k; ++j) {
        if (term.attributes[j].name == attribute.name) {
          return error(attribute.place, fmt::format("attribute '{}' is given twice", attribute.name));
        }
      }
    }
    for (const ops::AttributeSignature& a : signature.attributes) {
      const bool given = std::any_of(term.attributes.begin(), term.attributes.end(), [&](const auto& t) { return t.name == a.name; });
      if (!given && !a.default_value) return error(term.place, fmt::format("expected attribute '{}' of {}", a.name, term.name));
    }
    return {};
  }

  Result<void> source_term(const Term& term) {
    switch (term.kind) {
      case Term::Kind::literal:
      case Term::Kind::absent:
        return {};
      case Term::Kind::variable:
      case Term::Kind::list: {
        const NameKind kind = term.kind == Term::Kind::list ? NameKind::values : NameKind::value;
        XFLOW_CHECK(define(term.name, kind, term.place));
        if (!defined_.contains(term.name) &&
            std::find(rule_.variables.begin(), rule_.variables.end(), term.name) == rule_.variables.end()) {
          rule_.variables.push_back(term.name);
        }
        return {};
      }
      case Term::Kind::application:
        break;
    }
    XFLOW_CHECK(check_operator(term));
    bool tensor = false;
    for (const Term& operand : term.operands) {
      const bool generated = operand.kind == Term::Kind::application && is_generator(operand.name);
      tensor = tensor || operand.kind == Term::Kind::variable || operand.kind == Term::Kind::list ||
               (operand.kind == Term::Kind::application && !generated);
      XFLOW_CHECK(source_term(operand));
    }
    if (!tensor && !is_generator(term.name))
      return error(term.place, fmt::format("expected an operand of {} that is not a number", term.name));
    const ops::Signature& signature = *find_signature(term.name);
    for (const Term::NamedExpression& attribute : term.attributes) {
      pending_.push_back({&attribute.value, find_attribute(signature, attribute.name)->kind});
    }
    return {};
  }

  // Names in declared types are dimensions and sequences.
  Result<void> declarations() {
    std::set<std::string> seen;
    for (const Declaration& declaration : rule_.declarations) {
      const auto found = rule_.names.find(declaration.variable);
      const NameKind kind = declaration.list ? NameKind::values : NameKind::value;
      if (found == rule_.names.end() || found->second != kind || defined_.contains(declaration.variable)) {
        return error(declaration.place, fmt::format("'{}' is not a variable of the source", declaration.variable));
      }
      if (!seen.insert(declaration.variable).second) {
        return error(declaration.place, fmt::format("'{}' has a type already", declaration.variable));
      }
      for (const Expression& dim : declaration.dims) XFLOW_CHECK(dimension_names(dim));
    }
    return {};
  }
  Result<void> dimension_names(const Expression& e) {
    switch (e.kind) {
      case Expression::Kind::number: {
        const auto value = e.number.rational();
        if (!value || value->denominator() != 1) return error(e.place, "expected an integer");
        return {};
      }
      case Expression::Kind::sequence:
      case Expression::Kind::ones:
        return define(e.name, NameKind::sequence, e.place);
      case Expression::Kind::name:
        return define(e.name, NameKind::dimension, e.place);
      case Expression::Kind::call:
        if (!is_function(e)) return unknown_function(e);
        if (takes_tensor(e.name) && e.arguments[0].kind == Expression::Kind::name) {
          for (std::size_t k = 1; k < e.arguments.size(); ++k) XFLOW_CHECK(dimension_names(e.arguments[k]));
          return {};
        }
        break;
      default:
        break;
    }
    for (const Expression& argument : e.arguments) XFLOW_CHECK(dimension_names(argument));
    return {};
  }

  // A bare name as an attribute of the source binds the name, unless it is already a dimension.
  Result<void> bind_attributes() {
    for (const auto& [expression, kind] : pending_) {
      if (expression->kind == Expression::Kind::name) {
        if (kind == ops::AttributeKind::word || kind == ops::AttributeKind::data_type) continue;
        if (const auto found = rule_.names.find(expression->name); found != rule_.names.end() && found->second == NameKind::dimension)
          continue;
        const NameKind bound = kind == ops::AttributeKind::integer    ? NameKind::integer
                               : kind == ops::AttributeKind::integers ? NameKind::integers
                                                                      : NameKind::real;
        XFLOW_CHECK(define(expression->name, bound, expression->place));
      }
      if (expression->kind == Expression::Kind::list && kind == ops::AttributeKind::integers) {
        for (const Expression& element : expression->arguments) {
          if (element.kind != Expression::Kind::name) continue;
          const auto found = rule_.names.find(element.name);
          if (found != rule_.names.end() && (found->second == NameKind::dimension || found->second == NameKind::integers)) continue;
          XFLOW_CHECK(define(element.name, NameKind::integer, element.place));
        }
      }
    }
    return {};
  }

  // Checks that every name inside attributes is known.
  Result<void> attribute_names(const Term& term) {
    for (const Term& operand : term.operands) XFLOW_CHECK(attribute_names(operand));
    if (term.kind != Term::Kind::application) return {};
    const ops::Signature& signature = *find_signature(term.name);
    for (const Term::NamedExpression& attribute : term.attributes) {
      const ops::AttributeKind kind = find_attribute(signature, attribute.name)->kind;
      if (attribute.value.kind == Expression::Kind::name && !rule_.names.contains(attribute.value.name)) {
        if (kind == ops::AttributeKind::word) continue;
        if (kind == ops::AttributeKind::data_type) {
          if (ir::data_type_from_name(attribute.value.name)) continue;
          return error(attribute.value.place, fmt::format("'{}' is not a data type", attribute.value.name));
        }
      }
      XFLOW_CHECK(known_names(attribute.value));
    }
    return {};
  }

  static bool is_function(const Expression& e) {
    return std::any_of(functions().begin(), functions().end(),
                       [&](const FunctionSignature& f) { return f.name == e.name && f.arguments == static_cast<int>(e.arguments.size()); });
  }
  Unexpected unknown_function(const Expression& e) const {
    for (const FunctionSignature& f : functions()) {
      if (f.name == e.name) {
        return error(e.place, fmt::format("expected {} argument{} of {}, found {}", f.arguments, f.arguments == 1 ? "" : "s", f.meaning,
                                          e.arguments.size()));
      }
    }
    return error(e.place, fmt::format("unknown function '{}'", e.name));
  }

  Result<void> known_names(const Expression& e) {
    if (e.kind == Expression::Kind::optional) {
      return error(e.place, fmt::format("{} has a meaning in declared types only; use dim(x, i) or elements(x)", print(e)));
    }
    if (e.kind == Expression::Kind::call) {
      if (!is_function(e)) return unknown_function(e);
      if (takes_tensor(e.name)) {
        const Expression& tensor = e.arguments[0];
        const auto found = rule_.names.find(tensor.name);
        const bool list = e.name == "count" || e.name == "dims_at";
        const bool fits =
            tensor.kind == Expression::Kind::name && found != rule_.names.end() &&
            (found->second == (list ? NameKind::values : NameKind::value) || (e.name == "rank" && found->second == NameKind::sequence));
        if (!fits) return error(tensor.place, fmt::format("expected {} of {}", list ? "a list of operands" : "a tensor", e.name));
        for (std::size_t k = 1; k < e.arguments.size(); ++k) XFLOW_CHECK(known_names(e.arguments[k]));
        return {};
      }
    }
    if (e.kind == Expression::Kind::name || e.kind == Expression::Kind::sequence || e.kind == Expression::Kind::ones) {
      const auto found = rule_.names.find(e.name);
      if (found == rule_.names.end()) return error(e.place, fmt::format("'{}' is not bound by the source or its declared types", e.name));
      const bool sequence = found->second == NameKind::sequence;
      if (found->second == NameKind::value || found->second == NameKind::values || sequence != (e.kind != Expression::Kind::name)) {
        const bool tensor = found->second == NameKind::value;
        return error(e.place, tensor
                                  ? fmt::format("'{0}' is a tensor, which is not allowed here; use dim({0}, 0) or rank({0}) for a number, "
                                                "and nonnegative({0}), positive({0}) or nonzero({0}) for a guard on its elements",
                                                e.name)
                                  : fmt::format("'{}' is {}, which is not allowed here", e.name, describe(found->second)));
      }
    }
    for (const Expression& argument : e.arguments) XFLOW_CHECK(known_names(argument));
    return {};
  }

  Result<void> target_outputs() {
    std::set<std::string> target;
    for (const Statement& statement : rule_.target) target.insert(statement.outputs.begin(), statement.outputs.end());
    for (const Statement& statement : rule_.source) {
      for (const std::string& output : statement.outputs) {
        if (target.contains(output)) rule_.outputs.push_back(output);
      }
    }
    if (rule_.outputs.empty()) return error(rule_.place, "no output: source and target define no name in common");
    return {};
  }

  Result<void> target_statement(const Statement& statement) {
    XFLOW_CHECK(target_term(statement.term));
    if (statement.term.kind == Term::Kind::application) {
      XFLOW_CHECK(outputs_of(statement));
    } else {
      if (statement.term.kind != Term::Kind::variable) {
        return error(statement.term.place, "expected an operator or a variable; use full(shape: ..., value: ...) for a constant");
      }
      if (statement.outputs.size() != 1) return error(statement.place, "expected one output");
      if (!defined_.insert(statement.outputs[0]).second) {
        return error(statement.place, fmt::format("'{}' is already defined", statement.outputs[0]));
      }
      XFLOW_CHECK(define(statement.outputs[0], NameKind::value, statement.place));
    }
    return {};
  }
  Result<void> target_term(const Term& term) {
    if (term.kind == Term::Kind::literal || term.kind == Term::Kind::absent) return {};
    if (term.kind == Term::Kind::variable || term.kind == Term::Kind::list) {
      const NameKind kind = term.kind == Term::Kind::list ? NameKind::values : NameKind::value;
      const bool variable = std::find(rule_.variables.begin(), rule_.variables.end(), term.name) != rule_.variables.end();
      const bool output = std::find(rule_.outputs.begin(), rule_.outputs.end(), term.name) != rule_.outputs.end();
      const bool inner = source_defined_.contains(term.name) && !output;
      if (const auto known = rule_.names.find(term.name); known != rule_.names.end() && known->second == NameKind::dimension)
        return error(term.place, fmt::format("'{}' is {}, not a tensor", term.name, describe(known->second)));
      if (!variable && !inner && !defined_.contains(term.name)) {
        return error(term.place, output ? fmt::format("'{}' is used before it is defined", term.name)
                                        : fmt::format("'{}' is not bound by the source", term.name));
      }
      if (rule_.names.at(term.name) != kind) {
        return error(term.place, fmt::format("'{}' is {}", term.name, describe(rule_.names.at(term.name))));
      }
      return {};
    }
    XFLOW_CHECK(check_operator(term));
    for (const Term& operand : term.operands) XFLOW_CHECK(target_term(operand));
    return attribute_names_of(term);
  }
  Result<void> attribute_names_of(const Term& term) {
    Term shallow;
    shallow.kind = term.kind;
    shallow.name = term.name;
    shallow.attributes = term.attributes;
    return attribute_names(shallow);
  }

  Result<void> check_guard(const Guard& guard) {
    for (const Expression& e : guard.arguments) XFLOW_CHECK(known_names(e));
    if (guard.value.empty()) return {};
    const auto found = rule_.names.find(guard.value);
    const bool bound = found != rule_.names.end() && (found->second == NameKind::value || found->second == NameKind::values);
    const bool variable = std::find(rule_.variables.begin(), rule_.variables.end(), guard.value) != rule_.variables.end();
    if (guard.kind == Guard::Kind::uses_equal) {
      if (bound && (variable || source_defined_.contains(guard.value))) return {};
      return error(guard.place, fmt::format("'{}' is not a value of the source", guard.value));
    }
    if (!bound || !variable) return error(guard.place, fmt::format("'{}' is not a variable of the source", guard.value));
    if (guard.kind == Guard::Kind::is_scalar && rule_.declaration(guard.value) != nullptr) {
      return error(guard.place, fmt::format("'{}' has a declared type; scalar({}) takes any rank", guard.value, guard.value));
    }
    if (guard.kind == Guard::Kind::is_in_range) {
      const Declaration* declaration = rule_.declaration(guard.value);
      if (declaration == nullptr || declaration->list || !declaration->data_type || !ir::is_integer(*declaration->data_type)) {
        return error(guard.place,
                     fmt::format("expected '{}' to have a declared type of integers, as in {}: int64[K]", guard.value, guard.value));
      }
    }
    if (guard.kind == Guard::Kind::equals_value && guard.arguments[0].kind != Expression::Kind::number) {
      return error(guard.arguments[0].place, "expected a number");
    }
    return {};
  }

  // Checks that matching can find each dimension of a declared type: the name occurs alone in some type or
  // attribute, also as N?, or it is the only unknown of a dimension.
  Result<void> bound_dimensions() {
    std::set<std::string, std::less<>> bound;
    for (const auto& [expression, kind] : pending_) {
      if (expression->kind == Expression::Kind::name) bound.insert(expression->name);
      for (const Expression& element : expression->arguments) {
        if (expression->kind == Expression::Kind::list && element.kind == Expression::Kind::name) bound.insert(element.name);
      }
    }
    for (bool progress = true; progress;) {
      progress = false;
      for (const Declaration& declaration : rule_.declarations) {
        for (const Expression& dim : declaration.dims) {
          std::set<std::string> open;
          if (dim.kind != Expression::Kind::optional) open_names(dim, bound, open);
          if (open.size() == 1) progress = bound.insert(*open.begin()).second || progress;
        }
      }
    }
    // Matching finds N from N?: the size that is not 1, or 1.
    for (const Declaration& declaration : rule_.declarations)
      for (const Expression& dim : declaration.dims)
        if (dim.kind == Expression::Kind::optional && dim.arguments[0].kind == Expression::Kind::name) bound.insert(dim.arguments[0].name);
    for (const auto& [name, kind] : rule_.names) {
      if (kind == NameKind::dimension && !bound.contains(name)) {
        return error(rule_.place, fmt::format("dimension '{}' cannot be found from the types of the variables", name));
      }
    }
    return {};
  }
  void open_names(const Expression& e, const std::set<std::string, std::less<>>& bound, std::set<std::string>& open) const {
    if (e.kind == Expression::Kind::name && !bound.contains(e.name)) open.insert(e.name);
    if (e.kind == Expression::Kind::call && takes_tensor(e.name)) return;
    for (const Expression& argument : e.arguments) open_names(argument, bound, open);
  }

  struct PendingAttribute {
    const Expression* expression;
    ops::AttributeKind kind;
  };

  Rule& rule_;
  std::set<std::string, std::less<>> defined_;
  std::set<std::string, std::less<>> source_defined_;
  std::vector<PendingAttribute> pending_;
};

}  // namespace

Result<void> check(Rule& rule, std::span<const ClassifiedRule> classified) {
  XFLOW_CHECK(Checker(rule).run());
  return find_float_class(rule, classified);
}

Result<void> check_as(const Rule& member, Rule& rule) {
  XFLOW_CHECK(Checker(rule).run());
  rule.float_class = member.float_class;
  rule.number_effects = member.number_effects;
  return {};
}

}  // namespace xflow::rules
