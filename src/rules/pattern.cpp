#include "src/rules/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/rules/build.h"
#include "src/rules/evaluate.h"

namespace xflow::rules {
namespace {

// A scope without bindings: only literals can be evaluated in it.
class NoScope : public Scope {
 public:
  const ir::AttributeValue* attribute(std::string_view) const override { return nullptr; }
  const ir::TensorType* type(std::string_view) const override { return nullptr; }
  std::vector<ir::TensorType> types(std::string_view) const override { return {}; }
};

void count_variables(const Term& term, std::map<std::string, int>& counts) {
  if (term.kind == Term::Kind::variable || term.kind == Term::Kind::list) ++counts[term.name];
  for (const Term& operand : term.operands) count_variables(operand, counts);
}

}  // namespace

class PatternCompiler {
 public:
  PatternCompiler(Pattern& pattern, Pattern::Roots given) : pattern_(pattern), rule_(pattern.rule_), given_(given) {}

  Result<void> run() {
    for (const Statement& statement : rule_.source) count_variables(statement.term, uses_);
    for (const std::string& variable : rule_.variables) add_variable(variable);
    statement_nodes_.assign(rule_.source.size(), -1);
    for (std::size_t k = 0; k < rule_.source.size(); ++k) {
      for (const std::string& output : rule_.source[k].outputs) definitions_[output] = k;
    }
    for (const std::size_t k : roots()) {
      XFLOW_TRY(const int node, statement_node(k));
      pattern_.nodes_[static_cast<std::size_t>(node)].is_root = true;
      root_nodes_.push_back(node);
      root_statements_.push_back(k);
    }
    XFLOW_CHECK(order());
    std::vector<std::string> shapes;
    shapes.reserve(root_nodes_.size());
    for (const std::size_t k : root_statements_) shapes.push_back(shape_of(rule_.source[k].term));
    for (std::size_t i = 0; i < root_nodes_.size(); ++i) {
      for (std::size_t j = i + 1; j < root_nodes_.size(); ++j)
        if (shapes[i] == shapes[j]) pattern_.ordered_roots_.emplace_back(root_nodes_[i], root_nodes_[j]);
    }
    return {};
  }

 private:
  std::size_t new_slot(std::string name) {
    pattern_.slot_names_.push_back(std::move(name));
    return pattern_.slot_names_.size() - 1;
  }

  void add_variable(const std::string& name) {
    PatternVariable variable;
    variable.name = name;
    variable.is_list = rule_.names.at(name) == NameKind::values;
    variable.slot = variable.is_list ? pattern_.list_slots_++ : new_slot(name);
    variable.any_data_type = rule_.moves_data;
    if (const Declaration* declaration = rule_.declaration(name)) variable.data_type = declaration->data_type;
    if (!variable.data_type) variable.data_type = asked_type(name);
    for (const Guard& guard : rule_.guards) {
      if (guard.value != name) continue;
      variable.constant = variable.constant || guard.kind == Guard::Kind::is_constant;
      variable.scalar = variable.scalar || guard.kind == Guard::Kind::is_scalar;
    }
    variable_index_[name] = pattern_.variables_.size();
    pattern_.variables_.push_back(std::move(variable));
  }
  std::optional<ir::DataType> asked_type(const std::string& variable) const {
    for (const Statement& statement : rule_.source) {
      if (const auto type = rules::asked_type(statement.term, variable)) return type;
    }
    return std::nullopt;
  }

  // The statements whose outputs no other statement reads, in source order.
  std::vector<std::size_t> roots() const {
    std::vector<std::size_t> result;
    for (std::size_t k = 0; k < rule_.source.size(); ++k) {
      const auto& outputs = rule_.source[k].outputs;
      if (std::none_of(outputs.begin(), outputs.end(), [&](const std::string& o) { return uses_.contains(o); })) result.push_back(k);
    }
    return result;
  }

