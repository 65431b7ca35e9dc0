// The last resort for terms that alignment does not cancel: arithmetic on their values.
//
// Each term is a product of components that share no binder; equal components become one real variable, maxima of plain values,
// reciprocals, roots, booleans and conditions keep their meaning, exp is positive, and Z3 decides whether the sum can differ from 0.
#pragma once

#include <vector>

#include "src/verifier/matcher.h"

namespace xflow::verifier {

class ScalarProver {
 public:
  explicit ScalarProver(Normalizer& normalizer) : normalizer_(normalizer) {}
  void set_matcher(Matcher& matcher) { matcher_ = &matcher; }

  // True only if the terms sum to 0 wherever `context` (and the solver's facts) hold.
  bool zero(const std::vector<Term>& terms, const Condition& context);

 private:
  class Translation;
  Normalizer& normalizer_;
  Matcher* matcher_ = nullptr;
  int depth_ = 0;
};

}  // namespace xflow::verifier
