#include "src/generator/enumerate/candidates.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "src/generator/enumerate/pairs.h"

namespace xflow::generator {
namespace {

// Builds a graph operation by operation; equal operations are one.
class SketchBuilder {
 public:
  explicit SketchBuilder(const Universe& universe) : universe_(universe), values_(universe.leaves().size()) {}

  std::uint8_t add(ChoiceId choice, std::vector<std::uint8_t> operands, std::size_t output) {
    if (universe_.choice(choice).commutative) std::sort(operands.begin(), operands.end());
    const auto [found, added] = known_.try_emplace({choice, operands}, static_cast<std::uint8_t>(values_));
    if (added) {
      sketch_.nodes.push_back({choice, std::move(operands)});
      values_ += universe_.choice(choice).outputs;
    }
    return static_cast<std::uint8_t>(found->second + output);
  }
  Sketch finish(std::vector<std::uint8_t> outputs) {
    sketch_.outputs = std::move(outputs);
    return std::move(sketch_);
  }

 private:
  const Universe& universe_;
  std::size_t values_;
  std::map<std::pair<ChoiceId, std::vector<std::uint8_t>>, std::uint8_t> known_;
  Sketch sketch_;
};

// Where each value of a graph comes from: node and output.
struct Origin {
  std::size_t node = 0;
  std::size_t output = 0;
};
std::vector<Origin> origins(const Universe& universe, const Sketch& sketch) {
  std::vector<Origin> result(universe.leaves().size());
  for (std::size_t k = 0; k < sketch.nodes.size(); ++k)
    for (std::size_t o = 0; o < universe.choice(sketch.nodes[k].choice).outputs; ++o) result.push_back({k, o});
  return result;
}

// Copies what a value needs into a builder; `put` says what a value becomes instead of its copy.
class Copier {
 public:
  Copier(const Universe& universe, const Sketch& sketch, SketchBuilder& into)
      : universe_(universe), sketch_(sketch), origins_(origins(universe, sketch)), into_(into) {}
  void put(std::uint8_t value, std::uint8_t copy) { copies_[value] = copy; }
  std::uint8_t copy(std::uint8_t value) {
    if (const auto found = copies_.find(value); found != copies_.end()) return found->second;
    if (value < universe_.leaves().size()) return value;
    const SketchNode& node = sketch_.nodes[origins_[value].node];
    std::vector<std::uint8_t> operands;
    operands.reserve(node.operands.size());
    for (const std::uint8_t o : node.operands) operands.push_back(copy(o));
    return copies_[value] = into_.add(node.choice, std::move(operands), origins_[value].output);
  }

