// The last resort for terms that alignment does not cancel: arithmetic on their values. The search here
// finds equal components. Their meaning and the final query belong to the checker (checker_values.cpp).
#pragma once

#include <optional>
#include <vector>

#include "src/verifier/proof/matcher.h"

namespace xflow::verifier {

class ScalarProver {
 public:
  ScalarProver(Normalizer& normalizer, Checker& checker) : normalizer_(normalizer), checker_(checker) {}
  void set_matcher(Matcher& matcher) { matcher_ = &matcher; }

  // Finds why the terms sum to 0 wherever `context` (and the solver's facts) hold: the components, without
  // the numbers of the terms. nullopt if no reason is found.
  std::optional<std::vector<Component>> zero(const std::vector<NormalTerm>& terms, const Condition& context);

 private:
  Normalizer& normalizer_;
  Checker& checker_;
  Matcher* matcher_ = nullptr;
  int depth_ = 0;
};

}  // namespace xflow::verifier
