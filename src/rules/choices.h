// Nondeterminism by replay: a run asks for choices by name, and is run again until all combinations have been seen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xflow::rules {

class Choices {
 public:
  // A number in [0, options), options >= 1. Asking twice by one name in one run gives the same answer.
  std::size_t choose(const std::string& name, std::size_t options) {
    for (const Decision& decision : decisions_) {
      if (decision.name == name) return decision.chosen;
    }
    decisions_.push_back({name, options, 0});
    return 0;
  }

  // The next combination; false after the last. Forgets what the run did not ask for before its last change.
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
