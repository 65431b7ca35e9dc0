#include "src/rules/match.h"

#include <algorithm>
#include <cmath>

#include "src/ops/operator.h"
#include "src/rules/bind.h"
#include "src/rules/constants.h"
#include "src/rules/instantiate.h"

namespace xflow::rules {
namespace {

// Runs the steps of a pattern with an explicit stack of alternatives and a trail of bindings.
class Machine {
 public:
  Machine(const Pattern& pattern, ir::Arena& arena, const ir::GraphView& uses, const MatchOptions& options)
      : pattern_(pattern),
        arena_(arena),
        uses_(uses),
        classes_(uses.classes()),
        options_(options),
        nodes_(pattern.nodes().size()),
        bound_nodes_(pattern.nodes().size(), false),
        values_(pattern.slots()),
        lists_(pattern.list_slots()) {}

  void run(ir::NodeId root, const std::function<bool(Match&)>& found) {
    if (!bind_node(0, root)) return;
    std::size_t step = 0;
    std::size_t alternative = 0;
    std::uint64_t steps = 0;
    for (;;) {
      if (options_.steps != nullptr && (*options_.steps == 0 || ++steps > options_.most_steps)) {
        *options_.is_cut = true;
        return;
      }
      if (options_.steps != nullptr) --*options_.steps;
      bool ok = true;
      if (step == pattern_.steps().size()) {
        if (!finish(found)) return;
        ok = false;  // look for the next occurrence
      } else {
        const std::size_t count = alternatives(pattern_.steps()[step]);
        if (alternative + 1 < count) choices_.push_back({step, alternative + 1, trail_.size()});
        ok = alternative < count && execute(pattern_.steps()[step], alternative);
      }
      if (ok) {
        ++step;
        alternative = 0;
        continue;
      }
      if (choices_.empty()) return;
      const Choice choice = choices_.back();
      choices_.pop_back();
      undo(choice.trail);
      step = choice.step;
      alternative = choice.alternative;
    }
  }

 private:
  struct Choice {
    std::size_t step;
    std::size_t alternative;
    std::size_t trail;
  };
  struct Bound {
    enum class Kind : std::uint8_t { node, value, list, attribute };
    Kind kind;
    std::size_t index;
  };

  void undo(std::size_t trail) {
    while (trail_.size() > trail) {
      const Bound bound = trail_.back();
      trail_.pop_back();
      switch (bound.kind) {
        case Bound::Kind::node:
          bound_nodes_[bound.index] = false;
          break;
        case Bound::Kind::value:
          values_[bound.index].reset();
          break;
        case Bound::Kind::list:
          lists_[bound.index].clear();
          break;
        case Bound::Kind::attribute:
          attributes_.pop_back();
          break;
      }
    }
  }

  std::size_t alternatives(const PatternStep& step) const {
    const PatternNode& node = pattern_.nodes()[static_cast<std::size_t>(step.node)];
    if (step.kind == PatternStep::Kind::operands) return choices_of(node, false) + (node.swaps ? choices_of(node, true) : 0);
    if (!options_.given.empty()) return 1;
    if (step.kind == PatternStep::Kind::given) return 0;
    const ir::NodeId anchor = values_[step.slot]->node;
    read(anchor);
    return uses_.contains(anchor) ? uses_.users(anchor).size() : 0;
  }

  bool execute(const PatternStep& step, std::size_t alternative) {
    const auto index = static_cast<std::size_t>(step.node);
    if (step.kind == PatternStep::Kind::operands) {
      const std::size_t unswapped = choices_of(pattern_.nodes()[index], false);
      const bool swapped = alternative >= unswapped;
      return bind_operands(index, swapped, swapped ? alternative - unswapped : alternative);
    }
    if (!options_.given.empty()) return bind_node(index, options_.given[index]);
    return bind_node(index, uses_.users(values_[step.slot]->node)[alternative]);
  }