 private:
  const Universe& universe_;
  const Sketch& sketch_;
  std::vector<Origin> origins_;
  SketchBuilder& into_;
  std::map<std::uint8_t, std::uint8_t> copies_;
};

// The outputs of several graphs on the same inputs as those of one.
Sketch join(const Universe& universe, std::span<const Sketch> sketches) {
  SketchBuilder builder(universe);
  std::vector<std::uint8_t> outputs;
  for (const Sketch& s : sketches) {
    Copier copier(universe, s, builder);
    for (const std::uint8_t o : s.outputs) outputs.push_back(copier.copy(o));
  }
  return builder.finish(std::move(outputs));
}

}  // namespace

std::set<std::uint8_t> inputs_of(const Universe& universe, const Sketch& sketch) {
  std::set<std::uint8_t> result;
  for (const SketchNode& n : sketch.nodes)
    for (const std::uint8_t o : n.operands)
      if (o < universe.inputs()) result.insert(o);
  for (const std::uint8_t o : sketch.outputs)
    if (o < universe.inputs()) result.insert(o);
  return result;
}

Sketch rename(const Universe& universe, const Sketch& sketch, std::span<const std::uint8_t> leaves) {
  Sketch result = sketch;
  const auto renamed = [&](std::uint8_t v) { return v < universe.leaves().size() ? leaves[v] : v; };
  for (SketchNode& n : result.nodes) {
    for (std::uint8_t& o : n.operands) o = renamed(o);
    if (universe.choice(n.choice).commutative) std::sort(n.operands.begin(), n.operands.end());
  }
  for (std::uint8_t& o : result.outputs) o = renamed(o);
  return result;
}

Sketch with_outputs(const Universe& universe, const Sketch& sketch, std::span<const std::uint8_t> outputs) {
  SketchBuilder builder(universe);
  Copier copier(universe, sketch, builder);
  std::vector<std::uint8_t> copies;
  copies.reserve(outputs.size());
  for (const std::uint8_t o : outputs) copies.push_back(copier.copy(o));
  return builder.finish(std::move(copies));
}

Sketch part_of(const Universe& universe, const Sketch& sketch, std::uint8_t value) {
  return with_outputs(universe, sketch, std::span(&value, 1));
}

Sketch replace(const Universe& universe, const Sketch& sketch, std::uint8_t value, const Sketch& by) {
  SketchBuilder builder(universe);
  Copier inside(universe, by, builder);
  const std::uint8_t replacement = inside.copy(by.outputs[0]);
  Copier outside(universe, sketch, builder);
  outside.put(value, replacement);
  std::vector<std::uint8_t> outputs;
  outputs.reserve(sketch.outputs.size());
  for (const std::uint8_t o : sketch.outputs) outputs.push_back(outside.copy(o));
  return builder.finish(std::move(outputs));
}

int weight_of(const Universe& universe, const Sketch& sketch) {
  int weight = 0;
  for (const SketchNode& n : sketch.nodes) weight += universe.choice(n.choice).weight;
  return weight;
}

namespace {

EnumerationOptions other_numbers(EnumerationOptions options) {
  ++options.seed;
  options.sizes = Universe::kAssignments - 1;
  return options;
}

// How many operations the outputs of a graph of several need by themselves: of graphs of one size the one that shares less is larger.
std::size_t separate_of(const Universe& universe, const Sketch& sketch) {
  std::size_t separate = 0;
  for (const std::uint8_t o : sketch.outputs) separate += sketch.outputs.size() > 1 ? part_of(universe, sketch, o).nodes.size() : 0;
  return separate;
}

// Whether every sum with an identity is one of a tensor of that type and is read by one product with something else that is no constant.
bool uses_identities(const Universe& universe, const Sketch& sketch) {
  const auto is_identity = [&](std::uint8_t o) {
    return o < universe.leaves().size() && universe.leaves()[o].readers == Leaf::Readers::sums;
  };
  std::vector<TypeId> types;
  types.reserve(universe.leaves().size() + 2 * sketch.nodes.size());
  for (const Leaf& leaf : universe.leaves()) types.push_back(leaf.type);
  for (const SketchNode& n : sketch.nodes) {
    const std::size_t sum = types.size();
    std::array<TypeId, 2> operands{};
    for (std::size_t k = 0; k < n.operands.size(); ++k) operands[k] = types[n.operands[k]];
    const std::span<const TypeId> outputs = universe.type(n.choice, std::span(operands).first(n.operands.size()));
    types.insert(types.end(), outputs.begin(), outputs.end());
    if (std::none_of(n.operands.begin(), n.operands.end(), is_identity)) continue;
    if (operands[0] != operands[1]) return false;
    std::size_t reads = 0;
    for (const SketchNode& user : sketch.nodes) {
      if (std::find(user.operands.begin(), user.operands.end(), sum) == user.operands.end()) continue;
      const Shape shape = universe.choice(user.choice).shape;
      if (shape != Shape::matmul && shape != Shape::convolution && shape != Shape::depthwise) return false;
      if (user.operands[0] == user.operands[1] || universe.is_constant(user.operands[0]) || universe.is_constant(user.operands[1]))
        return false;
      ++reads;
    }
    if (reads != 1) return false;
  }
  return true;
}

}  // namespace

// Requires that codes of this size fit, which enumeration says.
Candidates::Candidates(const Universe& universe, const EnumerationOptions& options)
    : universe_(universe),
      options_(options),
      codec_(GraphCodec::make(universe, options.max_operators).value()),
      evaluator_(universe, options),
      again_(universe, other_numbers(options)) {}

void Candidates::find_parts(const Sketch& sketch, std::size_t nodes) {
  std::size_t common = 0;
  while (common < std::min(parts_nodes_.size(), nodes) && parts_nodes_[common] == sketch.nodes[common]) ++common;
  parts_nodes_.resize(common);
  std::size_t values = 0;
  for (const SketchNode& n : parts_nodes_) values += universe_.choice(n.choice).outputs;
  parts_.resize(values);
  for (std::size_t k = common; k < nodes; ++k) {
    parts_nodes_.push_back(sketch.nodes[k]);
    for (std::size_t o = 0; o < universe_.choice(sketch.nodes[k].choice).outputs; ++o) {
      const Sketch part = part_of(universe_, sketch, static_cast<std::uint8_t>(universe_.leaves().size() + parts_.size()));
      std::vector<std::uint8_t> names;
      const std::uint64_t structure = structure_of(universe_, part, &names);
      Part& p = parts_.emplace_back();
      p.is_idle = idle_.contains(structure);
      const auto found = representative_of_.find(structure);
      if (found == representative_of_.end()) continue;
      // The representative on the inputs of the part.
      std::vector<std::uint8_t> back(names.size());
      std::iota(back.begin(), back.end(), std::uint8_t{0});
      for (const std::uint8_t input : inputs_of(universe_, part)) back[names[input]] = input;
      p.smaller = rename(universe_, codec_.decode(found->second), back);
    }
  }
}

// How many operations of a graph are parts of it: the one that gives its only output is the whole.
std::size_t Candidates::nodes_of_parts(const Sketch& sketch) { return sketch.nodes.size() - (sketch.outputs.size() == 1 ? 1 : 0); }

bool Candidates::follows_from_smaller(const Sketch& sketch, std::uint64_t structure) {
  if (sketch.nodes.empty()) return false;
  const Rank rank{sketch.nodes.size(), weight_of(universe_, sketch), structure};
  const std::size_t separate = separate_of(universe_, sketch);
  find_parts(sketch, nodes_of_parts(sketch));
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    if (!parts_[k].smaller) continue;
    const Sketch smaller = replace(universe_, sketch, static_cast<std::uint8_t>(universe_.leaves().size() + k), *parts_[k].smaller);
    if (smaller.nodes.size() <= options_.max_operators && is_less(smaller, rank, separate)) return true;
  }
  return false;
}

