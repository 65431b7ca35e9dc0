#include "src/generator/rules/derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>

#include "src/egraph/cheapest.h"
#include "src/egraph/egraph_terms.h"
#include "src/egraph/numbers.h"
#include "src/generator/rules/derive_direction.h"
#include "src/generator/rules/rule_directions.h"

namespace xflow::generator {

using rules::PatternNode;
using rules::PatternOperand;

Deriver::Deriver() : first_memory_(std::size_t{1} << 18), memory_(first_memory_.data(), first_memory_.size()) {}
Deriver::~Deriver() = default;

Result<std::size_t> Deriver::add(const rules::Rule& rule, bool as_written) {
  const std::size_t number = rules_.size();
  rules_.push_back({rule.name, true, false, rule.outputs.size() > 1});
  const std::size_t before = directions_.size();
  for (const rules::Rule& direction : directions_of(rule, as_written)) add_direction(number, direction);
  if (directions_.size() == before) {
    rules_.pop_back();
    return fail(ErrorCode::unsupported, "neither side can be found in a graph", rule.name);
  }
  return number;
}

void Deriver::add_direction(std::size_t rule, const rules::Rule& text) {
  auto compiled = rules::Pattern::compile(text);
  if (!compiled) return;
  auto direction = std::make_unique<Direction>();
  direction->rule = rule;
  direction->pattern = *std::move(compiled);
  const rules::Pattern& pattern = *direction->pattern;
  std::vector<bool> listed(pattern.nodes().size(), false);
  bool supported = true;
  const auto list = [&](auto&& self, int node, std::uint32_t output, std::optional<std::size_t> slot) -> void {
    listed[static_cast<std::size_t>(node)] = true;
    const PatternNode& n = pattern.nodes()[static_cast<std::size_t>(node)];
    direction->items.push_back({node, output, slot, bit_of(n.op)});
    direction->operators |= bit_of(n.op);
    supported = supported && n.operands.size() <= EqTerm::kOperands;
    for (const PatternOperand& o : n.operands) {
      supported = supported && (o.kind == PatternOperand::Kind::value || o.kind == PatternOperand::Kind::literal);
      if (o.kind != PatternOperand::Kind::value || o.node < 0 || listed[static_cast<std::size_t>(o.node)]) continue;
      const PatternNode& below = pattern.nodes()[static_cast<std::size_t>(o.node)];
      const auto at = std::find(below.outputs.begin(), below.outputs.end(), o.slot);
      self(self, o.node, static_cast<std::uint32_t>(at - below.outputs.begin()), o.slot);
    }
  };
  for (std::size_t k = 0; k < pattern.nodes().size(); ++k)
    if (pattern.nodes()[k].is_root) list(list, static_cast<int>(k), 0, std::nullopt);
  if (!supported || pattern.list_slots() > 0 || pattern.slots() > Match::kSlots || pattern.nodes().size() > Match::kNodes) return;
  for (const std::string& output : pattern.rule().outputs) {
    for (std::size_t s = 0; s < pattern.slots(); ++s)
      if (pattern.slot_name(s) == output) direction->outputs.push_back(s);
  }
  if (direction->outputs.size() != pattern.rule().outputs.size()) return;
  const std::size_t variables = pattern.variables().size();
  std::map<std::string, TreeSize> sizes;
  for (std::size_t k = 0; k < variables; ++k) {
    TreeSize one{0, std::vector<int>(variables)};
    one.reads[k] = 1;
    sizes.emplace(pattern.variables()[k].name, std::move(one));
  }
  const auto size_of = [&](auto&& self, const rules::Term& term) -> TreeSize {
    if (const auto known = sizes.find(term.name); term.kind == rules::Term::Kind::variable && known != sizes.end()) return known->second;
    TreeSize size{term.kind == rules::Term::Kind::application && !term.operands.empty() ? 1 : 0, std::vector<int>(variables)};
    for (const rules::Term& t : term.operands) size += self(self, t);
    return size;
  };
  // The target may read inner values of the source.
  for (const auto* side : {&pattern.rule().source, &pattern.rule().target}) {
    for (const rules::Statement& s : *side) {
      const TreeSize size = size_of(size_of, s.term);
      for (const std::string& o : s.outputs) sizes[o] = size;
    }
  }
  for (const std::string& output : pattern.rule().outputs) direction->made.push_back(sizes[output]);
  const PatternNode& first = pattern.nodes()[static_cast<std::size_t>(direction->items[0].node)];
  std::vector<Below> below;
  for (std::size_t k = 0; k < first.operands.size(); ++k)
    if (first.operands[k].kind == PatternOperand::Kind::value && first.operands[k].node >= 0)
      below.push_back({k, bit_of(pattern.nodes()[static_cast<std::size_t>(first.operands[k].node)].op)});
  Root& root = by_root_[static_cast<std::uint16_t>(pattern.root())];
  const auto group = static_cast<std::uint32_t>(std::find(root.groups.begin(), root.groups.end(), below) - root.groups.begin());
  if (group == root.groups.size()) root.groups.push_back(std::move(below));
  root.members.push_back({static_cast<std::uint32_t>(directions_.size()), group});
  directions_.push_back(std::move(direction));
}

// The operators of an e-graph.
struct Deriver::Operators {
  Operators(const Vocabulary& vocabulary, const EGraph& graph, std::pmr::memory_resource& memory)
      : of_terms(graph.size(), &memory), of_classes(graph.size(), &memory) {
    for (TermId t = 0; t < graph.size(); ++t) {
      const EqTerm& term = graph.term(t);
      if (term.op == EqTerm::kInput) continue;
      of_terms[t] = vocabulary.operator_of(static_cast<OpRef>(term.op));
      of_classes[graph.find(t)] |= bit_of(of_terms[t]);
      all |= bit_of(of_terms[t]);
    }
  }
  std::pmr::vector<ir::OperatorId> of_terms;   // operators of terms, except inputs
  std::pmr::vector<std::uint64_t> of_classes;  // by representative of a class: operator bits
  std::uint64_t all = 0;                       // operator bits of the whole e-graph
};

// Finds matches of directions in an e-graph. Skips matches that were found before.
class Deriver::Finder {
 public:
  Finder(const Vocabulary& vocabulary, const EGraph& graph, const Operators& operators, std::pmr::unordered_set<std::uint64_t>& done,
         std::pmr::vector<Match>& found, std::size_t& tries)
      : vocabulary_(vocabulary), graph_(graph), operators_(operators), done_(done), found_(found), tries_(tries) {}

