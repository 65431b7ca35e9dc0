// A rule's source compiled for matching: operations, what their operands must be, and the order in which they are looked for.
#pragma once

#include <xflow/error.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/operator.h"
#include "src/rules/rule.h"

namespace xflow::rules {

// What an operand of a matched operation must be.
struct PatternOperand {
  enum class Kind : std::uint8_t {
    value,    // slot: a variable or the output of a matched operation
    list,     // slot of lists: all remaining operands
    literal,  // a constant that is this number everywhere
    absent,
  };
  Kind kind = Kind::value;
  std::size_t slot = 0;
  int node = -1;  // kind value: the operation whose output it is, or -1 for a variable
  ir::Real literal;
};

// What an attribute of a matched operation must be.
struct PatternAttribute {
  enum class Kind : std::uint8_t {
    fixed,       // equal to `value`
    each,        // a list of which each element is `value`
    bound,       // binds or equals the name `name`
    list_bound,  // a list that binds or equals its elements: names[k], or values where the name is empty
    computed,    // equal to `expression`, tested when all names are bound
  };
  Kind kind = Kind::fixed;
  std::string_view attribute;
  ops::AttributeKind attribute_kind{};
  bool axis = false;         // an axis or a set of axes of operand 0
  bool permutation = false;  // an order of the dimensions of operand 0
  ir::AttributeValue value;
  std::string name;
  const Expression* expression = nullptr;
};

struct PatternNode {
  ir::OperatorId op{};
  std::vector<PatternOperand> operands;
  std::vector<PatternAttribute> attributes;
  std::vector<std::size_t> outputs;       // slots
  bool any_outputs = false;               // the operator has as many outputs as its type rule says (split)
  bool swaps = false;                     // commutative, of two operands that are not interchangeable in the rule
  bool is_root = false;                   // no operand of another matched operation
  bool generates = false;                 // a constant, as operations without operands do
  std::vector<std::size_t> small_ranked;  // operands of one element: their rank must not be above that of the others
};

// One step of matching.
struct PatternStep {
  enum class Kind : std::uint8_t {
    operands,  // the operands of `node`, which is bound; two alternatives where it swaps
    find,      // `node` among the users of the value in `slot`; an alternative a user
  };
  Kind kind = Kind::operands;
  int node = 0;
  std::size_t slot = 0;
};

// What a variable must be, besides its declared type.
struct PatternVariable {
  std::string name;
  bool is_list = false;
  std::size_t slot = 0;
  std::optional<ir::DataType> data_type;  // nothing: any, or any floating type
  bool any_data_type = false;
  bool constant = false;  // guard const(x)
  bool scalar = false;    // guard scalar(x)
};

// Immutable; holds its rule.
class Pattern {
 public:
  // Error::ill_typed where the source is not connected: an output that shares no value with the others cannot be found.
  static Result<std::shared_ptr<const Pattern>> compile(Rule rule);

  const Rule& rule() const { return rule_; }
  ir::OperatorId root() const { return nodes_[0].op; }
  const std::vector<PatternNode>& nodes() const { return nodes_; }
  const std::vector<PatternStep>& steps() const { return steps_; }
  const std::vector<PatternVariable>& variables() const { return variables_; }
  std::size_t slots() const { return slot_names_.size(); }
  std::size_t list_slots() const { return list_slots_; }
  const std::string& slot_name(std::size_t slot) const { return slot_names_[slot]; }
  // Pairs of roots that are interchangeable in the rule: one order is looked for.
  const std::vector<std::pair<int, int>>& ordered_roots() const { return ordered_roots_; }

 private:
  friend class PatternCompiler;
  explicit Pattern(Rule rule) : rule_(std::move(rule)) {}

  Rule rule_;
  std::vector<PatternNode> nodes_;
  std::vector<PatternStep> steps_;
  std::vector<PatternVariable> variables_;
  std::vector<std::string> slot_names_;  // empty for values without a name
  std::size_t list_slots_ = 0;
  std::vector<std::pair<int, int>> ordered_roots_;
};

}  // namespace xflow::rules