bool Candidates::has_idle_part(const Sketch& sketch) {
  if (idle_.empty() || sketch.nodes.empty()) return false;
  find_parts(sketch, nodes_of_parts(sketch));
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.is_idle; });
}

bool Candidates::is_less(const Sketch& sketch, const Rank& rank, std::size_t separate) const {
  if (sketch.nodes.size() != rank.operators) return sketch.nodes.size() < rank.operators;
  const int weight = weight_of(universe_, sketch);
  if (weight != rank.weight) return weight < rank.weight;
  const std::size_t own = separate_of(universe_, sketch);
  return own != separate ? own < separate : structure_of(universe_, sketch) < rank.structure;
}

void Candidates::look_at(const Record& record, bool is_representative, Known& known, const Found& found) {
  const Sketch sketch = codec_.decode(record.code);
  if (sketch.outputs.size() > 1) {
    pair_apart(sketch, record.structure, found);
    return;
  }
  known.is_idle = has_idle_part(sketch);
  known.is_reducible = !is_representative && !known.is_idle && follows_from_smaller(sketch, record.structure);
  if (!is_representative && (known.is_idle || known.is_reducible)) return;
  const std::vector<Naming> namings = evaluator_.namings(sketch);
  if (namings.empty()) return;
  const Naming& first = namings.front();
  known.value = first.value;
  known.ignores = first.ignores;
  if (!known.is_alone) {
    const std::vector<std::uint64_t> again = again_.values(sketch, first.leaves);
    known.has_values = !again.empty();
    if (known.has_values) known.again = again[0];
    known.named = codec_.encode(rename(universe_, sketch, first.leaves));
  }
  if (!is_representative) return;
  // Renamings of the representative to itself: the laws of commutation.
  std::set<std::uint64_t> structures = {first.structure};
  for (const Naming& n : namings) {
    if (!structures.insert(n.structure).second) continue;
    ++counts_.pairs;
    if (known.is_idle || known.ignores) {
      ++counts_.idle;
      break;
    }
    found({rename(universe_, sketch, n.leaves), rename(universe_, sketch, first.leaves)});
  }
}

void Candidates::pair(const Known& member, const Known& representative, const Found& found) {
  ++counts_.pairs;
  if (representative.ignores || member.is_idle || representative.is_idle) {
    ++counts_.idle;
    return;
  }
  if (member.is_reducible) {
    ++counts_.reducible;
    return;
  }
  if (!member.has_values || !representative.has_values || member.value != representative.value || member.again != representative.again) {
    ++counts_.accidents;
    return;
  }
  Candidate c{codec_.decode(member.named), codec_.decode(representative.named)};
  const std::set<std::uint8_t> left = inputs_of(universe_, c.source);
  const std::set<std::uint8_t> right = inputs_of(universe_, c.target);
  if (!std::includes(left.begin(), left.end(), right.begin(), right.end()) &&
      !std::includes(right.begin(), right.end(), left.begin(), left.end())) {
    ++counts_.dropped;
    return;
  }
  found(std::move(c));
}