  // Whether the operands of `root` may have the operators that the pattern has below its first root.
  bool has_operands(std::span<const Below> below, TermId root) const {
    const EqTerm& term = graph_.term(root);
    const auto has = [&](bool swapped) {
      return std::all_of(below.begin(), below.end(), [&](const Below& b) {
        return b.operand < term.count &&
               (operators_.of_classes[graph_.find(term.operands[swapped ? 1 - b.operand : b.operand])] & b.operator_bit) != 0;
      });
    };
    return has(false) || (term.count == 2 && vocabulary_.is_commutative(static_cast<OpRef>(term.op)) && has(true));
  }

  // Finds all matches whose first root is `root`.
  void find(const Direction& direction, std::size_t number, TermId root) {
    direction_ = &direction;
    pattern_ = direction.pattern.get();
    match_.direction = static_cast<std::uint32_t>(number);
    match_.swapped = 0;
    match_.slots.fill(Match::kNone);
    match_.nodes.fill(Match::kNone);
    left_ = kMost;
    at_term(0, root);
  }

 private:
  static constexpr TermId kNone = Match::kNone;
  static constexpr std::size_t kMost = 256;  // matches of one direction at one term

  void item(std::size_t index) {
    if (left_ == 0) return;
    if (index == direction_->items.size()) {
      --left_;
      // The key has the classes of variables instead of terms, because matches of equal terms have equal
      // targets.
      std::uint64_t key = mix(match_.direction + (static_cast<std::uint64_t>(match_.swapped) << 32));
      for (std::size_t k = 0; k < pattern_->nodes().size(); ++k) key = mix(key ^ graph_.term(match_.nodes[k]).op);
      for (const rules::PatternVariable& v : pattern_->variables()) key = mix(key ^ graph_.find(match_.slots[v.slot]));
      if (done_.insert(key).second) found_.push_back(match_);
      return;
    }
    const Direction::Item& i = direction_->items[index];
    if (i.slot) {
      if ((operators_.of_classes[graph_.find(match_.slots[*i.slot])] & i.operator_bit) == 0) return;
      for (const TermId t : graph_.members(match_.slots[*i.slot])) at_term(index, t);
    } else {
      for (TermId t = 0; t < graph_.size(); ++t) at_term(index, t);
    }
  }

  void at_term(std::size_t index, TermId id) {
    if (tries_ == 0) return;
    --tries_;
    const Direction::Item& i = direction_->items[index];
    const auto number = static_cast<std::size_t>(i.node);
    const PatternNode& node = pattern_->nodes()[number];
    const EqTerm& term = graph_.term(id);
    if (term.op == EqTerm::kInput || term.output != i.output || term.count != node.operands.size() || operators_.of_terms[id] != node.op) {
      return;
    }
    const std::array<TermId, Match::kSlots> before = match_.slots;
    const bool both_orders = node.operands.size() == 2 && vocabulary_.is_commutative(static_cast<OpRef>(term.op));
    for (std::uint32_t order = 0; order < (both_orders ? 2 : 1); ++order) {
      match_.nodes[number] = id;
      match_.swapped = (match_.swapped & ~(1U << number)) | order << number;
      if (bind(node, term, id, order == 1)) item(index + 1);
      match_.slots = before;
    }
    match_.nodes[number] = kNone;
  }

