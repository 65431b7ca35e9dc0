// The enumeration over one kind of numbers. Private to enumerate.cpp.
#pragma once

#include <array>
#include <cassert>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/generator/enumerate/assignment_set.h"
#include "src/generator/enumerate/enumerate.h"

namespace xflow::generator {

// The interface that does not depend on the kind of numbers.
class Evaluator::Implementation {
 public:
  Implementation() = default;
  virtual ~Implementation() = default;
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  virtual EnumerationCounts run(std::size_t part, std::size_t parts, const std::function<void(const Record&)>& found) = 0;
  virtual std::optional<Record> record(const SmallGraph& graph) = 0;
  virtual std::vector<Naming> namings(const SmallGraph& graph) = 0;
  virtual std::vector<std::uint64_t> values(const SmallGraph& graph, std::span<const std::uint8_t> leaves) = 0;
};

inline void append(const GraphSignature& signature, const GrownNode& node, CodePrefix& code) {
  code.append(static_cast<std::uint64_t>(node.choice), signature.choices().size());
  for (std::size_t k = 0; k < node.operand_count; ++k) code.append(node.operands[k], node.first_value);
}

template <typename Number>
class Enumeration final : public Evaluator::Implementation {
  using Assignment = typename AssignmentSet<Number>::Assignment;

 public:
  Enumeration(const GraphSignature& signature, const EnumerationOptions& options)
      : signature_(signature), options_(options), store_(signature, options), structures_(signature) {
    max_values_ = signature.leaves().size() + 2 * options.max_operators;
    types_.resize(max_values_);
    levels_.resize(max_values_, 0);
    uses_.resize(max_values_, 0);
    cones_.resize(max_values_, 0);
    reads_.resize(max_values_, 0);
    for (std::size_t k = 0; k < signature.inputs(); ++k) reads_[k] = std::uint64_t{1} << k;
    for (std::size_t k = 0; k < signature.leaves().size(); ++k) types_[k] = signature.leaves()[k].type;
  }

  EnumerationCounts run(std::size_t part, std::size_t parts, const std::function<void(const Record&)>& found) override {
    part_ = part;
    parts_ = parts;
    found_ = &found;
    number_ = 0;
    counts_ = {};
    counts_.raw.resize(options_.max_operators + 1);
    counts_.plain.resize(options_.max_operators + 1);
    clear();
    if (part_ == 0) leaves();
    extend();
    return std::move(counts_);
  }

  std::optional<Record> record(const SmallGraph& graph) override {
    AssignmentSet<Number>* assignments = begin(graph);
    return assignments == nullptr ? std::nullopt : record(*assignments, graph.outputs);
  }

  std::vector<Naming> namings(const SmallGraph& graph) override;

  std::vector<std::uint64_t> values(const SmallGraph& graph, std::span<const std::uint8_t> leaves) override {
    std::vector<std::uint64_t> result;
    AssignmentSet<Number>* assignments = begin(graph);
    if (assignments == nullptr) return result;
    Assignment assignment = assignments->identity();
    if (!leaves.empty()) {
      labels_.clear();
      for (std::size_t k = 0; k < assignments->inputs().size(); ++k)
        labels_.push_back(static_cast<std::uint8_t>(leaves[assignments->inputs()[k]] - signature_.group_begins()[assignments->group(k)]));
      assignment = assignments->assignment(labels_);
    }
    if (!assignments->compute(std::array{assignment}, nodes_, types_)) return result;
    for (const std::uint8_t o : graph.outputs) result.push_back(assignments->hash(o, assignment));
    return result;
  }

 private:
  void clear() {
    while (!nodes_.empty()) pop();
    used_ = {};
  }

