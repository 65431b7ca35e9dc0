// Counterexamples: concrete shapes and entries on which direct evaluation of the two sides differs.
#pragma once

#include <optional>
#include <vector>

#include "src/verifier/counterexample/concrete.h"
#include "src/verifier/counterexample/sample.h"
#include "src/verifier/proof/proof.h"

namespace xflow::verifier {

inline constexpr std::size_t kAgreements = 8;  // comparisons that must agree, over all assignments

class Refuter {
 public:
  Refuter(const rules::RuleInstance& instance, Concrete& concrete, const Options& options)
      : instance_(instance), concrete_(concrete), seed_(options.seed), shrink_(options.shrink), deadline_(options.deadline) {}

  struct Result {
    std::optional<Counterexample> counterexample;  // the smallest of the first few found
    std::size_t agreed = 0;                        // assignments on which all elements were defined and equal
  };
  // agreement: at least 8 comparisons in total; refutation: at least 32.
  enum class Purpose : std::uint8_t { agreement, refutation };
  Result try_all(const std::vector<Assignment>& assignments, Purpose purpose);

 private:
  struct Found {
    Assignment assignment;
    Inputs inputs;
    Concrete::Difference difference;
    std::size_t entries;
  };
  // Tries smaller sizes and attributes, one at a time, as long as the facts hold and the sides differ for
  // some entries.
  void shrink(Found& found);
  // Makes one pass over the sizes. True if a size changed.
  bool shrink_once(Found& found, int& budget);
  // Draws entries for these sizes until the sides differ; nullopt if they do not.
  std::optional<Found> differing(const Assignment& assignment);
  // Replaces entries and real variables by small integers as long as the sides differ.
  void minimise(Found& found);
  bool still_differs(Found& found, ir::Rational& value, const ir::Rational& simple);
  Counterexample describe(const Found& found) const;

  const rules::RuleInstance& instance_;
  Concrete& concrete_;
  std::uint64_t seed_;
  bool shrink_;
  Deadline deadline_;
};

// True if all facts that do not mention elements of tensors hold, no dimension is below 1, and no source
// tensor is empty.
bool satisfies_facts(const rules::RuleInstance& instance, const Concrete& concrete, const Assignment& assignment);

// True if `entry` is a number of the type of an integer or boolean variable. For other variables every
// rational is.
bool is_number_of(const rules::RuleInstance& instance, std::size_t variable, const ir::Rational& entry);
// True if `entry` satisfies the value facts of this variable of the instance.
bool satisfies_value_facts(const rules::RuleInstance& instance, const Concrete& concrete, const Assignment& assignment,
                           std::size_t variable, const ir::Rational& entry);

// Explains a failed obligation. The verdict is refuted if shapes are found on which the target has no type
// or another shape; otherwise ill-typed if no shape makes both sides well typed, and unknown if some may.
Decision explain_obligation(const rules::RuleInstance& instance, Concrete& concrete, Sampler& sampler,
                            const std::vector<Assignment>& samples, Proof& proof, const rules::Fact& failed);

}  // namespace xflow::verifier