  Result<int> statement_node(std::size_t k) {
    if (statement_nodes_[k] >= 0) return statement_nodes_[k];
    const Statement& statement = rule_.source[k];
    XFLOW_TRY(const int node, add_node(statement.term));
    statement_nodes_[k] = node;
    PatternNode& added = pattern_.nodes_[static_cast<std::size_t>(node)];
    for (std::size_t j = 0; j < statement.outputs.size(); ++j) {
      if (j < added.outputs.size()) {
        pattern_.slot_names_[added.outputs[j]] = statement.outputs[j];
      } else {
        added.outputs.push_back(new_slot(statement.outputs[j]));
      }
    }
    return node;
  }

  Result<int> add_node(const Term& term) {
    const auto index = static_cast<int>(pattern_.nodes_.size());
    pattern_.nodes_.emplace_back();
    const ops::Signature& signature = *find_signature(term.name);
    PatternNode node;
    const bool filled = term.name == "zeros" || term.name == "ones";
    node.op = ops::id_of(filled ? "full" : term.name);
    node.generates = is_generator(term.name);
    node.any_outputs = signature.outputs < 0;
    for (int k = 0; k < signature.outputs; ++k) node.outputs.push_back(new_slot({}));
    if (filled) {
      PatternAttribute value;
      value.attribute = "value";
      value.attribute_kind = ops::AttributeKind::real;
      value.value = ir::Real(term.name == "ones" ? 1 : 0);
      node.attributes.push_back(std::move(value));
    }
    for (const ops::AttributeSignature& attribute : signature.attributes) {
      const bool given =
          std::any_of(term.attributes.begin(), term.attributes.end(), [&](const auto& a) { return a.name == attribute.name; });
      // A generated constant takes the data type of the operands beside it.
      if (node.generates && attribute.kind == ops::AttributeKind::data_type && !given) continue;
      XFLOW_TRY(PatternAttribute compiled, compile_attribute(term, attribute));
      node.attributes.push_back(std::move(compiled));
    }
    for (std::size_t k = 0; k < term.operands.size(); ++k) {
      XFLOW_TRY(PatternOperand operand, compile_operand(term.operands[k]));
      const bool scalar = operand.kind == PatternOperand::Kind::value && operand.node < 0 &&
                          term.operands[k].kind == Term::Kind::variable && is_scalar(term.operands[k].name);
      if (operand.kind == PatternOperand::Kind::literal || scalar) node.small_ranked.push_back(k);
      node.operands.push_back(std::move(operand));
    }
    node.swaps = signature.commutative && term.operands.size() == 2 && shape_of(term.operands[0]) != shape_of(term.operands[1]);
    pattern_.nodes_[static_cast<std::size_t>(index)] = std::move(node);
    return index;
  }
  bool is_scalar(const std::string& name) const {
    const auto found = variable_index_.find(name);
    return found != variable_index_.end() && pattern_.variables_[found->second].scalar;
  }

  Result<PatternOperand> compile_operand(const Term& term) {
    PatternOperand operand;
    switch (term.kind) {
      case Term::Kind::literal:
        operand.kind = PatternOperand::Kind::literal;
        operand.literal = term.literal;
        return operand;
      case Term::Kind::absent:
        operand.kind = PatternOperand::Kind::absent;
        return operand;
      case Term::Kind::list:
        operand.kind = PatternOperand::Kind::list;
        operand.slot = pattern_.variables_[variable_index_.at(term.name)].slot;
        return operand;
      case Term::Kind::variable:
        if (const auto variable = variable_index_.find(term.name); variable != variable_index_.end()) {
          operand.slot = pattern_.variables_[variable->second].slot;
        } else {
          const std::size_t k = definitions_.at(term.name);
          XFLOW_TRY(operand.node, statement_node(k));
          const auto& outputs = rule_.source[k].outputs;
          const auto position = static_cast<std::size_t>(std::find(outputs.begin(), outputs.end(), term.name) - outputs.begin());
          operand.slot = pattern_.nodes_[static_cast<std::size_t>(operand.node)].outputs[position];
        }
        return operand;
      case Term::Kind::application: {
        XFLOW_TRY(operand.node, add_node(term));
        PatternNode& node = pattern_.nodes_[static_cast<std::size_t>(operand.node)];
        if (node.outputs.empty()) node.outputs.push_back(new_slot({}));
        operand.slot = node.outputs[0];
        return operand;
      }
    }
    return operand;
  }

