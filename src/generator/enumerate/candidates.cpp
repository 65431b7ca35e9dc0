#include "src/generator/enumerate/candidates.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "src/generator/enumerate/pairs.h"

namespace xflow::generator {
namespace {

EnumerationOptions other_numbers(EnumerationOptions options) {
  ++options.seed;
  options.sizes = GraphSignature::kAssignments - 1;
  return options;
}

// How many operations the outputs of a graph need by themselves: a graph that shares less is larger.
std::size_t separate_of(const GraphSignature& signature, const SmallGraph& graph) {
  std::size_t separate = 0;
  for (const std::uint8_t o : graph.outputs) separate += graph.outputs.size() > 1 ? part_of(signature, graph, o).nodes.size() : 0;
  return separate;
}

}  // namespace

// Requires that codes of this size fit, which enumeration says.
Candidates::Candidates(const GraphSignature& signature, const EnumerationOptions& options)
    : signature_(signature),
      options_(options),
      codec_(GraphCodec::make(signature, options.max_operators).value()),
      evaluator_(signature, options),
      confirmation_(signature, other_numbers(options)) {}

void Candidates::find_parts(const SmallGraph& graph, std::size_t nodes) {
  std::size_t common = 0;
  while (common < std::min(parts_nodes_.size(), nodes) && parts_nodes_[common] == graph.nodes[common]) ++common;
  parts_nodes_.resize(common);
  std::size_t values = 0;
  for (const SmallGraphNode& n : parts_nodes_) values += signature_.choice(n.choice).outputs;
  parts_.resize(values);
  for (std::size_t k = common; k < nodes; ++k) {
    parts_nodes_.push_back(graph.nodes[k]);
    for (std::size_t o = 0; o < signature_.choice(graph.nodes[k].choice).outputs; ++o) {
      const SmallGraph part = part_of(signature_, graph, static_cast<std::uint8_t>(signature_.leaves().size() + parts_.size()));
      std::vector<std::uint8_t> names;
      const std::uint64_t structure = structure_of(signature_, part, &names);
      Part& p = parts_.emplace_back();
      p.is_idle = idle_.contains(structure);
      const auto found = representative_of_.find(structure);
      if (found == representative_of_.end()) continue;
      // The representative on the inputs of the part.
      std::vector<std::uint8_t> back(names.size());
      std::iota(back.begin(), back.end(), std::uint8_t{0});
      for (const std::uint8_t input : inputs_of(signature_, part)) back[names[input]] = input;
      p.smaller = rename(signature_, codec_.decode(found->second), back);
    }
  }
}

// How many operations of a graph are parts of it: the one that gives its only output is the whole.
std::size_t Candidates::nodes_of_parts(const SmallGraph& graph) { return graph.nodes.size() - (graph.outputs.size() == 1 ? 1 : 0); }

bool Candidates::follows_from_smaller(const SmallGraph& graph, std::uint64_t structure) {
  if (graph.nodes.empty()) return false;
  const Rank rank{graph.nodes.size(), weight_of(signature_, graph), structure};
  const std::size_t separate = separate_of(signature_, graph);
  find_parts(graph, nodes_of_parts(graph));
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    if (!parts_[k].smaller) continue;
    const SmallGraph smaller = replace(signature_, graph, static_cast<std::uint8_t>(signature_.leaves().size() + k), *parts_[k].smaller);
    if (smaller.nodes.size() <= options_.max_operators && is_less(smaller, rank, separate)) return true;
  }
  return false;
}

bool Candidates::has_idle_part(const SmallGraph& graph) {
  if (idle_.empty() || graph.nodes.empty()) return false;
  find_parts(graph, nodes_of_parts(graph));
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.is_idle; });
}

bool Candidates::is_less(const SmallGraph& graph, const Rank& rank, std::size_t separate) const {
  if (graph.nodes.size() != rank.operators) return graph.nodes.size() < rank.operators;
  const int weight = weight_of(signature_, graph);
  if (weight != rank.weight) return weight < rank.weight;
  const std::size_t own = separate_of(signature_, graph);
  return own != separate ? own < separate : structure_of(signature_, graph) < rank.structure;
}