  bool bind(const PatternNode& node, const EqTerm& term, TermId id, bool swapped) {
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      std::optional<TermId> sibling = id;
      if (k != term.output) sibling = graph_.lookup(term.op, static_cast<std::uint8_t>(k), std::span(term.operands.data(), term.count));
      if (!sibling || !put(node.outputs[k], *sibling)) return false;
    }
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const TermId operand = term.operands[swapped ? 1 - k : k];
      const PatternOperand& o = node.operands[k];
      if (o.kind == PatternOperand::Kind::literal) {
        if (!is_number(operand, o.literal)) return false;
      } else if (!put(o.slot, operand)) {
        return false;
      }
    }
    return true;
  }
  bool put(std::size_t slot, TermId value) {
    if (match_.slots[slot] != kNone) return graph_.equal(match_.slots[slot], value);
    match_.slots[slot] = value;
    return true;
  }
  bool is_number(TermId term, const ir::Real& literal) const {
    const ir::Rational* number = graph_.number(term);
    return number != nullptr && ir::Real(*number) == literal;
  }

  const Vocabulary& vocabulary_;
  const EGraph& graph_;
  const Operators& operators_;
  std::pmr::unordered_set<std::uint64_t>& done_;
  std::pmr::vector<Match>& found_;
  std::size_t& tries_;  // terms that may still be tried
  const Direction* direction_ = nullptr;
  const rules::Pattern* pattern_ = nullptr;
  std::size_t left_ = 0;
  Match match_;
};

// One derivation in an e-graph of its own.
class Deriver::Derivation {
 public:
  Derivation(Deriver& deriver, const FlatEquation& equation, const DeriveLimits& limits, Goal goal, bool use_pairs)
      : deriver_(deriver),
        equation_(equation),
        limits_(limits),
        goal_(goal),
        use_pairs_(use_pairs),
        graph_(deriver.vocabulary_, &deriver.memory_),
        done_(&deriver.memory_),
        tries_(limits.tries) {
    for (std::size_t k = 0; k < equation.inputs.size(); ++k) inputs_.push_back(graph_.add_input(k, equation.inputs[k]));
    source_ = add_graph(graph_, equation.source, inputs_);
    if (goal == Goal::equal) target_ = add_graph(graph_, equation.target, inputs_);
    if (goal == Goal::rewrite_as_cheap) most_ = weight_of(deriver.vocabulary_, equation.inputs, equation.target);
  }

  Answer run(Wanted wanted) {
    Answer answer;
    answer.derived = is_derived();
    for (std::size_t round = 0; round < limits_.rounds && !answer.derived && graph_.size() < limits_.terms; ++round) {
      const bool changed = apply(find());
      answer.derived = is_derived();
      answer.complete = !changed && tries_ > 0;
      if (!changed) break;
      if (!answer.derived && most_ && has_graph_within(deriver_.vocabulary_, graph_, source_, *most_)) {
        answer.derived = true;
        answer.terms = graph_.size();
        return answer;
      }
    }
    answer.terms = graph_.size();
    if (!answer.derived) return answer;
    answer.complete = false;
    if (wanted == Wanted::verdict) return answer;
    for (std::size_t k = 0; k < source_.size(); ++k) {
      for (const Equality& e : graph_.explain(source_[k], target_[k])) {
        if (e.reason == Equality::kCongruence) continue;
        const auto rule = static_cast<std::size_t>(e.reason);
        if (std::find(answer.rules.begin(), answer.rules.end(), rule) == answer.rules.end()) answer.rules.push_back(rule);
        if (wanted == Wanted::steps)
          answer.steps.push_back({rule, text_of(deriver_.vocabulary_, graph_, e.a), text_of(deriver_.vocabulary_, graph_, e.b)});
      }
    }
    return answer;
  }

 private:
  bool is_derived() {
    if (goal_ != Goal::equal) target_ = find_graph(graph_, equation_.target, inputs_);
    if (target_.size() != source_.size()) return false;
    for (std::size_t k = 0; k < source_.size(); ++k)
      if (!graph_.equal(source_[k], target_[k])) return false;
    return true;
  }