  // Makes `graph`, with operations in any topological order, the growing graph. Keeps the operations that it
  // shares with the last graph. Returns null if operands do not fit, or the graph is larger than
  // max_operators.
  AssignmentSet<Number>* begin(const SmallGraph& graph) {
    if (graph.nodes.size() > options_.max_operators) return nullptr;
    std::size_t common = 0;
    while (common < std::min(nodes_.size(), graph.nodes.size()) && is_same(nodes_[common], graph.nodes[common])) ++common;
    while (nodes_.size() > common) pop();
    for (std::size_t k = common; k < graph.nodes.size(); ++k) {
      const SmallGraphNode& n = graph.nodes[k];
      if (!push(node_of(n.choice, n.operands[0], n.operands.back()))) return nullptr;
    }
    used_ = {};
    for (const SmallGraphNode& n : graph.nodes)
      for (const std::uint8_t o : n.operands) use_all(o);
    for (const std::uint8_t o : graph.outputs) use_all(o);
    return &assignment_set();
  }
  static bool is_same(const GrownNode& node, const SmallGraphNode& other) {
    return node.choice == other.choice && node.operands[0] == other.operands[0] && node.operands[1] == other.operands.back();
  }

  GrownNode node_of(ChoiceId choice, std::uint8_t a, std::uint8_t b) const {
    GrownNode node;
    node.choice = choice;
    node.operands[0] = a;
    node.operands[1] = b;
    node.operand_count = static_cast<std::uint8_t>(signature_.choice(choice).operands);
    node.outputs = static_cast<std::uint8_t>(signature_.choice(choice).outputs);
    return node;
  }

  std::size_t values() const {
    return nodes_.empty() ? signature_.leaves().size() : nodes_.back().first_value + std::size_t{nodes_.back().outputs};
  }

  // Appends an operation. Returns false if the operands do not fit.
  bool push(GrownNode node) {
    const GraphSignature::Operation& operation =
        signature_.operation(node.choice, types_[node.operands[0]], node.operand_count > 1 ? types_[node.operands[1]] : TypeId{});
    if (operation.outputs == 0) return false;
    node.first_value = static_cast<std::uint8_t>(values());
    node.stamp = ++stamp_;
    std::uint64_t reads = 0;
    for (std::size_t k = 0; k < node.operand_count; ++k) {
      node.level = std::max<std::uint8_t>(node.level, static_cast<std::uint8_t>(levels_[node.operands[k]] + 1));
      ++uses_[node.operands[k]];
      node.cone |= cones_[node.operands[k]];
      reads |= reads_[node.operands[k]];
    }
    node.cone |= 1U << nodes_.size();
    for (std::size_t k = 0; k < node.outputs; ++k) {
      types_[node.first_value + k] = operation.types[k];
      cones_[node.first_value + k] = node.cone;
      reads_[node.first_value + k] = reads;
      levels_[node.first_value + k] = node.level;
      uses_[node.first_value + k] = 0;
    }
    nodes_.push_back(node);
    return true;
  }
  void pop() {
    const GrownNode& node = nodes_.back();
    for (std::size_t k = 0; k < node.operand_count; ++k) --uses_[node.operands[k]];
    nodes_.pop_back();
  }

  // Whether an input may be read next: it was used before or is the next of its group. Marks it as used.
  bool use(std::size_t value) {
    if (value >= signature_.inputs()) return true;
    const std::size_t g = signature_.leaves()[value].group;
    const std::size_t local = value - signature_.group_begins()[g];
    if (local > used_[g]) return false;
    if (local == used_[g]) used_.set(g, local + 1);
    return true;
  }

  // Marks an input and the inputs of its group before it as used.
  void use_all(std::size_t value) {
    if (value >= signature_.inputs()) return;
    const std::size_t g = signature_.leaves()[value].group;
    used_.set(g, std::max(used_[g], value - signature_.group_begins()[g] + 1));
  }

