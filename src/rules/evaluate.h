// Evaluates expressions of a rule: dimensions, attributes and guards.
#pragma once

#include <xflow/error.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/ops/operator.h"
#include "src/rules/rule.h"

namespace xflow::rules {

// The bindings of a rule's names: symbols in an instance, matched values in a graph.
class Scope {
 public:
  virtual ~Scope() = default;
  // The value of a dimension or an attribute variable (a polynomial, a list or a real number), or the
  // dimensions of a sequence. Null if unbound.
  virtual const ir::AttributeValue* attribute(std::string_view name) const = 0;
  // The type of a tensor. Null if unbound.
  virtual const ir::TensorType* type(std::string_view name) const = 0;
  // The types of the operands of a list. Empty if unbound.
  virtual std::vector<ir::TensorType> types(std::string_view name) const = 0;
};

// Evaluates an expression. Error::ill_typed: an unbound name, an index out of range, or a list where an
// integer is needed.
Result<ir::AttributeValue> evaluate(const Expression& expression, const Scope& scope, ir::Symbols& symbols);
Result<ir::Poly> evaluate_integer(const Expression& expression, const Scope& scope, ir::Symbols& symbols);

// Evaluates an attribute of kind `kind`. If a list is expected, a single integer stands for a list of
// `length` copies.
Result<ir::AttributeValue> evaluate_attribute(const Expression& expression, ops::AttributeKind kind, std::optional<std::size_t> length,
                                              const Scope& scope, ir::Symbols& symbols);

// The number of elements of the list attribute `attribute` of `op` for these operands. Nothing if the
// signature does not fix it.
std::optional<std::size_t> list_length(const ops::Signature& op, std::string_view attribute, std::span<const ir::TensorType> operands);

// A function of the expression language; `meaning` is its documentation.
struct FunctionSignature {
  std::string_view name;
  int arguments;
  std::string_view meaning;
};
// The functions that expressions can call.
std::span<const FunctionSignature> functions();
// True for functions whose first argument is a tensor or a list of operands: dim, rank, dims, ...
bool takes_tensor(std::string_view function);

// Decides a relation by canonical equality and by the bounds of symbols. Nothing: unknown.
std::optional<bool> holds(Guard::Kind relation, const ir::Poly& a, const ir::Poly& b, const ir::Symbols& symbols);

}  // namespace xflow::rules
