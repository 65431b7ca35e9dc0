// Reads and lists rules, derives them from each other, and checks the records of their proofs.
//
//   auto rules = xflow::RuleSet::shipped();
//   for (std::size_t k = 0; k < rules->size(); ++k) print(rules->rule(k).name);
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// How a rule may change floating point results (docs/rules.md, *Floating point*).
enum class FloatClass : std::uint8_t {
  exact,     // the same bits
  rounding,  // the same up to rounding for finite inputs and results
  special,   // finite inputs can give an infinity or NaN on one side alone, or a variable is dropped
};
// "exact", "rounding", "special".
XFLOW_API const char* to_string(FloatClass float_class);

// What is known of a rule without deciding it.
struct RuleInfo {
  std::string name;  // as in its text
  // The equation in the comment above the rule, or else the first line of the comment. Without a comment,
  // the terms.
  std::string equation;
  std::vector<std::string> comment;              // lines without '#'
  FloatClass float_class = FloatClass::special;  // how the rule may change floating point results
  std::vector<std::string> float_effects;        // reasons for the class: "re-associates"; empty for exact rules
  std::vector<std::string> guards;               // "A >= 2"
  std::string file;                              // path of the rule file, or the name given to RuleSet::parse
  std::string place;                             // "file:line:column"
  std::string hash;                              // hash of the text without the comment: 32 hexadecimal digits
  std::size_t source_operations = 0;             // number of operations of the source
  std::size_t target_operations = 0;             // number of operations of the target
  std::vector<std::string> source_operators;     // each once, in alphabetical order
  // The family without a last number of which the rule is a member, and its first number:
  // "merge-{n}-products" and 2. If all its members in the file are proved, so is the member of each
  // number. Empty for other rules.
  std::string family;
  int family_from = 0;  // the family's first number
};

// An immutable list of parsed and type-checked rules; copies share it. Rules in a list need not be proved:
// see <xflow/verify.h>.
class XFLOW_API RuleSet {
 public:
  // Whether records of proofs are read as well.
  enum class Records : std::uint8_t {
    ignored,
    read,  // NAME.proofs beside NAME.rules, if it exists; verify() replays them
  };

  // The empty list.
  RuleSet();
  // The rules that are built into the library.
  static Result<RuleSet> shipped(Records records = Records::ignored);
  // Reads all rules of files and of the *.rules files of folders. Errors: unreadable (a file, or no rules),
  // syntax, ill_typed.
  static Result<RuleSet> read(const std::vector<std::string>& paths, Records records = Records::ignored);
  // Parses a text with rules; errors name it `file`. Errors: syntax, ill_typed.
  static Result<RuleSet> parse(std::string_view text, std::string_view file);

  // Number of rules.
  std::size_t size() const;
  // A rule by number. Requires number < size().
  const RuleInfo& rule(std::size_t number) const;
  // The text of all rules, as a rule file.
  std::string text() const;
  // A description for people: the text of a rule, the assumptions of its proof, its float class and hash.
  // Requires number < size().
  std::string describe(std::size_t number) const;
  // Writes text() to a file in one step. Errors: io.
  Result<void> write(const std::string& path) const;

  struct State;  // implementation detail
  explicit RuleSet(std::shared_ptr<const State> state);
  const State& state() const { return *state_; }  // implementation detail

 private:
  std::shared_ptr<const State> state_;
};

// Rules that a user named on a command line.
struct RuleSelection {
  RuleSet rules;   // the named rules, or all if no rule is named
  RuleSet others;  // the other rules of the files, or of the shipped rules; empty if no rule is named
};
// Selects rules by files and names. An argument that ends in .rules, contains a '/' or exists is a file or
// folder. Any other argument is the name of a rule of the files, or of the shipped rules if no file is
// given. Errors: those of RuleSet::read; invalid_argument for an unknown name, with similar names.
XFLOW_API Result<RuleSelection> select_rules(const std::vector<std::string>& arguments,
                                             RuleSet::Records records = RuleSet::Records::ignored);

// The result of check_records.
struct RecordCheck {
  std::size_t rules = 0;              // number of rules
  std::size_t accepted = 0;           // rules whose record was accepted
  std::vector<std::string> failures;  // a line for each missing, stale or wrong record
};
// Replays the records of the proofs of all rules without search: NAME.proofs beside NAME.rules. `paths` are
// files or folders; empty: the shipped rules. `jobs` is the number of proofs replayed at a time. Errors:
// those of RuleSet::read; unreadable or io if there are no records.
XFLOW_API Result<RecordCheck> check_records(const std::vector<std::string>& paths, int jobs = 1);
// Decides all rules of a folder and writes the records of their proofs. `jobs` is the number of rules
// decided at a time. Errors: those of RuleSet::read; not_proved with the names of the rules that are not
// proved, and nothing is written; io.
XFLOW_API Result<void> renew_records(const std::string& folder, int jobs = 1);

// Limits of one derivation.
struct DeriveLimits {
  std::size_t rounds = 5;     // number of times that all rules are applied
  std::size_t terms = 1'500;  // number of terms that a derivation may look at
};

// The result of derive: whether rules, used in both directions, imply a rule.
struct Derivation {
  // One use of a rule.
  struct Step {
    std::string rule;  // name of the rule
    std::string from;  // term before the step, in the names of the derived rule
    std::string to;    // term after the step
  };
  // One instance of the rule. A rule with an open number of dimensions or operands has several.
  struct Case {
    std::string place;        // "B: 2 dimensions; x: [2, 3], ..."
    std::vector<Step> steps;  // in their order
  };
  bool derived = false;            // the rules imply the goal
  bool complete = false;           // not derived, and larger limits would not help
  std::vector<std::string> rules;  // rules used, each once; empty if both sides are the same graph
  std::vector<Case> cases;         // all cases; if the rule is not derived, all up to the first that is not
};
// Looks for a derivation of the single rule in `goal` by the rules `means`. With `from_source` it starts
// with the terms of the source alone, as a search does. Errors: invalid_argument if `goal` is not one rule
// or `means` has no other rule; unsupported for a rule that derivations do not cover (docs/rules.md).
XFLOW_API Result<Derivation> derive(const RuleSet& goal, const RuleSet& means, const DeriveLimits& limits = {}, bool from_source = false);

// Numbers of rules of a set by whether the other rules derive them.
struct DerivedCounts {
  std::size_t derived = 0;      // that the others derive
  std::size_t not_derived = 0;  // that they do not derive
  std::size_t unsupported = 0;  // rules that derivations do not cover
};
// Called with the number of rules seen so far and the number of all rules.
using RuleProgress = std::function<void(std::size_t seen, std::size_t of)>;
// Tries to derive each rule of a set by the others. `progress` may be empty. Errors: limit (memory).
XFLOW_API Result<DerivedCounts> count_derived(const RuleSet& rules, const DeriveLimits& limits = {}, const RuleProgress& progress = {});

// A set without the rules that the others derive.
struct MinimalRules {
  // A rule that the others derive.
  struct Removed {
    std::string rule;             // name of the removed rule
    std::vector<std::string> by;  // kept rules that derive it; empty if both of its sides are the same graph
  };
  RuleSet kept;                          // in the order of the set
  std::vector<Removed> removed;          // in the order of their removal
  std::vector<std::string> unsupported;  // reasons, a line each, for rules kept because derivations do not cover them
};
// Removes the rules that the others derive. `progress` may be empty. Errors: limit (memory).
XFLOW_API Result<MinimalRules> minimize(const RuleSet& rules, const DeriveLimits& limits = {}, const RuleProgress& progress = {});

}  // namespace xflow