  // The operations that can define each operand that the pattern names: all combinations of members of their
  // classes. One if values have no classes.
  std::size_t choices_of(const PatternNode& pattern, bool swapped) const {
    if (classes_ == nullptr) return 1;
    std::size_t count = 1;
    for (std::size_t k = 0; k < pattern.operands.size(); ++k) count *= members_of(pattern, k, swapped);
    return count;
  }
  std::size_t members_of(const PatternNode& pattern, std::size_t k, bool swapped) const {
    const PatternOperand& operand = pattern.operands[k];
    const auto is_same = [&](const PatternOperand& other) { return other.kind == operand.kind && other.node == operand.node; };
    const bool is_open = operand.kind == PatternOperand::Kind::value && operand.node >= 0 &&
                         !bound_nodes_[static_cast<std::size_t>(operand.node)] &&
                         std::none_of(pattern.operands.begin(), pattern.operands.begin() + static_cast<std::ptrdiff_t>(k), is_same);
    if (!is_open) return 1;
    const ir::Node& node = arena_.node(nodes_[static_cast<std::size_t>(&pattern - pattern_.nodes().data())].id);
    const std::size_t at = swapped ? 1 - k : k;
    if (at >= node.operands.size() || arena_.is_absent(node.operands[at])) return 1;
    return classes_->members(node.operands[at]).size();
  }

  void read(ir::NodeId id) const {
    if (options_.reads != nullptr) options_.reads->push_back(id);
  }

  bool bind_value(std::size_t slot, ir::ValueId value) {
    read(value.node);
    if (classes_ != nullptr) value = classes_->representative(value);
    if (values_[slot]) return *values_[slot] == value;
    values_[slot] = value;
    trail_.push_back({Bound::Kind::value, slot});
    return true;
  }

  bool bind_node(std::size_t index, ir::NodeId id) {
    const PatternNode& pattern = pattern_.nodes()[index];
    if (bound_nodes_[index]) return nodes_[index].id == id;
    if (!options_.given.empty() && options_.given[index] != id) return false;
    read(id);
    const ir::Node& node = arena_.node(id);
    if (node.kind != ir::NodeKind::operation || node.op != pattern.op || (!options_.constants && node.is_constant && !pattern.generates))
      return false;
    if (pattern.any_outputs && node.outputs.size() != pattern.outputs.size()) return false;
    if (!operand_count_fits(pattern, node)) return false;
    if (pattern.is_root && !root_fits(index, id)) return false;
    bound_nodes_[index] = true;
    nodes_[index] = {id, false};
    trail_.push_back({Bound::Kind::node, index});
    for (std::size_t k = 0; k < pattern.outputs.size(); ++k) {
      if (!bind_value(pattern.outputs[k], {id, static_cast<std::uint32_t>(k)})) return false;
    }
    return std::all_of(pattern.attributes.begin(), pattern.attributes.end(),
                       [&](const PatternAttribute& attribute) { return bind_attribute(attribute, node); });
  }
  static bool operand_count_fits(const PatternNode& pattern, const ir::Node& node) {
    const bool list = !pattern.operands.empty() && pattern.operands.back().kind == PatternOperand::Kind::list;
    if (list) return node.operands.size() >= pattern.operands.size();
    std::size_t count = pattern.operands.size();
    while (count > 0 && pattern.operands[count - 1].kind == PatternOperand::Kind::absent) --count;
    return node.operands.size() == count;
  }
  // Different roots match different operations. Interchangeable roots are matched in the order of their ids,
  // which other rewrites do not change.
  bool root_fits(std::size_t index, ir::NodeId id) const {
    for (std::size_t k = 0; k < bound_nodes_.size(); ++k) {
      if (bound_nodes_[k] && pattern_.nodes()[k].is_root && nodes_[k].id == id) return false;
    }
    return std::all_of(pattern_.ordered_roots().begin(), pattern_.ordered_roots().end(), [&](const auto& pair) {
      const auto [first, second] = pair;
      if (static_cast<std::size_t>(second) != index || !bound_nodes_[static_cast<std::size_t>(first)]) return true;
      return nodes_[static_cast<std::size_t>(first)].id < id;
    });
  }

