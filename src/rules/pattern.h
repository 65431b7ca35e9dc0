// A rule's source compiled for matching: its operations, the conditions on their operands, and the matching
// order.
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

// The condition on an operand of a matched operation.
struct PatternOperand {
  enum class Kind : std::uint8_t {
    value,    // the value of `slot`: a variable or the output of a matched operation
    list,     // all remaining operands, as list `slot`
    literal,  // a constant whose elements all equal this number
    absent,
  };
  Kind kind = Kind::value;
  std::size_t slot = 0;
  int node = -1;  // kind value: the pattern node that defines the value, or -1 for a variable
  ir::Real literal;
};

// The condition on an attribute of a matched operation.
struct PatternAttribute {
  enum class Kind : std::uint8_t {
    fixed,       // equal to `value`
    each,        // a list whose elements all equal `value`
    bound,       // binds the name `name`, or equals its value
    list_bound,  // a list whose elements bind or equal the names in the list `expression`
    computed,    // equal to `expression`; tested when all names are bound
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

// An operation of the source.
struct PatternNode {
  ir::OperatorId op{};
  std::vector<PatternOperand> operands;
  std::vector<PatternAttribute> attributes;
  std::vector<std::size_t> outputs;       // slots
  bool any_outputs = false;               // the type rule decides the number of outputs (split)
  bool swaps = false;                     // commutative, with two operands that are not interchangeable in the rule
  bool is_root = false;                   // not an operand of another matched operation
  bool generates = false;                 // an operation without operands, which makes a constant
  std::vector<std::size_t> small_ranked;  // one-element operands; their rank must not exceed that of the others
};

// One step of matching.
struct PatternStep {
  enum class Kind : std::uint8_t {
    operands,  // match the operands of `node`, which is bound; two alternatives if the operands can swap
    find,      // find `node` among the users of the value in `slot`; one alternative per user
    given,     // `node` shares no value with the nodes before it: the caller of match() gives it
  };
  Kind kind = Kind::operands;
  int node = 0;
  std::size_t slot = 0;
};

// The conditions on a variable, besides the dimensions of its declared type.
struct PatternVariable {
  std::string name;
  bool is_list = false;
  std::size_t slot = 0;
  std::optional<ir::DataType> data_type;  // nothing: any type if any_data_type, else any floating type
  bool any_data_type = false;
  bool constant = false;  // guard const(x)
  bool scalar = false;    // guard scalar(x)
};

// A compiled source. Immutable; owns its rule.
class Pattern {
 public:
  // Whether matching finds all roots of a source from the first one, or may need them given.
  enum class Roots : std::uint8_t { found, given };
  // Compiles a rule. With Roots::found, Error::ill_typed if the source is not connected: an output that
  // shares no value with the others cannot be found.
  static Result<std::shared_ptr<const Pattern>> compile(Rule rule, Roots roots = Roots::found);

  const Rule& rule() const { return rule_; }
  ir::OperatorId root() const { return nodes_[0].op; }
  const std::vector<PatternNode>& nodes() const { return nodes_; }
  const std::vector<PatternStep>& steps() const { return steps_; }
  const std::vector<PatternVariable>& variables() const { return variables_; }
  // False if matching needs the operations given.
  bool is_connected() const { return is_connected_; }
  std::size_t slots() const { return slot_names_.size(); }
  std::size_t list_slots() const { return list_slots_; }
  const std::string& slot_name(std::size_t slot) const { return slot_names_[slot]; }
  // Pairs of roots that are interchangeable in the rule. Only one order of each pair is matched.
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
  bool is_connected_ = true;
  std::vector<std::pair<int, int>> ordered_roots_;
};

}  // namespace xflow::rules