bool Candidates::are_equal_again(const Candidate& c) {
  const std::vector<std::uint64_t> values = again_.values(c.source);
  return !values.empty() && values == again_.values(c.target);
}

std::optional<Naming> Candidates::first_naming(const Sketch& sketch) {
  std::vector<Naming> all = evaluator_.namings(sketch);
  return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
}

std::optional<Sketch> Candidates::smallest_like(const Sketch& part) {
  const std::optional<Naming> naming = first_naming(part);
  if (!naming) return std::nullopt;
  const auto found = std::lower_bound(smallest_.begin(), smallest_.end(), std::pair(naming->value, std::uint64_t{0}));
  if (found == smallest_.end() || found->first != naming->value) return std::nullopt;
  const Sketch representative = codec_.decode(found->second);
  const std::optional<Naming> of_representative = first_naming(representative);
  if (!of_representative || of_representative->value != naming->value) return std::nullopt;
  std::vector<std::uint8_t> back(naming->leaves.size());
  for (std::size_t k = 0; k < back.size(); ++k) back[naming->leaves[k]] = static_cast<std::uint8_t>(k);
  return rename(universe_, rename(universe_, representative, of_representative->leaves), back);
}

Sketch Candidates::with_ends_of(const Sketch& part, Sketch smallest) {
  if (part.nodes.empty()) return smallest;
  const SketchNode& last = part.nodes.back();
  if (universe_.choice(last.choice).outputs != 1) return smallest;
  std::vector<Sketch> operands;
  for (const std::uint8_t o : last.operands) {
    const Sketch below = part_of(universe_, part, o);
    std::optional<Sketch> found = o < universe_.leaves().size() ? below : smallest_like(below);
    if (!found) return smallest;
    operands.push_back(with_ends_of(below, *std::move(found)));
  }
  Sketch all = join(universe_, operands);
  SketchNode end{last.choice, all.outputs};
  if (universe_.choice(end.choice).commutative) std::sort(end.operands.begin(), end.operands.end());
  std::size_t value = universe_.leaves().size();
  for (const SketchNode& n : all.nodes) value += universe_.choice(n.choice).outputs;
  all.nodes.push_back(std::move(end));
  all.outputs = {static_cast<std::uint8_t>(value)};
  const bool is_as_small = all.nodes.size() == smallest.nodes.size() && weight_of(universe_, all) == weight_of(universe_, smallest);
  return is_as_small ? all : smallest;
}

void Candidates::pair_apart(const Sketch& target, std::uint64_t structure, const Found& found) {
  ++counts_.pairs;
  if (has_idle_part(target)) {
    ++counts_.idle;
    return;
  }
  std::vector<Sketch> apart;
  for (const std::uint8_t o : target.outputs) {
    std::optional<Sketch> smallest = smallest_like(part_of(universe_, target, o));
    if (!smallest || smallest->nodes.empty()) {
      ++counts_.no_gain;
      return;
    }
    apart.push_back(*std::move(smallest));
  }
  const auto gains = [&](const Candidate& c) {
    return c.source.nodes.size() <= options_.max_operators && can_gain_together(universe_, c.source, c.target);
  };
  Candidate c{join(universe_, apart), target};
  if (!gains(c)) {
    ++counts_.no_gain;
    return;
  }
  if (follows_from_smaller(target, structure)) {
    ++counts_.reducible;
    return;
  }
  for (std::size_t k = 0; k < apart.size(); ++k)
    apart[k] = with_ends_of(part_of(universe_, target, target.outputs[k]), std::move(apart[k]));
  if (Candidate ended{join(universe_, apart), target}; gains(ended)) c = std::move(ended);
  if (!are_equal_again(c)) {
    ++counts_.accidents;
    return;
  }
  c = without_common_ends(universe_, std::move(c), [&](const Sketch& s) { return again_.values(s); });
  if (are_two_rewrites(universe_, c)) {
    ++counts_.no_gain;
    return;
  }
  found(std::move(c));
}

