// Nondeterminism by replay: a run asks for choices by name and is repeated until all combinations were
// tried.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xflow::rules {

class Choices {
 public:
  // Returns a number in [0, options), options >= 1. Two calls with the same name in one run return the same
  // number.
  std::size_t choose(const std::string& name, std::size_t options) {
    for (const Decision& decision : decisions_) {
      if (decision.name == name) return decision.chosen;
    }
    decisions_.push_back({name, options, 0});
    return 0;
  }

  // Moves to the next combination; false after the last one. Drops the decisions that follow the one it
  // changes.
  bool advance() {
    while (!decisions_.empty() && decisions_.back().chosen + 1 == decisions_.back().options) decisions_.pop_back();
    if (decisions_.empty()) return false;
    ++decisions_.back().chosen;
    return true;
  }

 private:
  struct Decision {
    std::string name;
    std::size_t options;
    std::size_t chosen;
  };
  std::vector<Decision> decisions_;
};

}  // namespace xflow::rules