  Result<PatternAttribute> compile_attribute(const Term& term, const ops::AttributeSignature& signature) const {
    PatternAttribute result;
    result.attribute = signature.name;
    result.attribute_kind = signature.kind;
    result.axis = signature.axis;
    result.permutation = signature.permutation;
    const auto given = std::find_if(term.attributes.begin(), term.attributes.end(),
                                    [&](const auto& attribute) { return attribute.name == signature.name; });
    if (given == term.attributes.end()) {
      result.value = *signature.default_value;
      const auto* list = std::get_if<std::vector<ir::Poly>>(&result.value);
      if (signature.per_spatial > 0 && list != nullptr && list->size() == 1) {
        result.kind = PatternAttribute::Kind::each;
        result.value = ir::Poly(list->front());
      }
      return result;
    }
    const Expression& e = given->value;
    const bool negative_axis = signature.axis && (e.kind != Expression::Kind::number || e.number.to_double() < 0);
    ir::Symbols symbols;
    if (const auto value = evaluate_attribute(e, signature.kind, std::nullopt, NoScope(), symbols); value && !negative_axis) {
      if (value->index() == static_cast<std::size_t>(signature.kind)) {
        result.value = *value;
        return result;
      }
    }
    if (signature.kind == ops::AttributeKind::integers) {
      if (const auto value = evaluate_integer(e, NoScope(), symbols)) {
        result.kind = PatternAttribute::Kind::each;
        result.value = *value;
        return result;
      }
    }
    result.expression = &e;
    const auto known = e.kind == Expression::Kind::name ? rule_.names.find(e.name) : rule_.names.end();
    if (known != rule_.names.end()) {
      const bool fits =
          (signature.kind == ops::AttributeKind::integer && (known->second == NameKind::integer || known->second == NameKind::dimension)) ||
          (signature.kind == ops::AttributeKind::integers && known->second == NameKind::integers) ||
          (signature.kind == ops::AttributeKind::real && known->second == NameKind::real);
      if (fits) {
        result.kind = PatternAttribute::Kind::bound;
        result.name = e.name;
        return result;
      }
    }
    const bool elements = e.kind == Expression::Kind::list && std::all_of(e.arguments.begin(), e.arguments.end(), [&](const Expression& a) {
                            if (a.kind != Expression::Kind::name) return false;
                            const NameKind kind = rule_.names.at(a.name);
                            return kind == NameKind::integer || kind == NameKind::dimension;
                          });
    result.kind = elements ? PatternAttribute::Kind::list_bound : PatternAttribute::Kind::computed;
    return result;
  }

  // The text of a term in which variables that occur nowhere else are replaced by numbers and the rule's
  // conditions on them. Two terms with equal texts are interchangeable.
  std::string shape_of(const Term& term) const {
    std::map<std::string, int> inside;
    count_variables(term, inside);
    std::map<std::string, std::string> renamed;
    Term copy = term;
    rename(copy, inside, renamed);
    return print(copy);
  }
  void rename(Term& term, const std::map<std::string, int>& inside, std::map<std::string, std::string>& renamed) const {
    if (term.kind == Term::Kind::variable || term.kind == Term::Kind::list) {
      if (definitions_.contains(term.name) || inside.at(term.name) != uses_.at(term.name)) return;
      std::string& name = renamed[term.name];
      if (name.empty()) {
        name = fmt::format("${}", renamed.size());
        if (const Declaration* declaration = rule_.declaration(term.name)) name += fmt::format(":{}", declaration->dims.size());
        for (const Guard& guard : rule_.guards) {
          if (guard.value == term.name) name += fmt::format("!{}", static_cast<int>(guard.kind));
        }
      }
      term.name = name;
    }
    for (Term& operand : term.operands) rename(operand, inside, renamed);
  }

