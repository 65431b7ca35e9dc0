#include "src/ops/expr.h"

#include <fmt/format.h>

#include <cassert>
#include <cctype>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace xflow::ops {
namespace {

struct FunctionRow {
  Function function;
  int arity;
  const char* name;
};

constexpr FunctionRow kFunctions[] = {
    {Function::negate, 1, "negate"},
    {Function::reciprocal, 1, "reciprocal"},
    {Function::exp, 1, "exp"},
    {Function::log, 1, "log"},
    {Function::sqrt, 1, "sqrt"},
    {Function::sin, 1, "sin"},
    {Function::cos, 1, "cos"},
    {Function::tanh, 1, "tanh"},
    {Function::erf, 1, "erf"},
    {Function::abs, 1, "abs"},
    {Function::sign, 1, "sign"},
    {Function::floor, 1, "floor"},
    {Function::ceil, 1, "ceil"},
    {Function::round_even, 1, "round_even"},
    {Function::logical_not, 1, "not"},
    {Function::is_nan, 1, "is_nan"},
    {Function::add, 2, "add"},
    {Function::subtract, 2, "subtract"},
    {Function::multiply, 2, "multiply"},
    {Function::divide, 2, "divide"},
    {Function::integer_divide, 2, "integer_divide"},
    {Function::modulo, 2, "modulo"},
    {Function::remainder, 2, "remainder"},
    {Function::power, 2, "power"},
    {Function::minimum, 2, "minimum"},
    {Function::maximum, 2, "maximum"},
    {Function::logical_and, 2, "and"},
    {Function::logical_or, 2, "or"},
    {Function::logical_xor, 2, "xor"},
    {Function::less, 2, "less"},
    {Function::equal, 2, "equal"},
    {Function::choose, 3, "choose"},
};

const FunctionRow& row(Function function) {
  const FunctionRow& found = kFunctions[static_cast<std::size_t>(function)];
  assert(found.function == function);
  return found;
}

Expr make(ExprNode node) { return std::make_shared<const ExprNode>(std::move(node)); }

ExprNode node_of(ExprKind kind) {
  ExprNode node;
  node.kind = kind;
  return node;
}

Expr make_apply(Function function, std::vector<Expr> arguments) {
  assert(arity(function) == static_cast<int>(arguments.size()));
  ExprNode node = node_of(ExprKind::apply);
  node.function = function;
  node.arguments = std::move(arguments);
  return make(std::move(node));
}

// True if the atom is known to hold, false if it is known to fail, nothing otherwise.
std::optional<bool> decided(const ir::Symbols& symbols, const Atom& atom) {
  const auto value = atom.poly.constant();
  switch (atom.relation) {
    case Relation::at_least_zero:
      if (value) return *value >= 0;
      if (const auto bound = symbols.lower_bound(atom.poly); bound && *bound >= 0) return true;
      return std::nullopt;
    case Relation::zero:
      return value ? std::optional(*value == 0) : std::nullopt;
    case Relation::not_zero:
      return value ? std::optional(*value != 0) : std::nullopt;
  }
  return std::nullopt;
}

class Printer {
 public:
  Printer(const ir::Symbols& symbols, const std::vector<std::string>& operand_names) : symbols_(symbols), operand_names_(operand_names) {}

  // The operator of a text that binds loosest: a sum, a product, a sign, or none.
  enum Precedence { additive = 1, multiplicative = 2, unary = 3, atomic = 4 };

  std::string print(const Expr& expr, int context = additive) const {
    const auto [text, precedence] = print_node(*expr);
    return precedence < context ? "(" + text + ")" : text;
  }