  // Whether the operation is greater than the last one in (level, choice, operands).
  bool follows(ChoiceId choice, std::uint8_t a, std::uint8_t b, std::size_t operands) const {
    if (nodes_.empty()) return true;
    const GrownNode& last = nodes_.back();
    const int level = 1 + std::max(levels_[a], operands > 1 ? levels_[b] : std::uint8_t{0});
    if (level != last.level) return level > last.level;
    if (choice != last.choice) return choice > last.choice;
    if (a != last.operands[0]) return a > last.operands[0];
    return operands > 1 && b > last.operands[1];
  }

  void extend() {
    for (std::size_t c = 0; c < signature_.choices().size(); ++c) {
      const auto id = static_cast<ChoiceId>(c);
      const Choice& choice = signature_.choice(id);
      // try_operation() requires a greater operation than the last; operations of higher levels always are.
      const std::size_t count = values();
      for (std::size_t a = 0; a < count; ++a) {
        const Used before = used_;
        if (use(a)) {
          if (choice.operands == 1) {
            if (!signature_.is_constant(a)) try_operation(id, a, a);
          } else {
            for (std::size_t b = choice.commutative ? a : 0; b < count; ++b) {
              if (signature_.is_constant(a) && signature_.is_constant(b)) continue;
              if ((signature_.is_constant(a) && !signature_.reads(id, a, types_[b])) ||
                  (signature_.is_constant(b) && !signature_.reads(id, b, types_[a])))
                continue;
              const Used before_b = used_;
              if (use(b)) try_operation(id, a, b);
              used_ = before_b;
            }
          }
        }
        used_ = before;
      }
    }
  }

  void try_operation(ChoiceId id, std::size_t a, std::size_t b) {
    const auto first = static_cast<std::uint8_t>(a);
    const auto second = static_cast<std::uint8_t>(b);
    const GrownNode node = node_of(id, first, second);
    if (!follows(id, first, second, node.operand_count)) return;
    if (!push(node)) return;
    const std::size_t left = options_.max_operators - nodes_.size();
    // The number of operations that no other reads. Each further operation reduces it by at most one.
    std::size_t open = 0;
    for (const GrownNode& n : nodes_) {
      bool read = false;
      for (std::size_t k = 0; k < n.outputs; ++k) read = read || uses_[n.first_value + k] != 0;
      open += read ? 0 : 1;
    }
    // The first two operations determine the part of a graph.
    const bool shared = nodes_.size() < 2 && options_.max_operators >= 2;
    const bool mine = shared ? part_ == 0 : nodes_.size() > (options_.max_operators >= 2 ? 2 : 1) || number_++ % parts_ == part_;
    if (open <= options_.max_outputs + left && (mine || shared)) {
      has_values_ = true;
      repeats_ = Repeats::unknown;
      if (mine) emit(open);
      if (has_values_ && left > 0 && grows()) extend();
      if (mine && !has_values_) ++counts_.without_value;
    }
    pop();
  }

  AssignmentSet<Number>& assignment_set() {
    std::unique_ptr<AssignmentSet<Number>>& found = assignment_sets_[used_.packed()];
    if (!found) found = std::make_unique<AssignmentSet<Number>>(signature_, store_, used_, options_.max_operators, max_values_);
    return *found;
  }

  // Emits the graphs with the operations so far.
  void emit(std::size_t open) {
    if (open > options_.max_outputs) return;
    outputs_.clear();
    choose_outputs(assignment_set(), 0);
  }
  // Whether graphs are built on the operations so far: every element has a value, and the last operation
  // computes a value that does not exist without it.
  bool grows() {
    AssignmentSet<Number>& assignments = assignment_set();
    has_values_ = compute_first(assignments);
    return has_values_ && !repeats(assignments);
  }

