// Prints rules in their canonical layout.
#include <fmt/format.h>

#include "src/rules/rule.h"

namespace xflow::rules {
namespace {

// How tightly an expression binds: sums 1, products 2, signs 3, everything else 4.
int precedence(const Expression& e) {
  switch (e.kind) {
    case Expression::Kind::add:
    case Expression::Kind::subtract:
      return 1;
    case Expression::Kind::multiply:
      return 2;
    case Expression::Kind::negate:
      return 3;
    case Expression::Kind::number: {
      const auto rational = e.number.rational();
      if (rational && rational->denominator() != 1) return 2;
      return e.number.to_double() < 0 ? 3 : 4;
    }
    default:
      return 4;
  }
}

std::string print_at(const Expression& e, int least) {
  std::string text = print(e);
  return precedence(e) < least ? "(" + text + ")" : text;
}

std::string join(const std::vector<Expression>& list) {
  std::string text;
  for (const Expression& e : list) text += (text.empty() ? "" : ", ") + print(e);
  return text;
}

std::string relation(const Guard& guard, std::string_view symbol) {
  return fmt::format("{} {} {}", print(guard.arguments[0]), symbol, print(guard.arguments[1]));
}

void print_statements(std::string& text, std::string_view section, const std::vector<Statement>& statements) {
  text += fmt::format("  {}\n", section);
  for (const Statement& statement : statements) {
    std::string outputs;
    for (const std::string& output : statement.outputs) outputs += (outputs.empty() ? "" : ", ") + output;
    text += fmt::format("    {} = {}\n", outputs, print(statement.term));
  }
}

}  // namespace

std::string print(const Expression& e) {
  switch (e.kind) {
    case Expression::Kind::number:
      return e.number.to_string();
    case Expression::Kind::name:
      return e.name;
    case Expression::Kind::call:
      return fmt::format("{}({})", e.name, join(e.arguments));
    case Expression::Kind::list:
      return fmt::format("[{}]", join(e.arguments));
    case Expression::Kind::add:
      return fmt::format("{} + {}", print_at(e.arguments[0], 1), print_at(e.arguments[1], 2));
    case Expression::Kind::subtract:
      return fmt::format("{} - {}", print_at(e.arguments[0], 1), print_at(e.arguments[1], 2));
    case Expression::Kind::multiply:
      return fmt::format("{} * {}", print_at(e.arguments[0], 2), print_at(e.arguments[1], 3));
    case Expression::Kind::negate:
      return fmt::format("-{}", print_at(e.arguments[0], 3));
    case Expression::Kind::index:
      return fmt::format("{}[{}]", print_at(e.arguments[0], 4), print(e.arguments[1]));
    case Expression::Kind::sequence:
      return e.name + "..";
    case Expression::Kind::ones:
      return "1^" + e.name;
    case Expression::Kind::optional:
      return print_at(e.arguments[0], 4) + "?";
  }
  return {};
}

std::string print(const Term& term) {
  switch (term.kind) {
    case Term::Kind::variable:
      return term.name;
    case Term::Kind::list:
      return term.name + "..";
    case Term::Kind::literal:
      return term.literal.to_string();
    case Term::Kind::absent:
      return "_";
    case Term::Kind::application:
      break;
  }
  std::string arguments;
  for (const Term& operand : term.operands) arguments += (arguments.empty() ? "" : ", ") + print(operand);
  for (const Term::NamedExpression& attribute : term.attributes) {
    arguments += fmt::format("{}{}: {}", arguments.empty() ? "" : ", ", attribute.name, print(attribute.value));
  }
  return fmt::format("{}({})", term.name, arguments);
}

std::string print(const Guard& guard) {
  switch (guard.kind) {
    case Guard::Kind::equal:
      return relation(guard, "=");
    case Guard::Kind::not_equal:
      return relation(guard, "!=");
    case Guard::Kind::at_least:
      return relation(guard, ">=");
    case Guard::Kind::greater:
      return relation(guard, ">");
    case Guard::Kind::is_constant:
      return fmt::format("const({})", guard.value);
    case Guard::Kind::is_varying:
      return fmt::format("varies({})", guard.value);
    case Guard::Kind::is_scalar:
      return fmt::format("scalar({})", guard.value);
    case Guard::Kind::equals_value:
      return fmt::format("equal({}, {})", guard.value, print(guard.arguments[0]));
    case Guard::Kind::is_nonzero:
      return fmt::format("nonzero({})", guard.value);
    case Guard::Kind::is_positive:
      return fmt::format("positive({})", guard.value);
    case Guard::Kind::is_nonnegative:
      return fmt::format("nonnegative({})", guard.value);
    case Guard::Kind::is_in_range:
      return fmt::format("in_range({}, {}, {})", guard.value, print(guard.arguments[0]), print(guard.arguments[1]));
    case Guard::Kind::is_finite:
      return fmt::format("finite({})", guard.value);
    case Guard::Kind::uses_equal:
      return fmt::format("uses({}) = {}", guard.value, print(guard.arguments[0]));
  }
  return {};
}

std::string print(const Declaration& declaration) {
  std::string type = declaration.data_type ? std::string(ir::name(*declaration.data_type)) : std::string();
  return fmt::format("{}{}: {}[{}]", declaration.variable, declaration.list ? ".." : "", type, join(declaration.dims));
}

std::string print(const Rule& rule) {
  std::string text;
  for (const std::string& line : rule.comment) text += fmt::format("#{}\n", line);
  text += fmt::format("rule {}\n", rule.name);
  if (rule.claims_rounding) text += "  numbers rounding\n";
  if (!rule.declarations.empty()) text += "  with\n";
  for (const Declaration& declaration : rule.declarations) text += fmt::format("    {}\n", print(declaration));
  print_statements(text, "source", rule.source);
  print_statements(text, "target", rule.target);
  if (!rule.guards.empty()) text += "  where\n";
  for (std::size_t k = 0; k < rule.guards.size(); ++k) {
    text += fmt::format("    {}{}\n", print(rule.guards[k]), k + 1 < rule.guards.size() ? " and" : "");
  }
  return text;
}

std::string numbers_text(FloatClass float_class, const std::vector<std::string>& effects) {
  std::string text = name(float_class);
  for (const std::string& effect : effects) text += (&effect == &effects.front() ? ": " : ", ") + effect;
  return text;
}

std::string numbers_text(const Rule& rule) { return numbers_text(rule.float_class, rule.number_effects); }

std::optional<FloatClass> float_class_from_name(std::string_view text) {
  for (const FloatClass c : {FloatClass::exact, FloatClass::rounding, FloatClass::special})
    if (text == name(c)) return c;
  return std::nullopt;
}

const char* name(FloatClass float_class) {
  switch (float_class) {
    case FloatClass::exact:
      return "exact";
    case FloatClass::rounding:
      return "rounding";
    case FloatClass::special:
      return "special";
  }
  return "";
}

std::string RuleHash::to_string() const { return fmt::format("{:016x}{:016x}", words[0], words[1]); }

std::optional<RuleHash> RuleHash::parse(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  RuleHash hash;
  for (std::size_t k = 0; k < 32; ++k) {
    const char c = text[k];
    std::uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint64_t>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    hash.words[k / 16] = hash.words[k / 16] << 4 | digit;
  }
  return hash;
}

const Declaration* Rule::declaration(std::string_view variable) const {
  for (const Declaration& d : declarations) {
    if (d.variable == variable) return &d;
  }
  return nullptr;
}

}  // namespace xflow::rules