 private:
  std::pair<std::string, Precedence> print_node(const ExprNode& node) const {
    switch (node.kind) {
      case ExprKind::literal: {
        std::string text = node.literal.to_string();
        const Precedence precedence = text.find('/') != std::string::npos ? multiplicative : text[0] == '-' ? unary : atomic;
        return {std::move(text), precedence};
      }
      case ExprKind::integer:
        return {symbols_.to_string(node.integer),
                (node.integer.is_constant() && node.integer.constant_term() >= 0) || node.integer.as_symbol() ? atomic : additive};
      case ExprKind::read:
        return {operand(node.operand) + (node.indices.empty() ? "" : symbols_.to_string(node.indices)), atomic};
      case ExprKind::sum:
        return {binding("sum", node), atomic};
      case ExprKind::maximum:
        return {binding("max", node), atomic};
      case ExprKind::select:
        return {fmt::format("select({}, {}, {})", condition(node.condition), print(node.arguments[0]), print(node.arguments[1])), atomic};
      case ExprKind::cast:
        return {fmt::format("cast({}, {})", print(node.arguments[0]), ir::name(node.data_type)), atomic};
      case ExprKind::apply:
        return print_apply(node);
    }
    return {"", atomic};
  }

  std::pair<std::string, Precedence> print_apply(const ExprNode& node) const {
    const auto infix = [&](const char* sign, Precedence precedence) {
      return std::pair(print(node.arguments[0], precedence) + sign + print(node.arguments[1], precedence + 1), precedence);
    };
    switch (node.function) {
      case Function::add:
        return infix(" + ", additive);
      case Function::subtract:
        return infix(" - ", additive);
      case Function::multiply:
        return infix(" * ", multiplicative);
      case Function::divide:
        return infix(" / ", multiplicative);
      case Function::negate:
        return {"-" + print(node.arguments[0], atomic), unary};
      default:
        break;
    }
    std::string list;
    for (const Expr& argument : node.arguments) list += (list.empty() ? "" : ", ") + print(argument);
    return {fmt::format("{}({})", name(node.function), list), atomic};
  }

  std::string binding(const char* word, const ExprNode& node) const {
    return fmt::format("{}({} < {}, {})", word, symbols_.to_string(ir::Poly(node.binder)), symbols_.to_string(node.extent),
                       print(node.arguments[0]));
  }

  std::string condition(const Condition& atoms) const {
    std::string text;
    for (const Atom& atom : atoms) {
      const char* relation = atom.relation == Relation::at_least_zero ? ">=" : atom.relation == Relation::zero ? "=" : "!=";
      text += fmt::format("{}{} {} 0", text.empty() ? "" : " and ", symbols_.to_string(atom.poly), relation);
    }
    return text;
  }

  std::string operand(int number) const {
    const auto at = static_cast<std::size_t>(number);
    return at < operand_names_.size() && !operand_names_[at].empty() ? operand_names_[at] : fmt::format("%{}", number);
  }

  const ir::Symbols& symbols_;
  const std::vector<std::string>& operand_names_;
};

// Renumbers fresh indices, which Symbols names HINT'NUMBER, in the order of the text.
std::string number_indices(const ir::Symbols& symbols, const std::string& text) {
  std::unordered_set<std::string> names;
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    const ir::SymbolInfo& info = symbols.info(static_cast<ir::SymbolId>(k));
    if (info.kind == ir::SymbolKind::index && info.name.find('\'') != std::string::npos) names.insert(info.name);
  }
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '\''; };
  std::unordered_map<std::string, std::string> numbered;
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    if (!in_name(text[begin])) {
      result += text[begin++];
      continue;
    }
    std::size_t end = begin;
    while (end < text.size() && in_name(text[end])) ++end;
    const std::string word = text.substr(begin, end - begin);
    begin = end;
    if (!names.contains(word)) {
      result += word;
      continue;
    }
    const auto [at, added] = numbered.try_emplace(word);
    if (added) at->second = word.substr(0, word.find('\'') + 1) + std::to_string(numbered.size());
    result += at->second;
  }
  return result;
}

}  // namespace

int arity(Function function) { return row(function).arity; }
const char* name(Function function) { return row(function).name; }

Expr Builder::literal(const ir::Real& value) {
  ExprNode node = node_of(ExprKind::literal);
  node.literal = value;
  return make(std::move(node));
}

Expr Builder::integer(const ir::Poly& value) {
  ExprNode node = node_of(ExprKind::integer);
  node.integer = value;
  return make(std::move(node));
}

