// Terms of rules as operations in an arena.
#pragma once

#include <xflow/error.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/rules/evaluate.h"

namespace xflow::rules {

// The signature of an operator of rules: those of src/ops, and zeros and ones, which are full with a value. Null where there is none.
const ops::Signature* find_signature(std::string_view name);
// What the operator of that name, which exists, does to floating point numbers.
const ops::FloatEffect& float_effect(std::string_view name);
const ops::AttributeSignature* find_attribute(const ops::Signature& signature, std::string_view name);
// True for operators without operands: they make constants.
bool is_generator(std::string_view name);

// The data type that the operators that read a variable ask for: boolean for a condition, int64 for an index. Nothing where none does.
std::optional<ir::DataType> asked_type(const Term& term, std::string_view variable);

// What the names of a rule stand for in an arena.
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

// How terms become operations.
class TermBuilder {
 public:
  // Literals become operations `full`, which keep their exact value, or constants, rounded once to the data type they are combined with.
  enum class Literals { exact, rounded };
  TermBuilder(ir::Arena& arena, ops::Typing& typing, const Environment& environment, Literals literals)
      : arena_(arena), typing_(typing), environment_(environment), literals_(literals) {}
  virtual ~TermBuilder() = default;

  // The outputs of a term. `type` is the data type of literals and generated constants that are combined with nothing else.
  Result<std::vector<ir::ValueId>> build(const Term& term, ir::DataType type);

 protected:
  // Called before an operation is typed, for each attribute that the term gives, so that instances can choose what is open.
  virtual Result<void> before(const Term& /*term*/, const ops::Signature& /*signature*/, std::span<const ir::TensorType> /*operands*/) {
    return {};
  }
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
