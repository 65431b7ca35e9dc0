// The value of an expression of a rule: dimensions, attributes and guards.
#pragma once

#include <xflow/error.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/ops/operator.h"
#include "src/rules/rule.h"

namespace xflow::rules {

// What the names of a rule stand for at one place: symbols in an instance, what was matched in a graph.
class Scope {
 public:
  virtual ~Scope() = default;
  // A dimension or an attribute variable (a polynomial, a list, a real number); a sequence (its dimensions). Null where unbound.
  virtual const ir::AttributeValue* attribute(std::string_view name) const = 0;
  // The type of a tensor. Null where unbound.
  virtual const ir::TensorType* type(std::string_view name) const = 0;
  // The types of the operands of a list. Empty where unbound.
  virtual std::vector<ir::TensorType> types(std::string_view name) const = 0;
};

// Error::ill_typed: a name that is not bound, an index out of range, a list where an integer is needed.
Result<ir::AttributeValue> evaluate(const Expression& expression, const Scope& scope, ir::Symbols& symbols);
Result<ir::Poly> evaluate_integer(const Expression& expression, const Scope& scope, ir::Symbols& symbols);

// The value of an attribute of kind `kind`. A single integer where a list is expected stands for a list of `length` such integers.
Result<ir::AttributeValue> evaluate_attribute(const Expression& expression, ops::AttributeKind kind, std::optional<std::size_t> length,
                                              const Scope& scope, ir::Symbols& symbols);

// How many elements the list attribute `attribute` of `op` has for these operands; nothing where any number will do.
std::optional<std::size_t> list_length(const ops::Signature& op, std::string_view attribute, std::span<const ir::TensorType> operands);

struct FunctionSignature {
  std::string_view name;
  int arguments;
  std::string_view meaning;
};
// The functions that expressions may call.
std::span<const FunctionSignature> functions();
// True for functions whose first argument is a tensor or a list of operands: dim, rank, dims, ...
bool takes_tensor(std::string_view function);

// Whether a relation holds: by canonical equality and by bounds of symbols. Nothing: unknown.
std::optional<bool> holds(Guard::Kind relation, const ir::Poly& a, const ir::Poly& b, const ir::Symbols& symbols);

}  // namespace xflow::rules
