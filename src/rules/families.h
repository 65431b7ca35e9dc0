// Families of rules: one text for rules that differ in how many parts they have, or in an operator.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::rules {

// The largest number of a member.
inline constexpr int kMostParts = 64;
// The largest number of a member of a family without a last number.
inline constexpr int kMostOpenParts = 256;

// A line of rule text, and where it comes from.
struct FamilyLine {
  std::string text;
  std::uint32_t number = 0;  // from 1
};

// The text of a family.
struct FamilyText {
  std::string head;                 // its first line up to 'for': "rule split-in-{n}"
  std::vector<FamilyLine> comment;  // the lines directly above it
  std::vector<FamilyLine> body;
  std::uint32_t line = 0;  // of the first line
  int from = 0;
  int to = 0;            // the last member that is a rule of the file
  bool is_open = false;  // without a last number
};

// The text of rules in which each family stands as its members, and the line of the given text (from 1) from
// which each of its lines comes; no lines if the text has no families and is the given one.
struct ExpandedText {
  std::string text;
  std::vector<std::uint32_t> lines;
  std::vector<FamilyText> open_families;
};

// Expands the families of a text. A family is a rule whose first line ends with 'for n in 3..8' or with
// 'for n in 2..'. The latter has no last number (see OpenFamily): of its members the text has those up to 3.
// Each member is the text of the family with these replacements:
//   {n}        the number of the member; its name must contain it
//   x{1..n}    x1, x2, ..., xn, in a list
//   a line that contains {i}, once for each i from 1 to n
//   a guard that contains {i}, once for each i, joined by 'and'
// A family of words ends with 'for f in relu, tanh' instead; {f} is the word of the member.
// Errors: syntax with the place, for a range that is not increasing or not between 1 and kMostParts, for
// words that are no names or not different, and for a name without {n} or {f}; and in a family without a
// last number for {n} in its body, for {i} or {1..n} without a name, and for a name that a member would have
// too (a1, where a{i} is).
Result<ExpandedText> expand_families(std::string_view text, std::string_view file);

// The text of the member of the number `n`, with its comment.
ExpandedText member_text(const FamilyText& family, int n);
// The text of the family itself, with its comment; it ends with a newline.
std::string family_text(const FamilyText& family);
// The name of the member of the number `n`.
std::string member_name(const FamilyText& family, int n);
// The names that occur with {i} or {1..n}, without the number and in alphabetical order.
std::vector<std::string> indexed_names(const FamilyText& family);

}  // namespace xflow::rules
