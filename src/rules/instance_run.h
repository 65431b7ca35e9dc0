// Builds the instance of a rule for one combination of choices.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/rules/build.h"
#include "src/rules/choices.h"
#include "src/rules/instance.h"
#include "src/rules/rule.h"

namespace xflow::rules {

class InstanceRun {
 public:
  InstanceRun(const Rule& rule, Choices& choices)
      : rule_(rule),
        choices_(choices),
        arena_(std::make_unique<ir::Arena>()),
        environment_(*arena_),
        converts_numbers_(converts_numbers(rule)) {}

  // Returns nothing if no graph matches this choice; `reason` then says why. Error::limit if the dimensions
  // of the source cannot be solved.
  Result<std::optional<RuleInstance>> build(std::string& reason);

 private:
  // How the build of the source ended.
  enum class Stop : std::uint8_t {
    none,
    rejected,  // no graph matches this choice
    restart,   // an assumption or a substitution was added: build again
  };

  ir::Symbols& symbols() { return arena_->symbols(); }
  // Stores `why` in `reason` and returns Stop::rejected.
  Stop reject(std::string& reason, std::string why);
  // Builds variables, guards and statements. Equations found on the way replace symbols, and then the build
  // restarts.
  Stop build_source(std::string& reason);

  // The dimension `name`, with the substitution applied.
  ir::Poly dimension(const std::string& name);
  // The name of the sequence in S.. and 1^S; nullptr for other dimensions.
  static const std::string* sequence_in(const Expression& e);
  // Chooses the lengths of the sequences of a declaration, so that no rank exceeds kMaxRank.
  Result<void> choose_sequences(const Declaration& declaration);
  // Tests the guards on ranks as soon as the ranks are chosen. Most choices end here.
  Result<void> rank_guards(const Declaration& declaration);
  static bool is_about_ranks(const Guard& guard);
  // A placeholder value of this rank, for guards that are tested before variables exist.
  ir::ValueId of_rank(std::size_t rank);
  // True for expressions that consist of numbers and ranks.
  static bool is_rank(const Expression& e);
  Result<ir::Shape> declared_shape(const Declaration& declaration);
  const Guard* guard_of(std::string_view variable, Guard::Kind kind) const;
  // The data type of a variable. The result of a conversion depends on the type that it converts, so a rule
  // with conversions is proved for each floating type that a variable can have.
  ir::DataType data_type(std::string_view variable);
  // True if the term contains a cast to a type other than boolean. A cast to boolean only distinguishes 0
  // from other numbers.
  static bool converts_in(const Term& term);
  static bool converts_numbers(const Rule& rule);
  Result<ir::Shape> variable_shape(const std::string& variable, const std::string& element);
  Result<void> make_variables();
  // Tests, as soon as ranks are chosen, the guards on ranks, and that lists which a guard says are equal
  // have equal lengths. Most choices end here.
  Result<void> length_guards();
  // The number of dimensions of dims(x), outer(x), or replace() of one of them. Nothing for other
  // expressions, and while x has no rank.
  std::optional<std::size_t> length_of(const Expression& e) const;
  Result<void> make_variable(const std::string& variable, ir::Shape shape);
  ir::ValueId add_variable(std::string name, ir::DataType type, ir::Shape shape);

  // Returns false if a guard does not hold. `early` skips guards whose names are not all bound yet.
  bool guards(bool early, std::string& reason);
  bool relation(const Guard& guard, const ir::AttributeValue& a, const ir::AttributeValue& b);
  bool relation(const Guard& guard, const ir::Poly& a, const ir::Poly& b);
  // Replaces symbols of the rule that an equation expresses by other symbols; the same graphs match. True if
  // one was replaced.
  bool extend_substitution(const std::vector<Fact>& facts);
  // The name of a variable without a declared type, for which all ranks are tried; empty if there is none.
  std::string undeclared() const;
  Result<RuleInstance> finish();
  // Adds a fact, with the substitution applied, unless it is trivial or already present.
  void add_fact(std::vector<Fact>& facts, const Fact& fact);

  const Rule& rule_;
  Choices& choices_;
  std::unique_ptr<ir::Arena> arena_;
  Environment environment_;
  bool converts_numbers_;
  bool has_other_types_ = false;              // some variable has a floating type other than float32 (rules with conversions)
  std::map<std::size_t, ir::ValueId> ranks_;  // placeholders, by rank
  ir::Symbols::Substitution substitution_;
  std::vector<Fact> assumed_;          // choices of broadcasting
  std::vector<Fact> dimension_facts_;  // replaced dimensions are at least 1
  std::vector<Fact> guard_facts_;
  std::vector<Fact> typing_facts_;
  std::vector<ValueFact> value_facts_;
  std::vector<ir::ValueId> variables_;
  std::vector<std::string> variable_names_;
  std::map<std::string, std::string> chosen_;
};

}  // namespace xflow::rules
