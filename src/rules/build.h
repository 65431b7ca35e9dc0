// Builds the terms of a rule as operations in an arena.
#pragma once

#include <xflow/error.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/rules/evaluate.h"

namespace xflow::rules {

// The signature of an operator of the rule language: the operators of src/ops, and zeros and ones, which are
// full with a fixed value. Null for an unknown name.
const ops::Signature* find_signature(std::string_view name);
// The effect of the operator `name` on floating point numbers. The operator must exist.
const ops::FloatEffect& float_effect(std::string_view name);
// The attribute `name` of an operator; null if the operator has no such attribute.
const ops::AttributeSignature* find_attribute(const ops::Signature& signature, std::string_view name);
// True for operators without operands, which make constants.
bool is_generator(std::string_view name);

// The data type that the operators reading a variable require: boolean for a condition, int64 for an index.
// Nothing if no operator requires one.
std::optional<ir::DataType> asked_type(const Term& term, std::string_view variable);

// The bindings of a rule's names in an arena: attributes, values and lists of values.
class Environment : public Scope {
 public:
  explicit Environment(const ir::Arena& arena) : arena_(&arena) {}
  const ir::AttributeValue* attribute(std::string_view name) const override;
  const ir::TensorType* type(std::string_view name) const override;
  std::vector<ir::TensorType> types(std::string_view name) const override;

  std::map<std::string, ir::AttributeValue, std::less<>> attributes;
  std::map<std::string, ir::ValueId, std::less<>> values;
  std::map<std::string, std::vector<ir::ValueId>, std::less<>> lists;

 private:
  const ir::Arena* arena_;
};

// Builds operations from terms.
class TermBuilder {
 public:
  // exact: a literal becomes an operation `full`, which keeps the exact value. rounded: a literal becomes a
  // constant, rounded once to the data type of the operands beside it.
  enum class Literals { exact, rounded };
  TermBuilder(ir::Arena& arena, ops::Typing& typing, const Environment& environment, Literals literals)
      : arena_(arena), typing_(typing), environment_(environment), literals_(literals) {}
  virtual ~TermBuilder() = default;

  // Returns the outputs of a term. `type` is the data type of literals and generated constants that have no
  // other operand beside them.
  Result<std::vector<ir::ValueId>> build(const Term& term, ir::DataType type);

 protected:
  // Called before an operation is typed. The builder of an instance's source overrides it to choose the
  // attributes that the rule leaves open.
  virtual Result<void> before(const Term& /*term*/, const ops::Signature& /*signature*/, std::span<const ir::TensorType> /*operands*/) {
    return {};
  }
  // May replace the outputs of an operation that was just added by equal values.
  virtual void simplify(std::vector<ir::ValueId>& /*outputs*/) {}
  // Adds the operation to the arena.
  virtual Result<ir::NodeId> apply(const Term& term, ir::OperatorId op, std::vector<ir::ValueId> operands, ir::Attributes attributes);

  ir::Arena& arena_;
  ops::Typing& typing_;

 private:
  Result<std::vector<ir::ValueId>> application(const Term& term, ir::DataType type);
  Result<ir::ValueId> literal(const ir::Real& value, ir::DataType type);
  Result<ir::Attributes> attributes(const Term& term, const ops::Signature& signature, std::span<const ir::TensorType> operands,
                                    ir::DataType type);

  const Environment& environment_;
  Literals literals_;
};

}  // namespace xflow::rules
