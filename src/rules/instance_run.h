// One run through a rule's choices: the instance for them.
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

  // Nothing where no graph matches the choice; `reason` says why.
  Result<std::optional<RuleInstance>> build(std::string& reason);

 private:
  // What the build of one side knows besides its result.
  enum class Stop : std::uint8_t {
    none,
    rejected,  // no graph matches this choice
    restart,   // an assumption was added: build again
  };

  ir::Symbols& symbols() { return arena_->symbols(); }
  Stop reject(std::string& reason, std::string why);
  // Variables, guards, statements; then equations that became known replace symbols, and it starts again.
  Stop build_source(std::string& reason);

  // Variables.
  ir::Poly dimension(const std::string& name);
  // The name of the sequence in S.. and 1^S; nullptr for other dimensions.
  static const std::string* sequence_in(const Expression& e);
  // Sequences of a declaration get their lengths, so that no rank is above kMaxRank.
  Result<void> choose_sequences(const Declaration& declaration);
  // Guards on ranks alone are asked as soon as the ranks are chosen: most choices end here.
  Result<void> rank_guards(const Declaration& declaration);
  static bool is_about_ranks(const Guard& guard);
  // A stand-in for a variable of that rank.
  ir::ValueId of_rank(std::size_t rank);
  // True for expressions of numbers and ranks.
  static bool is_rank(const Expression& e);
  Result<ir::Shape> declared_shape(const Declaration& declaration);
  const Guard* guard_of(std::string_view variable, Guard::Kind kind) const;
  // What a conversion does depends on the type that it converts: a rule with conversions is proved for each floating type that a variable
  // may have.
  ir::DataType data_type(std::string_view variable);
  // True for a conversion of numbers: to booleans only 0 counts.
  static bool converts_in(const Term& term);
  static bool converts_numbers(const Rule& rule);
  Result<ir::Shape> variable_shape(const std::string& variable, const std::string& element);
  Result<void> make_variables();
  // Guards that two lists are equal say that they are as long, and ranks are asked as soon as they are chosen: most choices end here.
  Result<void> length_guards();
  // How many dimensions dims(x), outer(x), or either with one replaced, has; nothing for other expressions and while x has no rank.
  std::optional<std::size_t> length_of(const Expression& e) const;
  Result<void> make_variable(const std::string& variable, ir::Shape shape);
  ir::ValueId add_variable(std::string name, ir::DataType type, ir::Shape shape);

  // False where a guard does not hold. `early`: guards whose names are not all bound yet are left for later.
  bool guards(bool early, std::string& reason);
  bool relation(const Guard& guard, const ir::AttributeValue& a, const ir::AttributeValue& b);
  bool relation(const Guard& guard, const ir::Poly& a, const ir::Poly& b);
  // Equations that give a symbol of the rule by the others replace it everywhere: the same graphs match. True if one was found.
  bool extend_substitution(const std::vector<Fact>& facts);
  // A variable of which any rank is tried.
  std::string undeclared() const;
  Result<RuleInstance> finish();
  void add_fact(std::vector<Fact>& facts, const Fact& fact);

  const Rule& rule_;
  Choices& choices_;
  std::unique_ptr<ir::Arena> arena_;
  Environment environment_;
  bool converts_numbers_;
  bool has_other_types_ = false;              // a variable has another floating type than float32, where several are tried
  std::map<std::size_t, ir::ValueId> ranks_;  // stand-ins
  ir::Symbols::Substitution substitution_;
  std::vector<Fact> assumed_;          // choices of broadcasting
  std::vector<Fact> dimension_facts_;  // that replaced dimensions are at least 1
  std::vector<Fact> guard_facts_;
  std::vector<Fact> typing_facts_;
  std::vector<ValueFact> value_facts_;
  std::vector<ir::ValueId> variables_;
  std::vector<std::string> variable_names_;
  std::map<std::string, std::string> chosen_;
};

}  // namespace xflow::rules