  // Orders the steps depth first from the first root. Every other root is found from a value that is already
  // bound.
  Result<void> order() {
    std::vector<bool> bound_slots(pattern_.slots(), false);
    std::vector<bool> bound_nodes(pattern_.nodes_.size(), false);
    visit(root_nodes_[0], bound_slots, bound_nodes);
    std::vector<int> open(root_nodes_.begin() + 1, root_nodes_.end());
    while (!open.empty()) {
      std::vector<int> path;
      std::size_t anchor = 0;
      const auto found = std::find_if(open.begin(), open.end(), [&](int root) {
        path.clear();
        return find_path(root, bound_slots, path, anchor);
      });
      if (found == open.end() && given_ == Pattern::Roots::given) {
        pattern_.is_connected_ = false;
        pattern_.steps_.push_back({PatternStep::Kind::given, open.front(), 0});
        visit(open.front(), bound_slots, bound_nodes);
        open.erase(open.begin());
        continue;
      }
      if (found == open.end()) {
        return fail(ErrorCode::ill_typed, "the source is not connected: its outputs share no value", place_text(rule_.file, rule_.place));
      }
      // Go from the bound value up to the root.
      for (auto node = path.rbegin(); node != path.rend(); ++node) {
        pattern_.steps_.push_back({PatternStep::Kind::find, *node, anchor});
        visit(*node, bound_slots, bound_nodes);
        anchor = pattern_.nodes_[static_cast<std::size_t>(*node)].outputs[0];
        if (node + 1 != path.rend()) anchor = slot_read(*(node + 1), *node);
      }
      open.erase(found);
    }
    return {};
  }
  std::size_t slot_read(int user, int operand) const {
    for (const PatternOperand& o : pattern_.nodes_[static_cast<std::size_t>(user)].operands) {
      if (o.node == operand) return o.slot;
    }
    return 0;
  }
  // Appends to `path` the operations from `node` down to one that reads a bound value, `anchor`. False if
  // there is none.
  bool find_path(int node, const std::vector<bool>& bound_slots, std::vector<int>& path, std::size_t& anchor) const {
    path.push_back(node);
    const PatternNode& n = pattern_.nodes_[static_cast<std::size_t>(node)];
    for (const PatternOperand& operand : n.operands) {
      if (operand.kind == PatternOperand::Kind::value && bound_slots[operand.slot]) {
        anchor = operand.slot;
        return true;
      }
    }
    for (const PatternOperand& operand : n.operands) {
      if (operand.kind == PatternOperand::Kind::value && operand.node >= 0 && find_path(operand.node, bound_slots, path, anchor))
        return true;
    }
    path.pop_back();
    return false;
  }
  void visit(int node, std::vector<bool>& bound_slots, std::vector<bool>& bound_nodes) {
    if (bound_nodes[static_cast<std::size_t>(node)]) return;
    bound_nodes[static_cast<std::size_t>(node)] = true;
    pattern_.steps_.push_back({PatternStep::Kind::operands, node, 0});
    const PatternNode& n = pattern_.nodes_[static_cast<std::size_t>(node)];
    for (const std::size_t slot : n.outputs) bound_slots[slot] = true;
    for (const PatternOperand& operand : n.operands) {
      if (operand.kind == PatternOperand::Kind::value) bound_slots[operand.slot] = true;
    }
    for (const PatternOperand& operand : n.operands) {
      if (operand.kind == PatternOperand::Kind::value && operand.node >= 0) visit(operand.node, bound_slots, bound_nodes);
    }
  }

  Pattern& pattern_;
  const Rule& rule_;
  Pattern::Roots given_;
  std::map<std::string, int> uses_;  // number of reads of each value in the source
  std::map<std::string, std::size_t, std::less<>> variable_index_;
  std::map<std::string, std::size_t, std::less<>> definitions_;  // output -> statement
  std::vector<int> statement_nodes_;
  std::vector<int> root_nodes_;
  std::vector<std::size_t> root_statements_;
};

Result<std::shared_ptr<const Pattern>> Pattern::compile(Rule rule, Roots roots) {
  std::shared_ptr<Pattern> pattern(new Pattern(std::move(rule)));
  XFLOW_CHECK(PatternCompiler(*pattern, roots).run());
  return std::shared_ptr<const Pattern>(std::move(pattern));
}

}  // namespace xflow::rules
