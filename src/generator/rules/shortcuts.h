// Shortcuts: rules that the others derive, but by steps that do not pay by themselves, so that a search
// which asks for a gain at each step would not find them. (x + a) + (z + b) = (x + z) + (a + b) gains if a
// and b are constants, while moving one of them alone gains nothing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/generator/rules/derive.h"
#include "src/generator/rules/minimize.h"

namespace xflow::generator {

struct Shortcut {
  std::size_t signature = 0;  // the caller's number of the signature
  RuleCandidate candidate;    // in the direction of the rule
  rules::Rule rule;
};

class ShortcutFinder {
 public:
  // `kept`: rules with their directions (RuleCollector::direct).
  ShortcutFinder(std::span<const KeptRule> kept, const DeriveLimits& limits, const verifier::Options& options);

  // Looks at the candidates of one output that read nothing twice but images and matrices, in their order. A
  // shortcut costs less if all parameters are constants (parameters_that_pay), or has two operations less
  // and no numbers. It is not one step of the rules so far, and is proved.
  void find(const GraphSignature& signature, std::size_t signature_number, std::span<const RuleCandidate> candidates);
  // The same for superpositions, in their direction. They may also cost less without constants.
  void find_superpositions(const GraphSignature& signature, std::size_t signature_number, std::span<const RuleCandidate> candidates);
  const std::vector<Shortcut>& found() const { return found_; }

 private:
  // `constants`: the parameters that are constants.
  void try_direction(const GraphSignature& signature, std::size_t signature_number, const RuleCandidate& candidate,
                     std::span<const std::size_t> constants);

  Deriver directed_;  // the rules as a search applies them
  DeriveLimits one_step_;
  verifier::Options options_;
  std::vector<Shortcut> found_;
};

}  // namespace xflow::generator
