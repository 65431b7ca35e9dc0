// Which elements of its variables a rule reads.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/rules/float_elements.h"

namespace xflow::rules {

// The ways in which the elements that the target reads for one output can be those that the source
// reads. Elements are distinguished only for variables of which an element of a side is computed from
// several, or of which the target sums elements that the source does not sum.
class PlaceChoices {
 public:
  PlaceChoices(const Rule& rule, std::size_t output);

  // The number of ways; 0 if no elements are distinguished.
  std::size_t count() const;
  // Way number `n`.
  Places places(std::size_t n) const;

 private:
  using Key = std::pair<std::string, std::string>;  // variable, path
  void add(const std::string& variable, const std::vector<Read>& source, const std::vector<Read>& target);

  std::map<Key, int> fixed_;                            // the places of the source, and of the same reads of the target
  std::vector<std::pair<Key, std::vector<int>>> open_;  // other reads of the target, each with its possible places
  bool distinguishes_ = false;
};

}  // namespace xflow::rules
