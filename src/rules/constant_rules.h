// Makes constant expressions smaller by proved rules.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"
#include "src/rules/verified_rules.h"

namespace xflow::rules {

// The rules of a set that make a constant expression smaller: of float class exact, with the outputs of one
// operation, and with fewer operations in the target than in the source. Without them the search would meet
// the same weights under ever new names: a slice of a concatenation of slices is a slice.
class ConstantRules {
 public:
  // `rules` must outlive the object.
  explicit ConstantRules(const VerifiedRules& rules);

  std::size_t size() const { return size_; }
  // Replaces the outputs of an operation, if it is a constant expression, by equal values of the same types
  // that take fewer operations, if a rule gives them. `outputs` are all of its outputs. Its operands must be
  // simplified already.
  void simplify(ir::Arena& arena, std::vector<ir::ValueId>& outputs) const;

 private:
  struct SmallerRule {
    RuleId id{};
    std::size_t operations = 0;  // of the target
  };

  const VerifiedRules& rules_;
  std::unordered_map<std::uint16_t, std::vector<SmallerRule>> by_root_;
  std::size_t size_ = 0;
};

}  // namespace xflow::rules