  // `choice` is one of choices_of.
  bool bind_operands(std::size_t index, bool swapped, std::size_t choice) {
    const PatternNode& pattern = pattern_.nodes()[index];
    const ir::Node& node = arena_.node(nodes_[index].id);
    nodes_[index].swapped = swapped;
    std::vector<std::size_t> members;  // before the first operand is bound
    for (std::size_t k = 0; classes_ != nullptr && k < pattern.operands.size(); ++k) members.push_back(members_of(pattern, k, swapped));
    for (std::size_t k = 0; k < pattern.operands.size(); ++k) {
      const PatternOperand& operand = pattern.operands[k];
      if (operand.kind == PatternOperand::Kind::list) return bind_list(operand.slot, node, k);
      const std::size_t at = swapped ? 1 - k : k;
      const ir::ValueId value = at < node.operands.size() ? node.operands[at] : arena_.absent();
      ir::ValueId definition = value;
      if (classes_ != nullptr) {
        const std::size_t count = members[k];
        if (operand.kind == PatternOperand::Kind::value && operand.node >= 0 && !arena_.is_absent(value)) {
          const auto equal = classes_->members(value);
          if (equal.empty()) return false;
          definition = equal[choice % count];
        }
        choice /= count;
      }
      if (!bind_operand(operand, value, definition)) return false;
    }
    return true;
  }
  // `definition`: an equal value, the output of the operation to match.
  bool bind_operand(const PatternOperand& operand, ir::ValueId value, ir::ValueId definition) {
    switch (operand.kind) {
      case PatternOperand::Kind::absent:
        return arena_.is_absent(value);
      case PatternOperand::Kind::literal:
        return literal_fits(operand.literal, value);
      default:
        break;
    }
    if (arena_.is_absent(value)) return false;
    if (operand.node < 0) return constant_fits(operand.slot, value) && bind_value(operand.slot, value);
    const auto node = static_cast<std::size_t>(operand.node);
    if (bound_nodes_[node]) return values_[operand.slot] == value;
    if (const auto counts = counted(pattern_.nodes()[node], value)) return bind_constant(node, *counts, value);
    return bind_node(node, definition.node) && values_[operand.slot] == value;
  }
  // The operation iota that makes a stored constant, if the pattern has one in its place.
  std::optional<ir::NodeId> counted(const PatternNode& pattern, ir::ValueId value) {
    static const ir::OperatorId iota = ops::id_of("iota");
    if (pattern.op != iota || !options_.given.empty() || !counts_up(arena_, value)) return std::nullopt;
    const ir::TensorType& type = arena_.type(value);
    ops::Typing typing(arena_.symbols());
    const auto made = ops::apply(arena_, typing, iota, {}, {{"shape", type.shape}, {"data_type", type.data_type}});
    return made ? std::optional(*made) : std::nullopt;
  }
  bool bind_constant(std::size_t index, ir::NodeId counts, ir::ValueId value) {
    const PatternNode& pattern = pattern_.nodes()[index];
    bound_nodes_[index] = true;
    nodes_[index] = {counts, false, true};
    trail_.push_back({Bound::Kind::node, index});
    return bind_value(pattern.outputs[0], value) &&
           std::all_of(pattern.attributes.begin(), pattern.attributes.end(),
                       [&](const PatternAttribute& attribute) { return bind_attribute(attribute, arena_.node(counts)); });
  }
  // Pointwise rules do not depend on shapes: a tensor filled with the number matches. In other rules the
  // literal has one element.
  bool literal_fits(const ir::Real& literal, ir::ValueId value) const {
    const ir::TensorType& type = arena_.type(value);
    if (!type.ranked || !is_literal(arena_, value, literal)) return false;
    return pattern_.rule().pointwise || ir::element_count(type.shape).is_one();
  }
  bool constant_fits(std::size_t slot, ir::ValueId value) const {
    const auto variable = std::find_if(pattern_.variables().begin(), pattern_.variables().end(),
                                       [&](const PatternVariable& v) { return !v.is_list && v.slot == slot; });
    return variable == pattern_.variables().end() || !variable->constant || arena_.is_constant(value);
  }
  bool bind_list(std::size_t slot, const ir::Node& node, std::size_t first) {
    std::vector<ir::ValueId> rest(node.operands.begin() + static_cast<std::ptrdiff_t>(first), node.operands.end());
    for (const ir::ValueId value : rest) read(value.node);
    if (!lists_[slot].empty()) return lists_[slot] == rest;
    lists_[slot] = std::move(rest);
    trail_.push_back({Bound::Kind::list, slot});
    return true;
  }

