// Finds the names of inputs that give a graph's fingerprint: part of the class template in enumeration.h,
// which includes this file.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "src/generator/enumerate/enumeration.h"

namespace xflow::generator {

template <typename Number>
std::vector<Naming> Enumeration<Number>::namings(const SmallGraph& graph) {
  std::vector<Naming> result;
  AssignmentSet<Number>* assignments = begin(graph);
  if (assignments == nullptr || !find_names(*assignments, graph.outputs)) return result;
  std::vector<std::uint8_t> numbers;
  for (const Named& n : named_) {
    if (n.value != fingerprint_) continue;
    Naming naming;
    naming.value = n.value;
    naming.ignores = ignores_;
    naming.leaves.resize(signature_.leaves().size());
    std::iota(naming.leaves.begin(), naming.leaves.end(), std::uint8_t{0});
    numbers.clear();
    for (std::size_t k = 0; k < assignments->inputs().size(); ++k) {
      const std::uint8_t leaf = assignments->inputs()[k];
      const std::uint8_t number = assignments->labels(n.assignment)[k];
      naming.leaves[leaf] = static_cast<std::uint8_t>(signature_.group_begins()[assignments->group(k)] + number);
      numbers.push_back(number);
    }
    naming.structure = structures_.named(nodes_, graph.outputs, assignments->inputs(), numbers);
    result.push_back(std::move(naming));
  }
  return result;
}

template <typename Number>
bool Enumeration<Number>::ignores(AssignmentSet<Number>& assignments, std::span<const std::uint8_t> outputs, std::size_t k) {
  const auto agree = [&](Assignment a, Assignment b) {
    return std::all_of(outputs.begin(), outputs.end(), [&](std::uint8_t o) { return assignments.hash(o, a) == assignments.hash(o, b); });
  };
  // Agreement on alike inputs is necessary, not sufficient: with x = y, (x - y) z does not depend on z.
  if (assignments.kHasAlike && !agree(assignments.alike()[0], assignments.alike()[k + 1])) return false;
  return assignments.compute(std::array{assignments.identity(), assignments.without()[k]}, nodes_, types_) &&
         agree(assignments.identity(), assignments.without()[k]);
}

template <typename Number>
bool Enumeration<Number>::find_names(AssignmentSet<Number>& assignments, std::span<const std::uint8_t> outputs) {
  if (!compute_first(assignments)) return false;
  const std::size_t count = assignments.inputs().size();
  std::uint64_t reads = 0;
  for (const std::uint8_t o : outputs) reads |= reads_[o];
  ignores_ = false;
  keys_.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    keys_[k] = {2 * assignments.group(k), 0};
    const bool is_read = (reads >> assignments.inputs()[k] & 1) != 0;
    if (!is_read || ignores(assignments, outputs, k)) {
      keys_[k] = {2 * assignments.group(k) + 1, k};
      ignores_ = ignores_ || is_read;
    } else if (assignments.kHasAlike) {
      for (const std::uint8_t o : outputs) keys_[k].second += mix(assignments.hash(o, assignments.alike()[k + 1]));
    }
  }
  named_.clear();
  wanted_.clear();
  labels_.resize(count);
  orders_.begin(keys_);
  do {
    const std::span<const std::uint8_t> order = orders_.order();
    for (std::size_t place = 0; place < count; ++place) {
      const bool goes_on = place > 0 && assignments.group(order[place]) == assignments.group(order[place - 1]);
      labels_[order[place]] = goes_on ? static_cast<std::uint8_t>(labels_[order[place - 1]] + 1) : std::uint8_t{0};
    }
    wanted_.push_back(assignments.assignment(labels_));
  } while (orders_.next());
  if (!assignments.compute(wanted_, nodes_, types_)) return false;
  fingerprint_ = UINT64_MAX;
  for (const Assignment assignment : wanted_) {
    std::uint64_t value = 0;
    for (const std::uint8_t o : outputs) value += mix(assignments.hash(o, assignment));
    named_.push_back({assignment, value});
    fingerprint_ = std::min(fingerprint_, value);
  }
  return true;
}

}  // namespace xflow::generator
