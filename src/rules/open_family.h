// Families of rules without a last number: 'rule merge-{n}-products for n in 2..'.
#pragma once

#include <xflow/error.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/rules/families.h"
#include "src/rules/pattern.h"
#include "src/rules/rule.h"

namespace xflow::rules {

// A family whose members up to 3 are rules of their file. The other members are made where a graph has as
// many parts. They hold because the family is uniform (uniform.h): a member of more than 3 parts is a member
// of 3 parts, of which each is a part or a concatenation of neighbours (docs/proofs.md).
//
// Thread-safe.
class OpenFamily {
 public:
  // `largest`: the largest member of the file.
  OpenFamily(FamilyText text, const Rule& largest);

  std::string name() const { return text_.head.substr(text_.head.find(' ') + 1); }  // "merge-{n}-products"
  // The text of the family, as in its file.
  std::string text() const { return family_text(text_); }
  int from() const { return text_.from; }
  int last_in_file() const { return text_.to; }
  const std::vector<std::string>& indexed() const { return indexed_; }
  std::string name_of(int n) const { return member_name(text_, n); }
  // The number of the member with this name, if it is not a rule of the file.
  std::optional<int> number_of(std::string_view name) const;
  // True for a name of the member 1 that occurs with {i} or {1..n} in the text: a1 where the text has a{i}.
  bool is_indexed(std::string_view name_in_first) const;

  // An operation of the source whose outputs or operands tell the number of parts.
  struct Counter {
    ir::OperatorId op{};
    bool by_outputs = false;  // else by operands
    int fixed = 0;            // outputs or operands that are no parts
  };
  // Nothing for a family of siblings: each statement of the source is one of a part, and the graph has as
  // many parts as it has siblings.
  const std::optional<Counter>& counter() const { return counter_; }
  // The member of the number `n`, compiled for matching. It is compiled once. Null if there is none: `n` is
  // larger than kMostOpenParts, or so many parts exceed a limit of rules.
  std::shared_ptr<const Pattern> member(int n) const;

 private:
  FamilyText text_;
  std::vector<std::string> indexed_;
  std::optional<Counter> counter_;
  std::string file_;
  FloatClass float_class_;
  std::vector<std::string> number_effects_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::shared_ptr<const Pattern>> members_;
};

// Parses and checks a member of a family, with the float class of another member.
Result<Rule> parse_member(const FamilyText& family, int n, const std::string& file, const Rule& classified);

}  // namespace xflow::rules