// The representative of each class is the first of its members in rank.
std::vector<Candidates::Class> Candidates::classes(std::vector<Record>& records) const {
  std::sort(records.begin(), records.end());
  records.erase(std::unique(records.begin(), records.end(),
                            [](const Record& a, const Record& b) { return a.fingerprint == b.fingerprint && a.structure == b.structure; }),
                records.end());
  const auto rank = [&](const Record& r) {
    const Sketch sketch = codec_.decode(r.code);
    return Rank{sketch.nodes.size(), weight_of(universe_, sketch), r.structure};
  };
  std::vector<Class> result;
  for (std::size_t begin = 0; begin < records.size();) {
    std::size_t end = begin;
    while (end < records.size() && records[end].fingerprint == records[begin].fingerprint) ++end;
    Class c{begin, end, begin};
    if (end - begin > 1) {
      Rank best = rank(records[begin]);
      for (std::size_t k = begin + 1; k < end; ++k) {
        const Rank r = rank(records[k]);
        if (r < best) {
          best = r;
          c.representative = k;
        }
      }
    }
    result.push_back(c);
    begin = end;
  }
  return result;
}

void Candidates::leave_out(std::vector<Record>& records) const {
  const auto leaves = universe_.leaves();
  if (std::none_of(leaves.begin(), leaves.end(), [](const Leaf& l) { return l.readers == Leaf::Readers::sums; })) return;
  std::erase_if(records, [&](const Record& r) { return !uses_identities(universe_, codec_.decode(r.code)); });
}

void Candidates::learn(std::vector<Record>& smaller) {
  leave_out(smaller);
  for (const Class& c : classes(smaller)) {
    const Sketch representative = codec_.decode(smaller[c.representative].code);
    if (representative.outputs.size() > 1) continue;
    const std::optional<Naming> of_representative = first_naming(representative);
    if (!of_representative) continue;
    const bool is_leaf = representative.nodes.empty();
    const bool idle = is_leaf ? representative.outputs[0] >= universe_.inputs() : of_representative->ignores;
    for (std::size_t k = c.begin; k < c.end; ++k)
      if (idle && (!is_leaf || k != c.representative)) idle_.insert(smaller[k].structure);
    if (!idle) smallest_.emplace_back(smaller[c.representative].fingerprint, smaller[c.representative].code);
    if (c.end - c.begin == 1) continue;
    const Sketch named = rename(universe_, representative, of_representative->leaves);
    for (std::size_t k = c.begin; k < c.end; ++k) {
      if (k == c.representative) continue;
      Sketch member = codec_.decode(smaller[k].code);
      const std::optional<Naming> of_member = first_naming(member);
      if (!of_member || of_member->value != of_representative->value) continue;
      member = rename(universe_, member, of_member->leaves);
      const std::set<std::uint8_t> left = inputs_of(universe_, member);
      const std::set<std::uint8_t> right = inputs_of(universe_, named);
      if (!std::includes(left.begin(), left.end(), right.begin(), right.end())) continue;
      std::vector<std::uint8_t> names;
      structure_of(universe_, member, &names);
      representative_of_.emplace(smaller[k].structure, codec_.encode(rename(universe_, named, names)));
    }
  }
}

void Candidates::find(std::vector<Record>& records, const Found& found) {
  counts_ = {};
  const std::size_t before = records.size();
  leave_out(records);
  counts_.in_vain = before - records.size();
  const std::vector<Class> all_classes = classes(records);
  counts_.graphs = records.size();
  counts_.classes = all_classes.size();
  std::vector<Known> known(records.size());
  std::vector<std::pair<std::uint64_t, std::size_t>> order;  // graphs that share operations one after the other
  order.reserve(records.size());
  std::vector<bool> is_representative(records.size(), false);
  for (const Class& c : all_classes) {
    is_representative[c.representative] = true;
    for (std::size_t k = c.begin; k < c.end; ++k) {
      known[k].is_alone = c.end - c.begin == 1;
      order.emplace_back(GraphCodec::order(codec_.decode(records[k].code)), k);
    }
  }
  std::sort(order.begin(), order.end());
  for (const auto& [key, k] : order) look_at(records[k], is_representative[k], known[k], found);
  for (const Class& c : all_classes) {
    if (c.end - c.begin == 1 || codec_.decode(records[c.representative].code).outputs.size() > 1) continue;
    for (std::size_t k = c.begin; k < c.end; ++k)
      if (k != c.representative) pair(known[k], known[c.representative], found);
  }
}

std::vector<Candidate> Candidates::find(std::vector<Record>& records) {
  std::vector<Candidate> result;
  find(records, [&](Candidate c) { result.push_back(std::move(c)); });
  return result;
}

}  // namespace xflow::generator