Expr Builder::read(int operand, std::vector<ir::Poly> indices, std::vector<WrappedIndex> wrapped) {
  ExprNode node = node_of(ExprKind::read);
  node.operand = operand;
  node.indices = std::move(indices);
  node.wrapped = std::move(wrapped);
  return make(std::move(node));
}

namespace {

Expr bind(ir::Symbols& symbols, ExprKind kind, const ir::Poly& extent, const Builder::Body& body) {
  ExprNode node = node_of(kind);
  node.binder = symbols.fresh(ir::SymbolKind::index, "k");
  node.extent = extent;
  node.arguments = {body(ir::Poly(node.binder))};
  return make(std::move(node));
}

Expr bind_all(ir::Symbols& symbols, ExprKind kind, const std::vector<ir::Poly>& extents, std::vector<ir::Poly>& binders,
              const Builder::BodyN& body) {
  if (binders.size() == extents.size()) return body(binders);
  return bind(symbols, kind, extents[binders.size()], [&](const ir::Poly& binder) {
    binders.push_back(binder);
    return bind_all(symbols, kind, extents, binders, body);
  });
}

}  // namespace

Expr Builder::sum(const ir::Poly& extent, const Body& body) { return bind(symbols_, ExprKind::sum, extent, body); }
Expr Builder::maximum(const ir::Poly& extent, const Body& body) { return bind(symbols_, ExprKind::maximum, extent, body); }

Expr Builder::sum(const std::vector<ir::Poly>& extents, const BodyN& body) {
  std::vector<ir::Poly> binders;
  return bind_all(symbols_, ExprKind::sum, extents, binders, body);
}

Expr Builder::maximum(const std::vector<ir::Poly>& extents, const BodyN& body) {
  std::vector<ir::Poly> binders;
  return bind_all(symbols_, ExprKind::maximum, extents, binders, body);
}

Expr Builder::select(Condition condition, Expr then, Expr otherwise) {
  Condition open;
  for (Atom& atom : condition) {
    const std::optional<bool> holds = decided(symbols_, atom);
    if (!holds) {
      open.push_back(std::move(atom));
    } else if (!*holds) {
      return otherwise;
    }
  }
  if (open.empty()) return then;
  ExprNode node = node_of(ExprKind::select);
  node.condition = std::move(open);
  node.arguments = {std::move(then), std::move(otherwise)};
  return make(std::move(node));
}

Expr Builder::apply(Function function, Expr a) { return make_apply(function, {std::move(a)}); }
Expr Builder::apply(Function function, Expr a, Expr b) { return make_apply(function, {std::move(a), std::move(b)}); }
Expr Builder::apply(Function function, Expr a, Expr b, Expr c) { return make_apply(function, {std::move(a), std::move(b), std::move(c)}); }

Expr Builder::cast(ir::DataType type, Expr a) {
  ExprNode node = node_of(ExprKind::cast);
  node.data_type = type;
  node.arguments = {std::move(a)};
  return make(std::move(node));
}

ir::Poly Builder::element(int operand, std::vector<ir::Poly> indices) {
  return symbols_.element(static_cast<std::uint32_t>(operand), std::move(indices));
}

ir::Poly Builder::wrap(const WrappedIndex& index) {
  return index.size.is_zero() ? ir::Poly(0) : symbols_.mod(element(index.operand, index.at), index.size);
}

Expr operator+(const Expr& a, const Expr& b) { return make_apply(Function::add, {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return make_apply(Function::subtract, {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return make_apply(Function::multiply, {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return make_apply(Function::divide, {a, b}); }

std::string to_string(const ir::Symbols& symbols, const Expr& expr, const std::vector<std::string>& operand_names) {
  return number_indices(symbols, Printer(symbols, operand_names).print(expr));
}

std::string to_string(const ir::Symbols& symbols, std::span<const ir::Poly> index, const Expr& expr,
                      const std::vector<std::string>& operand_names) {
  return number_indices(symbols, symbols.to_string(index) + " = " + Printer(symbols, operand_names).print(expr));
}

}  // namespace xflow::ops