  // Finds the new matches.
  std::pmr::vector<Match> find() {
    std::pmr::vector<Match> matches(&deriver_.memory_);
    const Operators operators(deriver_.vocabulary_, graph_, deriver_.memory_);
    Finder finder(deriver_.vocabulary_, graph_, operators, done_, matches, tries_);
    const auto size = static_cast<TermId>(graph_.size());
    std::pmr::unordered_map<std::uint16_t, Usable> usable(&deriver_.memory_);
    for (TermId t = 0; t < size; ++t) {
      if (graph_.term(t).op == EqTerm::kInput) continue;
      const auto [at, added] = usable.try_emplace(static_cast<std::uint16_t>(operators.of_terms[t]));
      Usable& u = at->second;
      if (added) u = usable_at(at->first, operators);
      if (u.members.empty()) continue;
      u.has_operands.clear();
      for (const std::vector<Below>& below : u.root->groups) u.has_operands.push_back(finder.has_operands(below, t));
      for (const Root::Member& m : u.members)
        if (u.has_operands[m.group]) finder.find(*deriver_.directions_[m.direction], m.direction, t);
    }
    return matches;
  }

  // The directions that may match at some root of one operator.
  struct Usable {
    const Root* root = nullptr;
    std::vector<Root::Member> members;
    std::vector<bool> has_operands;  // by group, for one term
  };
  Usable usable_at(std::uint16_t op, const Operators& operators) const {
    Usable result;
    const auto found = deriver_.by_root_.find(op);
    if (found == deriver_.by_root_.end()) return result;
    result.root = &found->second;
    for (const Root::Member& m : found->second.members) {
      const Direction& direction = *deriver_.directions_[m.direction];
      const Entry& rule = deriver_.rules_[direction.rule];
      if (rule.enabled && (deriver_.use_special_ || !rule.special) && (use_pairs_ || !rule.has_pair) &&
          (direction.operators & ~operators.all) == 0) {
        result.members.push_back(m);
      }
    }
    return result;
  }

  // Applies matches, first those that add least to the size of some output, until the limit of terms is
  // reached or the goal is derived. Returns whether the e-graph changed.
  bool apply(std::span<const Match> matches) {
    const std::vector<int> sizes = smallest_sizes(graph_);
    std::pmr::vector<std::pair<int, const Match*>> steps(&deriver_.memory_);  // each with the size that it adds
    steps.reserve(matches.size());
    std::vector<int> of_variable;
    for (const Match& m : matches) {
      const Direction& direction = *deriver_.directions_[m.direction];
      of_variable.clear();
      for (const rules::PatternVariable& v : direction.pattern->variables()) of_variable.push_back(sizes[graph_.find(m.slots[v.slot])]);
      int growth = INT_MIN;
      for (std::size_t k = 0; k < direction.outputs.size(); ++k)
        growth = std::max(growth, direction.made[k].with(of_variable) - sizes[graph_.find(m.slots[direction.outputs[k]])]);
      steps.emplace_back(growth, &m);
    }
    std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    bool changed = false;
    std::vector<TermId> variables;
    for (const auto& [growth, match] : steps) {
      const Match& m = *match;
      const Direction& direction = *deriver_.directions_[m.direction];
      const FlatGraph* made = deriver_.target_of(direction, graph_, m);
      if (made == nullptr) continue;
      variables.clear();
      for (const rules::PatternVariable& v : direction.pattern->variables()) variables.push_back(m.slots[v.slot]);
      const std::size_t before = graph_.size();
      const std::vector<TermId> outputs = add_graph(graph_, *made, variables);
      changed = changed || graph_.size() != before;
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        const TermId from = m.slots[direction.outputs[k]];
        if (graph_.equal(from, outputs[k])) continue;
        changed = true;
        graph_.merge(from, outputs[k], static_cast<std::int32_t>(direction.rule), deriver_.premises(direction, graph_, m));
      }
      if (graph_.size() >= limits_.terms || is_derived()) break;
    }
    return changed;
  }

  Deriver& deriver_;
  const FlatEquation& equation_;
  const DeriveLimits& limits_;
  Goal goal_;
  bool use_pairs_;
  EGraph graph_;
  std::vector<TermId> inputs_;
  std::vector<TermId> source_;
  std::vector<TermId> target_;  // empty while a term of the target is missing in the e-graph
  std::optional<int> most_;     // greatest weight of a graph that is as cheap as the target
  std::pmr::unordered_set<std::uint64_t> done_;
  std::size_t tries_ = 0;  // remaining tries
};

Deriver::Answer Deriver::derive(const FlatEquation& equation, const DeriveLimits& limits, Goal goal, Wanted wanted) {
  if (targets_ > kMostTargets) {
    for (const auto& d : directions_) d->targets.clear();
    targets_ = 0;
  }
  const auto run = [&](bool use_pairs) {
    memory_.release();
    return Derivation(*this, equation, limits, goal, use_pairs).run(wanted);
  };
  const bool has_pairs = std::any_of(rules_.begin(), rules_.end(), [](const Entry& r) { return r.enabled && r.has_pair; });
  if (equation.source.outputs.size() == 1 && has_pairs) {
    Answer answer = run(false);
    if (answer.derived) return answer;
  }
  return run(true);
}

}  // namespace xflow::generator