  void choose_outputs(AssignmentSet<Number>& assignments, std::size_t node) {
    if (outputs_.size() > options_.max_outputs) return;
    if (node == nodes_.size()) {
      if (!outputs_.empty() && has_values_) take(assignments);
      return;
    }
    const GrownNode& n = nodes_[node];
    const std::size_t before = outputs_.size();
    const std::uint8_t first = n.first_value;
    if (n.outputs == 1) {
      if (uses_[first] == 0) outputs_.push_back(first);
      choose_outputs(assignments, node + 1);
      outputs_.resize(before);
      return;
    }
    const auto second = static_cast<std::uint8_t>(first + 1);
    const bool reads_first = uses_[first] != 0;
    const bool reads_second = uses_[second] != 0;
    for (std::uint64_t set = 0; set < kOutputSets; ++set) {
      const bool with_first = (set & 1) != 0;
      const bool with_second = (set & 2) != 0;
      if ((with_first && reads_first) || (with_second && reads_second)) continue;
      if (set == 0 && !reads_first && !reads_second) continue;
      if (with_first) outputs_.push_back(first);
      if (with_second) outputs_.push_back(second);
      choose_outputs(assignments, node + 1);
      outputs_.resize(before);
    }
  }

  // Emits the graph with the chosen outputs.
  void take(AssignmentSet<Number>& assignments) {
    if (outputs_.size() > 1 && !compute_together()) return;
    has_values_ = compute_first(assignments);
    if (!has_values_ || (outputs_.size() > 1 && (repeats(assignments) || !some_ignores(assignments)))) return;
    const std::optional<Record> r = record(assignments, outputs_);
    has_values_ = r.has_value();
    if (!r) return;
    ++counts_.raw[nodes_.size()];
    if (outputs_.size() == 1) ++counts_.plain[nodes_.size()];
    (*found_)(*r);
  }

  // Whether some operation is part of all chosen outputs.
  bool compute_together() const {
    std::uint32_t common = UINT32_MAX;
    for (const std::uint8_t o : outputs_) common &= cones_[o];
    return common != 0;
  }
  // Whether some chosen output does not depend on an input that it reads.
  bool some_ignores(AssignmentSet<Number>& assignments) {
    return std::any_of(outputs_.begin(), outputs_.end(), [&](const std::uint8_t& o) {
      for (std::size_t k = 0; k < assignments.inputs().size(); ++k)
        if ((reads_[o] >> assignments.inputs()[k] & 1) != 0 && ignores(assignments, std::span(&o, 1), k)) return true;
      return false;
    });
  }

  // Whether every output of the last operation is a value that exists without it.
  bool repeats(AssignmentSet<Number>& assignments) {
    if (repeats_ != Repeats::unknown) return repeats_ == Repeats::yes;
    const GrownNode& last = nodes_.back();
    repeats_ = Repeats::yes;
    for (std::size_t o = last.first_value; o < values() && repeats_ == Repeats::yes; ++o) {
      const auto is_same = [&](std::size_t v) { return types_[v] == types_[o] && are_equal(assignments, o, v); };
      bool found = std::any_of(assignments.inputs().begin(), assignments.inputs().end(), is_same);
      for (std::size_t v = signature_.inputs(); v < last.first_value && !found; ++v) found = is_same(v);
      if (!found) repeats_ = Repeats::no;
    }
    return repeats_ == Repeats::yes;
  }
  bool are_equal(AssignmentSet<Number>& assignments, std::size_t a, std::size_t b) {
    for (const Assignment l : assignments.alike())
      if (assignments.hash(a, l) != assignments.hash(b, l)) return false;
    return assignments.compute(std::array{assignments.identity()}, nodes_, types_) &&
           assignments.hash(a, assignments.identity()) == assignments.hash(b, assignments.identity());
  }

  // Computes the assignments that every graph needs.
  bool compute_first(AssignmentSet<Number>& assignments) {
    return assignments.compute(
        assignments.kHasAlike ? assignments.alike() : std::span<const Assignment>(std::array{assignments.identity()}), nodes_, types_);
  }
  // Whether no output depends on input `k`; also false if some element has no value.
  bool ignores(AssignmentSet<Number>& assignments, std::span<const std::uint8_t> outputs, std::size_t k);

