// Rules: read, listed, derived from each other, and the records of their proofs.
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

// What a rule may do to floating point results (docs/rules.md).
enum class FloatClass : std::uint8_t {
  exact,     // the same bits
  rounding,  // for finite inputs and results the same up to rounding
  special,   // finite inputs can give an infinity or not-a-number on one side alone, or a variable is dropped
};
XFLOW_API const char* to_string(FloatClass float_class);

struct RuleInfo {
  std::string name;
  std::string equation;              // that the comment above it gives, or what else the comment begins with; without one its terms
  std::vector<std::string> comment;  // lines without '#'
  FloatClass float_class = FloatClass::special;
  std::vector<std::string> float_effects;  // what makes the class: "re-associates"; empty for exact rules
  std::vector<std::string> guards;         // "A >= 2"
  std::string file;
  std::string place;  // "file:line:column"
  std::string hash;   // of its text without the comment: 32 hexadecimal digits
  std::size_t source_operations = 0;
  std::size_t target_operations = 0;
  std::vector<std::string> source_operators;  // each once, in alphabetical order
};

// An immutable list of rules that were parsed and type-checked; copies share it. That a rule is in a list does not say that it is proved:
// see <xflow/verify.h>.
class XFLOW_API RuleSet {
 public:
  // What else is to be read.
  enum class Records : std::uint8_t {
    ignored,
    read,  // NAME.proofs beside NAME.rules, where there are some: verify() replays them
  };

  RuleSet();  // of no rules
  // The rules that the library is built with.
  static Result<RuleSet> shipped(Records records = Records::ignored);
  // All rules of files and of the *.rules files of folders. Errors: unreadable (a file, or there are no rules), syntax, ill_typed.
  static Result<RuleSet> read(const std::vector<std::string>& paths, Records records = Records::ignored);
  // Those of a text; `file` names it in errors.
  static Result<RuleSet> parse(std::string_view text, std::string_view file);

  std::size_t size() const;
  const RuleInfo& rule(std::size_t number) const;
  std::string text() const;  // of all of them, as a rule file
  // For people: the text of a rule, what its proof assumes, its float class and hash.
  std::string describe(std::size_t number) const;
  // Writes text() to a file, in one step. Error::io.
  Result<void> write(const std::string& path) const;

  struct State;  // of the implementation
  explicit RuleSet(std::shared_ptr<const State> state);
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

// Rules as a user names them.
struct RuleSelection {
  RuleSet rules;   // those that are named, or all
  RuleSet others;  // of the same files, or of the shipped rules; none where no rule is named
};
// Of `arguments` what ends in .rules, holds a '/' or exists is a file or folder, everything else the name of a rule: of the files, or of
// the shipped rules where no file is given. Errors: as RuleSet::read; invalid_argument for a name that no rule has, with similar ones.
XFLOW_API Result<RuleSelection> select_rules(const std::vector<std::string>& arguments,
                                             RuleSet::Records records = RuleSet::Records::ignored);

// Replays the records of the proofs of all rules, without search: of the shipped rules, or NAME.proofs beside NAME.rules.
struct RecordCheck {
  std::size_t rules = 0;
  std::size_t accepted = 0;
  std::vector<std::string> failures;  // a line for each record that is missing, stale or wrong
};
// `paths`: files or folders; none: the shipped rules. `jobs`: proofs replayed at a time. Errors: as RuleSet::read; unreadable or io where
// there are no records.
XFLOW_API Result<RecordCheck> check_records(const std::vector<std::string>& paths, int jobs = 1);
// Decides all rules of a folder and writes the records of their proofs. Error::not_proved names the rules that are not proved; nothing is
// written then.
XFLOW_API Result<void> renew_records(const std::string& folder, int jobs = 1);

struct DeriveLimits {
  std::size_t rounds = 5;     // how often all rules are applied to what was found
  std::size_t terms = 1'500;  // that a derivation may look at
};

// Whether rules, used both ways, say that both sides of a rule are equal.
struct Derivation {
  struct Step {
    std::string rule;
    std::string from;  // terms in the names of the rule that is derived
    std::string to;
  };
  // A rule with an open number of dimensions or operands is several equations.
  struct Case {
    std::string place;  // "B: 2 dimensions; x: [2, 3], ..."
    std::vector<Step> steps;
  };
  bool derived = false;
  bool complete = false;           // not derived, and nothing more can be applied: larger limits would not help
  std::vector<std::string> rules;  // that were used, each once; none: both sides are one graph
  std::vector<Case> cases;         // all of them; if the rule is not derived, the last one is the first that is not
};
// `from_source`: begin with the source alone, as a search does; the target has to be found. Errors: invalid_argument where `goal` is not
// one rule; unsupported for a rule of which neither side is a graph.
XFLOW_API Result<Derivation> derive(const RuleSet& goal, const RuleSet& means, const DeriveLimits& limits = {}, bool from_source = false);

// How many rules of a set the others derive.
struct DerivedCounts {
  std::size_t derived = 0;
  std::size_t not_derived = 0;
  std::size_t unsupported = 0;  // neither side is a graph
};
// Called with how many rules of how many were looked at.
using RuleProgress = std::function<void(std::size_t seen, std::size_t of)>;
XFLOW_API Result<DerivedCounts> count_derived(const RuleSet& rules, const DeriveLimits& limits = {}, const RuleProgress& progress = {});

// A set without the rules that the others derive.
struct MinimalRules {
  struct Removed {
    std::string rule;
    std::vector<std::string> by;  // rules that are kept; none: both of its sides are one graph
  };
  RuleSet kept;
  std::vector<Removed> removed;
  std::vector<std::string> unsupported;  // kept because neither side is a graph: the reasons, a line each
};
XFLOW_API Result<MinimalRules> minimize(const RuleSet& rules, const DeriveLimits& limits = {}, const RuleProgress& progress = {});

}  // namespace xflow
