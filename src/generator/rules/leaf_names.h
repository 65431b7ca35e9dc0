// The names of inputs and constants in the rules written.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "src/generator/enumerate/candidates.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"
#include "src/support/acceptance.h"

namespace xflow::generator {

// Name k: the names in order, then the same names with numbers.
std::string numbered_name(std::span<const char* const> names, std::size_t k);
// The name of input k in GeneralShapes::inputs().
std::string input_name(std::size_t k);

// The tensor of one number that a constant is.
rules::Term filled(const Leaf& leaf, rules::Expression shape);

class LeafNames {
 public:
  // The signature must outlive the object.
  LeafNames(const GraphSignature& signature, const GeneralShapes& shapes);

  // Makes the numbers of a candidate scalar variables. Refuses unless both sides have the same numbers,
  // since a variable that one side drops might be infinite.
  Acceptance name_scalars(const RuleCandidate& candidate);
  // The scalar variables by leaf.
  const std::map<std::uint8_t, std::string>& scalars() const { return scalars_; }
  const std::string& input(std::uint8_t leaf) const { return names_.at(leaf); }
  std::string text(std::uint8_t leaf) const;
  rules::Term term(std::uint8_t leaf) const;

 private:
  const GraphSignature& signature_;
  std::map<std::uint8_t, std::string> names_;    // of inputs
  std::map<std::uint8_t, std::string> scalars_;  // of numbers that became variables
};

}  // namespace xflow::generator