  // Finds the names of inputs that may give the fingerprint. In each group, relevant inputs come first,
  // ordered by the hash of the values when all inputs are alike except that one. Inputs with equal hashes
  // are tried in all orders.
  bool find_names(AssignmentSet<Number>& assignments, std::span<const std::uint8_t> outputs);

  std::optional<Record> record(AssignmentSet<Number>& assignments, std::span<const std::uint8_t> outputs) {
    if (!find_names(assignments, outputs)) return std::nullopt;
    std::uint64_t reads = 0;
    for (const std::uint8_t o : outputs) reads |= reads_[o];
    read_.clear();
    for (const std::uint8_t leaf : assignments.inputs())
      if ((reads >> leaf & 1) != 0) read_.push_back(leaf);
    return Record{fingerprint_, structures_.structure(nodes_, outputs, read_), code(outputs)};
  }

  std::uint64_t code(std::span<const std::uint8_t> outputs) const {
    CodePrefix code;
    code.append(nodes_.size(), options_.max_operators + 1);
    for (const GrownNode& n : nodes_) append(signature_, n, code);
    if (nodes_.empty()) {
      code.append(outputs[0], signature_.leaves().size());
      return code.code();
    }
    for (const GrownNode& n : nodes_) {
      if (n.outputs == 1) continue;
      std::uint64_t set = 0;
      for (const std::uint8_t o : outputs)
        if (o >= n.first_value && o < n.first_value + n.outputs) set |= std::uint64_t{1} << (o - n.first_value);
      code.append(set, kOutputSets);
    }
    return code.code();
  }

  // Emits the graphs that are a single leaf.
  void leaves() {
    for (std::size_t k = 0; k < signature_.leaves().size(); ++k) {
      const bool first = k >= signature_.inputs() || k == signature_.group_begins()[signature_.leaves()[k].group];
      if (!first) continue;
      const Used before = used_;
      use(k);
      const std::array<std::uint8_t, 1> output = {static_cast<std::uint8_t>(k)};
      ++counts_.raw[0];
      ++counts_.plain[0];
      (*found_)(*record(assignment_set(), output));
      used_ = before;
    }
  }

  const GraphSignature& signature_;
  EnumerationOptions options_;
  std::size_t part_ = 0;
  std::size_t parts_ = 1;
  const std::function<void(const Record&)>* found_ = nullptr;
  std::size_t max_values_ = 0;
  std::vector<GrownNode> nodes_;
  std::vector<TypeId> types_;         // by value
  std::vector<std::uint8_t> levels_;  // by value
  std::vector<std::uint8_t> uses_;    // by value
  std::vector<std::uint32_t> cones_;  // by value: one bit per operation that it needs
  std::vector<std::uint64_t> reads_;  // by value: one bit per input that it needs
  Used used_;
  ValueStore<Number> store_;
  std::unordered_map<std::uint64_t, std::unique_ptr<AssignmentSet<Number>>> assignment_sets_;  // by used inputs, packed
  std::vector<std::uint8_t> outputs_;
  bool has_values_ = true;  // the growing graph has values
  enum class Repeats : std::uint8_t { unknown, no, yes };
  Repeats repeats_ = Repeats::unknown;  // of the last operation
  Structures structures_;
  // Results of the last find_names().
  struct Named {
    Assignment assignment = 0;
    std::uint64_t value = 0;
  };
  std::vector<Named> named_;
  std::uint64_t fingerprint_ = 0;
  bool ignores_ = false;  // the graph ignores some input that it reads
  Orders orders_;
  std::vector<OrderKey> keys_;
  std::vector<std::uint8_t> labels_;
  std::vector<Assignment> wanted_;
  std::vector<std::uint8_t> read_;
  std::uint64_t stamp_ = 0;
  std::size_t number_ = 0;
  EnumerationCounts counts_;
};

}  // namespace xflow::generator

#include "src/generator/enumerate/enumeration_names.h"