void Candidates::consider(const Record& record, bool is_representative, Known& known, const Found& found) {
  const SmallGraph graph = codec_.decode(record.code);
  if (graph.outputs.size() > 1) {
    pair_apart(graph, record.structure, found);
    return;
  }
  known.is_idle = has_idle_part(graph);
  known.is_reducible = !is_representative && !known.is_idle && follows_from_smaller(graph, record.structure);
  if (!is_representative && (known.is_idle || known.is_reducible)) return;
  const std::vector<Naming> namings = evaluator_.namings(graph);
  if (namings.empty()) return;
  const Naming& first = namings.front();
  known.value = first.value;
  known.ignores = first.ignores;
  if (!known.is_alone) {
    const std::vector<std::uint64_t> values = confirmation_.values(graph, first.leaves);
    known.has_values = !values.empty();
    if (known.has_values) known.check = values[0];
    known.named = codec_.encode(rename(signature_, graph, first.leaves));
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
    found({rename(signature_, graph, n.leaves), rename(signature_, graph, first.leaves)});
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
  if (!seem_equal(member, representative)) {
    ++counts_.accidents;
    return;
  }
  std::optional<RuleCandidate> c = candidate_of(member, representative);
  if (!c) {
    ++counts_.dropped;
    return;
  }
  found(*std::move(c));
}

bool Candidates::seem_equal(const Known& a, const Known& b) {
  return a.has_values && b.has_values && a.value == b.value && a.check == b.check;
}

std::optional<RuleCandidate> Candidates::candidate_of(const Known& source, const Known& target) const {
  RuleCandidate c{codec_.decode(source.named), codec_.decode(target.named)};
  const std::set<std::uint8_t> left = inputs_of(signature_, c.source);
  const std::set<std::uint8_t> right = inputs_of(signature_, c.target);
  if (!std::includes(left.begin(), left.end(), right.begin(), right.end()) &&
      !std::includes(right.begin(), right.end(), left.begin(), left.end()))
    return std::nullopt;
  return c;
}

void Candidates::pair_folded(const std::vector<Record>& records, const Class& members, const std::vector<Known>& known,
                             const Found& folded) {
  const Known& representative = known[members.representative];
  if (representative.ignores || representative.is_idle) return;
  const auto rank = [&](std::size_t k) {
    return rank_with_constant_parameters(signature_, codec_.decode(records[k].code), records[k].structure);
  };
  const auto counts = [&](std::size_t k) {
    return k == members.representative || (!known[k].is_idle && !known[k].is_reducible && seem_equal(known[k], representative));
  };
  const auto costs_less = [](const Rank& a, const Rank& b) { return std::pair(a.operators, a.weight) < std::pair(b.operators, b.weight); };
  const Rank of_representative = rank(members.representative);
  std::size_t least = members.representative;
  Rank best = of_representative;
  for (std::size_t k = members.begin; k < members.end; ++k) {
    if (!counts(k)) continue;
    const Rank r = rank(k);
    if (!costs_less(r, of_representative) || !(r < best)) continue;
    best = r;
    least = k;
  }
  if (least == members.representative) return;
  for (std::size_t k = members.begin; k < members.end; ++k) {
    if (!counts(k) || !costs_less(best, rank(k))) continue;
    if (std::optional<RuleCandidate> c = candidate_of(known[k], known[least])) folded(*std::move(c));
  }
}

bool Candidates::is_confirmed(const RuleCandidate& c) {
  const std::vector<std::uint64_t> values = confirmation_.values(c.source);
  return !values.empty() && values == confirmation_.values(c.target);
}

std::optional<Naming> Candidates::first_naming(const SmallGraph& graph) {
  std::vector<Naming> all = evaluator_.namings(graph);
  return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
}

std::optional<SmallGraph> Candidates::smallest_like(const SmallGraph& part) {
  const std::optional<Naming> naming = first_naming(part);
  if (!naming) return std::nullopt;
  const auto found = std::lower_bound(smallest_.begin(), smallest_.end(), std::pair(naming->value, std::uint64_t{0}));
  if (found == smallest_.end() || found->first != naming->value) return std::nullopt;
  const SmallGraph representative = codec_.decode(found->second);
  const std::optional<Naming> of_representative = first_naming(representative);
  if (!of_representative || of_representative->value != naming->value) return std::nullopt;
  std::vector<std::uint8_t> back(naming->leaves.size());
  for (std::size_t k = 0; k < back.size(); ++k) back[naming->leaves[k]] = static_cast<std::uint8_t>(k);
  return rename(signature_, rename(signature_, representative, of_representative->leaves), back);
}

SmallGraph Candidates::with_ends_of(const SmallGraph& part, SmallGraph smallest) {
  if (part.nodes.empty()) return smallest;
  const SmallGraphNode& last = part.nodes.back();
  if (signature_.choice(last.choice).outputs != 1) return smallest;
  std::vector<SmallGraph> operands;
  for (const std::uint8_t o : last.operands) {
    const SmallGraph below = part_of(signature_, part, o);
    std::optional<SmallGraph> found = o < signature_.leaves().size() ? below : smallest_like(below);
    if (!found) return smallest;
    operands.push_back(with_ends_of(below, *std::move(found)));
  }
  SmallGraph all = join(signature_, operands);
  SmallGraphNode end{last.choice, all.outputs};
  if (signature_.choice(end.choice).commutative) std::sort(end.operands.begin(), end.operands.end());
  std::size_t value = signature_.leaves().size();
  for (const SmallGraphNode& n : all.nodes) value += signature_.choice(n.choice).outputs;
  all.nodes.push_back(std::move(end));
  all.outputs = {static_cast<std::uint8_t>(value)};
  const bool is_as_small = all.nodes.size() == smallest.nodes.size() && weight_of(signature_, all) == weight_of(signature_, smallest);
  return is_as_small ? all : smallest;
}

void Candidates::pair_apart(const SmallGraph& target, std::uint64_t structure, const Found& found) {
  ++counts_.pairs;
  if (has_idle_part(target)) {
    ++counts_.idle;
    return;
  }
  std::vector<SmallGraph> apart;
  for (const std::uint8_t o : target.outputs) {
    std::optional<SmallGraph> smallest = smallest_like(part_of(signature_, target, o));
    if (!smallest || smallest->nodes.empty()) {
      ++counts_.no_gain;
      return;
    }
    apart.push_back(*std::move(smallest));
  }
  const auto gains = [&](const RuleCandidate& c) {
    return c.source.nodes.size() <= options_.max_operators && can_gain_together(signature_, c.source, c.target);
  };
  RuleCandidate c{join(signature_, apart), target};
  if (!gains(c)) {
    ++counts_.no_gain;
    return;
  }
  if (follows_from_smaller(target, structure)) {
    ++counts_.reducible;
    return;
  }
  for (std::size_t k = 0; k < apart.size(); ++k)
    apart[k] = with_ends_of(part_of(signature_, target, target.outputs[k]), std::move(apart[k]));
  if (RuleCandidate ended{join(signature_, apart), target}; gains(ended)) c = std::move(ended);
  if (!is_confirmed(c)) {
    ++counts_.accidents;
    return;
  }
  c = without_common_ends(signature_, std::move(c), [&](const SmallGraph& s) { return confirmation_.values(s); });
  if (are_two_rewrites(signature_, c)) {
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
    const SmallGraph graph = codec_.decode(r.code);
    return Rank{graph.nodes.size(), weight_of(signature_, graph), r.structure};
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
  const auto leaves = signature_.leaves();
  if (std::none_of(leaves.begin(), leaves.end(), [](const Leaf& l) { return l.readers == Leaf::Readers::sums; })) return;
  std::erase_if(records, [&](const Record& r) { return !uses_identities(signature_, codec_.decode(r.code)); });
}

void Candidates::learn(std::vector<Record>& smaller) {
  leave_out(smaller);
  for (const Class& c : classes(smaller)) {
    const SmallGraph representative = codec_.decode(smaller[c.representative].code);
    if (representative.outputs.size() > 1) continue;
    const std::optional<Naming> of_representative = first_naming(representative);
    if (!of_representative) continue;
    const bool is_leaf = representative.nodes.empty();
    const bool idle = is_leaf ? representative.outputs[0] >= signature_.inputs() : of_representative->ignores;
    for (std::size_t k = c.begin; k < c.end; ++k)
      if (idle && (!is_leaf || k != c.representative)) idle_.insert(smaller[k].structure);
    if (!idle) smallest_.emplace_back(smaller[c.representative].fingerprint, smaller[c.representative].code);
    if (c.end - c.begin == 1) continue;
    const SmallGraph named = rename(signature_, representative, of_representative->leaves);
    for (std::size_t k = c.begin; k < c.end; ++k) {
      if (k == c.representative) continue;
      SmallGraph member = codec_.decode(smaller[k].code);
      const std::optional<Naming> of_member = first_naming(member);
      if (!of_member || of_member->value != of_representative->value) continue;
      member = rename(signature_, member, of_member->leaves);
      const std::set<std::uint8_t> left = inputs_of(signature_, member);
      const std::set<std::uint8_t> right = inputs_of(signature_, named);
      if (!std::includes(left.begin(), left.end(), right.begin(), right.end())) continue;
      std::vector<std::uint8_t> names;
      structure_of(signature_, member, &names);
      representative_of_.emplace(smaller[k].structure, codec_.encode(rename(signature_, named, names)));
    }
  }
}

void Candidates::find(std::vector<Record>& records, const Found& found, const Found& folded) {
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
  for (const auto& [key, k] : order) consider(records[k], is_representative[k], known[k], found);
  for (const Class& c : all_classes) {
    if (c.end - c.begin == 1 || codec_.decode(records[c.representative].code).outputs.size() > 1) continue;
    for (std::size_t k = c.begin; k < c.end; ++k)
      if (k != c.representative) pair(known[k], known[c.representative], found);
    if (folded) pair_folded(records, c, known, folded);
  }
}

std::vector<RuleCandidate> Candidates::find(std::vector<Record>& records) {
  std::vector<RuleCandidate> result;
  find(records, [&](RuleCandidate c) { result.push_back(std::move(c)); });
  return result;
}

}  // namespace xflow::generator
