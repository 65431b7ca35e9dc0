#include "src/generator/enumerate.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "src/generator/lane_set.h"

namespace xflow::generator {

namespace {

void append(const Universe& universe, const GrownNode& node, CodePrefix& code) {
  code.append(static_cast<std::uint64_t>(node.choice), universe.choices().size());
  for (std::size_t k = 0; k < node.operand_count; ++k) code.append(node.operands[k], node.first_value);
}

}  // namespace

// What does not depend on the kind of numbers.
class Evaluator::Implementation {
 public:
  Implementation() = default;
  virtual ~Implementation() = default;
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  virtual EnumerationCounts run(std::size_t part, std::size_t parts, const std::function<void(const Record&)>& found) = 0;
  virtual std::optional<Record> record(const Sketch& sketch) = 0;
  virtual std::vector<Renaming> renamings(const Sketch& sketch) = 0;
  virtual std::optional<Naming> smallest(const Sketch& sketch) = 0;
  virtual std::vector<std::uint64_t> values(const Sketch& sketch) = 0;
};

namespace {

template <typename Number>
class Enumeration final : public Evaluator::Implementation {
 public:
  Enumeration(const Universe& universe, const EnumerationOptions& options)
      : universe_(universe), options_(options), store_(universe, options) {
    max_values_ = universe.leaves().size() + 2 * options.max_operators;
    types_.resize(max_values_);
    levels_.resize(max_values_, 0);
    uses_.resize(max_values_, 0);
    cones_.resize(max_values_, 0);
    for (std::size_t k = 0; k < universe.leaves().size(); ++k) types_[k] = universe.leaves()[k].type;
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

  std::optional<Record> record(const Sketch& sketch) override {
    const LaneSet<Number>* lanes = compute(sketch, false);
    return lanes == nullptr ? std::nullopt : std::optional(record(*lanes, sketch.outputs));
  }

  std::vector<Renaming> renamings(const Sketch& sketch) override {
    std::vector<Renaming> result;
    const LaneSet<Number>* lanes = compute(sketch, false);
    if (lanes == nullptr) return result;
    find_irrelevant(*lanes, sketch.outputs);
    result.reserve(lanes->renamings());
    for (std::size_t lane = 0; lane < lanes->renamings(); ++lane) {
      Renaming r;
      r.leaves = leaves_of(*lanes, lane);
      for (const std::uint8_t o : sketch.outputs) {
        r.value += mix(lanes->hashes(o)[lane]);
        r.structure += mix(lanes->structures(o)[lane]);
      }
      r.counts = irrelevant_.empty() || names_relevant_first(*lanes, lane);
      result.push_back(std::move(r));
    }
    return result;
  }

  std::optional<Naming> smallest(const Sketch& sketch) override {
    const LaneSet<Number>* lanes = compute(sketch, false);
    if (lanes == nullptr) return std::nullopt;
    find_irrelevant(*lanes, sketch.outputs);
    Naming best;
    std::uint64_t best_structure = 0;
    std::size_t best_lane = lanes->renamings();
    for (std::size_t lane = 0; lane < lanes->renamings(); ++lane) {
      if (!irrelevant_.empty() && !names_relevant_first(*lanes, lane)) continue;
      std::uint64_t value = 0;
      std::uint64_t structure = 0;
      for (const std::uint8_t o : sketch.outputs) {
        value += mix(lanes->hashes(o)[lane]);
        structure += mix(lanes->structures(o)[lane]);
      }
      if (best_lane != lanes->renamings() && value > best.value) continue;
      if (best_lane != lanes->renamings() && value == best.value) {
        best.has_laws = best.has_laws || structure != best_structure;
        continue;
      }
      best = {{}, value, false};
      best_structure = structure;
      best_lane = lane;
    }
    if (best_lane == lanes->renamings()) return std::nullopt;
    best.leaves = leaves_of(*lanes, best_lane);
    return best;
  }

  std::vector<std::uint64_t> values(const Sketch& sketch) override {
    std::vector<std::uint64_t> result;
    const LaneSet<Number>* lanes = compute(sketch, true);
    if (lanes == nullptr) return result;
    for (const std::uint8_t o : sketch.outputs) result.push_back(lanes->hashes(o)[0]);
    return result;
  }

 private:
  void clear() {
    while (!nodes_.empty()) pop();
    used_ = {};
  }

  std::vector<std::uint8_t> leaves_of(const LaneSet<Number>& lanes, std::size_t lane) const {
    std::vector<std::uint8_t> leaves(universe_.leaves().size());
    std::iota(leaves.begin(), leaves.end(), std::uint8_t{0});
    for (std::size_t k = 0; k < lanes.used_inputs(); ++k) {
      const std::size_t leaf = lanes.used_input(k);
      leaves[leaf] = static_cast<std::uint8_t>(universe_.group_begins()[universe_.leaves()[leaf].group] + lanes.renamed(lane, k));
    }
    return leaves;
  }

  // The values of a graph, whose operations stand in any topological order; null where some element has none, and of a graph that is larger
  // than what is enumerated.
  LaneSet<Number>* compute(const Sketch& sketch, bool only_identity) {
    clear();
    if (sketch.nodes.size() > options_.max_operators) return nullptr;
    for (const SketchNode& n : sketch.nodes) {
      GrownNode node = node_of(n.choice, n.operands[0], n.operands.back());
      for (const std::uint8_t o : n.operands) use_all(o);
      if (!push(node)) return nullptr;
    }
    if (sketch.nodes.empty()) use_all(sketch.outputs[0]);
    LaneSet<Number>& lanes = lane_set(only_identity);
    return lanes.compute(nodes_, types_) ? &lanes : nullptr;
  }

  GrownNode node_of(ChoiceId choice, std::uint8_t a, std::uint8_t b) const {
    GrownNode node;
    node.choice = choice;
    node.operands[0] = a;
    node.operands[1] = b;
    node.operand_count = static_cast<std::uint8_t>(universe_.choice(choice).operands);
    node.outputs = static_cast<std::uint8_t>(universe_.choice(choice).outputs);
    return node;
  }

  std::size_t values() const {
    return nodes_.empty() ? universe_.leaves().size() : nodes_.back().first_value + std::size_t{nodes_.back().outputs};
  }

  // False where the operands do not fit.
  bool push(GrownNode node) {
    const Universe::Operation& operation =
        universe_.operation(node.choice, types_[node.operands[0]], node.operand_count > 1 ? types_[node.operands[1]] : TypeId{});
    if (operation.outputs == 0) return false;
    node.first_value = static_cast<std::uint8_t>(values());
    node.stamp = ++stamp_;
    for (std::size_t k = 0; k < node.operand_count; ++k) {
      node.level = std::max<std::uint8_t>(node.level, static_cast<std::uint8_t>(levels_[node.operands[k]] + 1));
      ++uses_[node.operands[k]];
      node.cone |= cones_[node.operands[k]];
    }
    node.cone |= 1U << nodes_.size();
    for (std::size_t k = 0; k < node.outputs; ++k) {
      types_[node.first_value + k] = operation.types[k];
      cones_[node.first_value + k] = node.cone;
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

  // Whether an input may be read next: it was used before or is the next of its group. Counts it as used.
  bool use(std::size_t value) {
    if (value >= universe_.inputs()) return true;
    const std::size_t g = universe_.leaves()[value].group;
    const std::size_t local = value - universe_.group_begins()[g];
    if (local > used_[g]) return false;
    if (local == used_[g]) used_.set(g, local + 1);
    return true;
  }

  // Counts an input, and those of its group before it, as used.
  void use_all(std::size_t value) {
    if (value >= universe_.inputs()) return;
    const std::size_t g = universe_.leaves()[value].group;
    used_.set(g, std::max(used_[g], value - universe_.group_begins()[g] + 1));
  }

  // Greater than the last operation in (level, choice, operands).
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
    for (std::size_t c = 0; c < universe_.choices().size(); ++c) {
      const auto id = static_cast<ChoiceId>(c);
      const Choice& choice = universe_.choice(id);
      // Of the level of the last operation only greater operators can follow; those above are met by any.
      const std::size_t count = values();
      for (std::size_t a = 0; a < count; ++a) {
        const Used before = used_;
        if (use(a)) {
          if (choice.operands == 1) {
            if (!universe_.is_constant(a)) try_operation(id, a, a);
          } else {
            for (std::size_t b = choice.commutative ? a : 0; b < count; ++b) {
              if (universe_.is_constant(a) && universe_.is_constant(b)) continue;
              if ((universe_.is_constant(a) && !universe_.reads(id, a)) || (universe_.is_constant(b) && !universe_.reads(id, b))) continue;
              const Used between = used_;
              if (use(b)) try_operation(id, a, b);
              used_ = between;
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
    // Operations that nobody reads; each of those to come leaves at most one less.
    std::size_t open = 0;
    for (const GrownNode& n : nodes_) {
      bool read = false;
      for (std::size_t k = 0; k < n.outputs; ++k) read = read || uses_[n.first_value + k] != 0;
      open += read ? 0 : 1;
    }
    // Work is shared out by the first two operations.
    const bool shared = nodes_.size() < 2 && options_.max_operators >= 2;
    const bool mine = shared ? part_ == 0 : nodes_.size() > (options_.max_operators >= 2 ? 2 : 1) || number_++ % parts_ == part_;
    if (open <= options_.max_outputs + left && (mine || shared)) {
      const bool has_values = !mine || emit(open);
      if (has_values && left > 0) extend();
    }
    pop();
  }

  LaneSet<Number>& lane_set(bool only_identity = false) {
    std::unique_ptr<LaneSet<Number>>& found = lane_sets_[used_.packed() << 1 | (only_identity ? 1 : 0)];
    if (!found) found = std::make_unique<LaneSet<Number>>(universe_, store_, used_, options_.max_operators, max_values_, only_identity);
    return *found;
  }

  // Graphs with the operations so far. False where an element has no value.
  bool emit(std::size_t open) {
    const bool may_emit = open <= options_.max_outputs;
    // Residues always have a value but for plans that say so; those are asked here, so that nothing is built on them.
    if (!may_emit && universe_.numbers() == Universe::Numbers::field) return true;
    LaneSet<Number>& lanes = lane_set();
    if (!lanes.compute(nodes_, types_)) {
      ++counts_.without_value;
      return false;
    }
    if (may_emit) {
      outputs_.clear();
      choose_outputs(lanes, 0);
    }
    return true;
  }

  void choose_outputs(LaneSet<Number>& lanes, std::size_t node) {
    if (outputs_.size() > options_.max_outputs) return;
    if (node == nodes_.size()) {
      if (outputs_.empty()) return;
      ++counts_.raw[nodes_.size()];
      if (outputs_.size() == 1) ++counts_.plain[nodes_.size()];
      (*found_)(record(lanes, outputs_));
      return;
    }
    const GrownNode& n = nodes_[node];
    const std::size_t before = outputs_.size();
    const std::uint8_t first = n.first_value;
    if (n.outputs == 1) {
      if (uses_[first] == 0) outputs_.push_back(first);
      choose_outputs(lanes, node + 1);
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
      choose_outputs(lanes, node + 1);
      outputs_.resize(before);
    }
  }

  Record record(const LaneSet<Number>& lanes, std::span<const std::uint8_t> outputs) {
    Record r;
    find_irrelevant(lanes, outputs);
    r.fingerprint = r.structure = UINT64_MAX;
    for (std::size_t lane = 0; lane < lanes.renamings(); ++lane) {
      std::uint64_t structure = 0;
      std::uint64_t value = 0;
      for (const std::uint8_t o : outputs) {
        structure += mix(lanes.structures(o)[lane]);
        value += mix(lanes.hashes(o)[lane]);
      }
      r.structure = std::min(r.structure, structure);
      if (irrelevant_.empty() || names_relevant_first(lanes, lane)) r.fingerprint = std::min(r.fingerprint, value);
    }
    r.code = code(outputs);
    return r;
  }

  // Inputs on which no output depends.
  void find_irrelevant(const LaneSet<Number>& lanes, std::span<const std::uint8_t> outputs) {
    irrelevant_.clear();
    for (std::size_t k = 0; k < lanes.used_inputs(); ++k) {
      bool changes = false;
      for (const std::uint8_t o : outputs) changes = changes || lanes.hashes(o)[lanes.lane_without(k)] != lanes.hashes(o)[0];
      if (!changes) irrelevant_.push_back(k);
    }
  }

  // Whether a renaming gives the inputs that matter the first values of their groups, as in a graph without the others.
  bool names_relevant_first(const LaneSet<Number>& lanes, std::size_t lane) const {
    for (std::size_t k = 0; k < lanes.used_inputs(); ++k) {
      const std::size_t group = universe_.leaves()[lanes.used_input(k)].group;
      std::size_t dropped = 0;
      std::size_t used = 0;
      bool is_dropped = false;
      for (std::size_t n = 0; n < lanes.used_inputs(); ++n) {
        if (universe_.leaves()[lanes.used_input(n)].group != group) continue;
        ++used;
        const bool d = std::find(irrelevant_.begin(), irrelevant_.end(), n) != irrelevant_.end();
        dropped += d ? 1 : 0;
        is_dropped = is_dropped || (d && n == k);
      }
      if (!is_dropped && lanes.renamed(lane, k) >= used - dropped) return false;
    }
    return true;
  }

  std::uint64_t code(std::span<const std::uint8_t> outputs) const {
    CodePrefix code;
    code.append(nodes_.size(), options_.max_operators + 1);
    for (const GrownNode& n : nodes_) append(universe_, n, code);
    if (nodes_.empty()) {
      code.append(outputs[0], universe_.leaves().size());
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

  // Graphs that are a single leaf.
  void leaves() {
    for (std::size_t k = 0; k < universe_.leaves().size(); ++k) {
      const bool first = k >= universe_.inputs() || k == universe_.group_begins()[universe_.leaves()[k].group];
      if (!first) continue;
      const Used before = used_;
      use(k);
      const std::array<std::uint8_t, 1> output = {static_cast<std::uint8_t>(k)};
      ++counts_.raw[0];
      ++counts_.plain[0];
      LaneSet<Number>& lanes = lane_set();
      lanes.compute(std::span<const GrownNode>(), types_);
      (*found_)(record(lanes, output));
      used_ = before;
    }
  }

  const Universe& universe_;
  EnumerationOptions options_;
  std::size_t part_ = 0;
  std::size_t parts_ = 1;
  const std::function<void(const Record&)>* found_ = nullptr;
  std::size_t max_values_ = 0;
  std::vector<GrownNode> nodes_;
  std::vector<TypeId> types_;         // by value
  std::vector<std::uint8_t> levels_;  // by value
  std::vector<std::uint8_t> uses_;    // by value
  std::vector<std::uint32_t> cones_;  // by value: a bit for each operation that it needs
  Used used_;
  ValueStore<Number> store_;
  std::unordered_map<std::uint64_t, std::unique_ptr<LaneSet<Number>>> lane_sets_;  // by used inputs
  std::vector<std::uint8_t> outputs_;
  std::vector<std::size_t> irrelevant_;
  std::uint64_t stamp_ = 0;
  std::size_t number_ = 0;
  EnumerationCounts counts_;
};

}  // namespace

Result<EnumerationCounts> enumerate(const Universe& universe, const EnumerationOptions& options, std::size_t part, std::size_t parts,
                                    const std::function<void(const Record&)>& found) {
  return Evaluator(universe, options).enumerate(part, parts, found);
}

std::uint64_t structure_of(const Universe& universe, const Sketch& sketch, std::vector<std::uint8_t>* leaves) {
  // Used inputs, group by group in ascending order; their new numbers are tried in all orders.
  std::vector<std::uint8_t> used;
  const auto use = [&](std::uint8_t leaf) {
    if (leaf < universe.inputs() && std::find(used.begin(), used.end(), leaf) == used.end()) used.push_back(leaf);
  };
  for (const SketchNode& n : sketch.nodes)
    for (const std::uint8_t o : n.operands) use(o);
  if (sketch.nodes.empty()) use(sketch.outputs[0]);
  std::sort(used.begin(), used.end());
  std::vector<std::size_t> ends;  // of groups
  for (std::size_t k = 0; k < used.size(); ++k)
    if (k + 1 == used.size() || universe.leaves()[used[k]].group != universe.leaves()[used[k + 1]].group) ends.push_back(k + 1);
  std::vector<std::uint64_t> values(universe.leaves().size() + 2 * sketch.nodes.size());
  for (std::size_t k = universe.inputs(); k < universe.leaves().size(); ++k) values[k] = constant_structure(k);
  std::uint64_t best = UINT64_MAX;
  std::vector<std::uint8_t> order = used;
  std::vector<std::uint8_t> best_order = used;
  const auto try_groups = [&](auto&& self, std::size_t group) -> void {
    if (group < ends.size()) {
      const std::size_t begin = group == 0 ? 0 : ends[group - 1];
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = order.begin() + static_cast<std::ptrdiff_t>(ends[group]);
      do {
        for (std::size_t k = begin; k < ends[group]; ++k)
          values[order[k]] = input_structure(universe, universe.leaves()[order[k]].type, k - begin);
        self(self, group + 1);
      } while (std::next_permutation(first, last));
      return;
    }
    std::size_t value = universe.leaves().size();
    for (const SketchNode& n : sketch.nodes) {
      const std::uint64_t a = values[n.operands[0]];
      const std::uint64_t b = values[n.operands.back()];
      for (std::size_t output = 0; output < universe.choice(n.choice).outputs; ++output)
        values[value++] = node_structure(universe, n.choice, output, a, b, n.operands.size());
    }
    std::uint64_t structure = 0;
    for (const std::uint8_t o : sketch.outputs) structure += mix(values[o]);
    if (structure >= best) return;
    best = structure;
    best_order = order;
  };
  try_groups(try_groups, 0);
  if (leaves != nullptr) {
    leaves->resize(universe.leaves().size());
    std::iota(leaves->begin(), leaves->end(), std::uint8_t{0});
    for (std::size_t k = 0, begin = 0, group = 0; k < best_order.size(); ++k) {
      if (k == ends[group]) begin = ends[group++];
      (*leaves)[best_order[k]] = static_cast<std::uint8_t>(universe.group_begins()[universe.leaves()[best_order[k]].group] + k - begin);
    }
  }
  return best;
}

Evaluator::Evaluator(const Universe& universe, const EnumerationOptions& options) : universe_(&universe), options_(options) {
  switch (universe.numbers()) {
    case Universe::Numbers::pairs:
      implementation_ = std::make_unique<Enumeration<Pair>>(universe, options);
      break;
    case Universe::Numbers::integers:
      implementation_ = std::make_unique<Enumeration<Integer>>(universe, options);
      break;
    case Universe::Numbers::field:
      implementation_ = std::make_unique<Enumeration<Residue>>(universe, options);
      break;
  }
}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Result<EnumerationCounts> Evaluator::enumerate(std::size_t part, std::size_t parts, const std::function<void(const Record&)>& found) {
  XFLOW_CHECK(GraphCodec::make(*universe_, options_.max_operators));
  return implementation_->run(part, parts, found);
}
std::optional<Record> Evaluator::record(const Sketch& sketch) { return implementation_->record(sketch); }
std::vector<Renaming> Evaluator::renamings(const Sketch& sketch) { return implementation_->renamings(sketch); }
std::optional<Naming> Evaluator::smallest(const Sketch& sketch) { return implementation_->smallest(sketch); }
std::vector<std::uint64_t> Evaluator::values(const Sketch& sketch) { return implementation_->values(sketch); }

}  // namespace xflow::generator