  const ir::AttributeValue* attribute(std::string_view name) const {
    for (const auto& [bound, value] : attributes_) {
      if (bound == name) return &value;
    }
    return nullptr;
  }
  bool bind_name(const std::string& name, const ir::AttributeValue& value) {
    if (const ir::AttributeValue* bound = attribute(name)) return *bound == value;
    if (const auto* list = std::get_if<std::vector<ir::Poly>>(&value); list != nullptr && list->size() > kMaxRank) return false;
    // A real variable is a finite number.
    if (const auto* real = std::get_if<ir::Real>(&value); real != nullptr && !std::isfinite(real->to_double())) return false;
    attributes_.emplace_back(name, value);
    trail_.push_back({Bound::Kind::attribute, 0});
    return true;
  }
  bool bind_attribute(const PatternAttribute& pattern, const ir::Node& node) {
    const ir::AttributeValue* stored = node.attributes.find(pattern.attribute);
    if (stored == nullptr) return false;
    switch (pattern.kind) {
      case PatternAttribute::Kind::fixed:
        if (const auto* real = std::get_if<ir::Real>(stored)) {
          const ir::DataType type = node.outputs.empty() ? ir::DataType::undefined : node.outputs[0].data_type;
          return is_literal(*real, type, std::get<ir::Real>(pattern.value));
        }
        return *stored == pattern.value;
      case PatternAttribute::Kind::each: {
        const auto& list = std::get<std::vector<ir::Poly>>(*stored);
        const ir::Poly& element = std::get<ir::Poly>(pattern.value);
        return std::all_of(list.begin(), list.end(), [&](const ir::Poly& p) { return p == element; });
      }
      case PatternAttribute::Kind::bound:
        return bind_name(pattern.name, *stored);
      case PatternAttribute::Kind::list_bound: {
        const auto& list = std::get<std::vector<ir::Poly>>(*stored);
        const std::vector<Expression>& names = pattern.expression->arguments;
        if (list.size() != names.size()) return false;
        for (std::size_t k = 0; k < list.size(); ++k) {
          if (!bind_name(names[k].name, ir::AttributeValue(list[k]))) return false;
        }
        return true;
      }
      case PatternAttribute::Kind::computed:
        return true;  // tested when all names are bound
    }
    return false;
  }

  // Completes an occurrence and reports it. False if the search must stop.
  bool finish(const std::function<bool(Match&)>& found) {
    Match result{&pattern_, Environment(arena_), {}, {}};
    for (std::size_t slot = 0; slot < values_.size(); ++slot) {
      if (!pattern_.slot_name(slot).empty() && values_[slot]) result.environment.values[pattern_.slot_name(slot)] = *values_[slot];
    }
    for (const PatternVariable& variable : pattern_.variables()) {
      if (variable.is_list) result.environment.lists[variable.name] = lists_[variable.slot];
    }
    for (const auto& [name, value] : attributes_) result.environment.attributes.insert_or_assign(std::string(name), value);
    if (!bind_types(pattern_, arena_, uses_, nodes_, options_, result.environment)) return true;
    for (const std::string& output : pattern_.rule().outputs) result.outputs.push_back(result.environment.values.at(output));
    for (const MatchedNode& node : nodes_) {
      if (node.is_stored) continue;
      if (std::find(result.nodes.begin(), result.nodes.end(), node.id) == result.nodes.end()) result.nodes.push_back(node.id);
    }
    return found(result);
  }

  const Pattern& pattern_;
  ir::Arena& arena_;
  const ir::GraphView& uses_;
  const ir::ValueClasses* classes_;
  const MatchOptions& options_;
  std::vector<MatchedNode> nodes_;
  std::vector<bool> bound_nodes_;
  std::vector<std::optional<ir::ValueId>> values_;
  std::vector<std::vector<ir::ValueId>> lists_;
  std::vector<std::pair<std::string_view, ir::AttributeValue>> attributes_;
  std::vector<Bound> trail_;
  std::vector<Choice> choices_;
};

}  // namespace

void match(const Pattern& pattern, ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
           const std::function<bool(Match&)>& found) {
  const ir::Node& node = arena.node(root);
  if (node.kind != ir::NodeKind::operation || node.op != pattern.root() || node.is_constant != options.constants) return;
  if (options.exact_only && pattern.rule().float_class != FloatClass::exact) return;
  Machine(pattern, arena, uses, options).run(root, found);
}

}  // namespace xflow::rules
