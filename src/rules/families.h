// Families of rules: one text for a number of rules that differ in how many parts they have.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xflow::rules {

// The text of rules in which each family stands as its members, and the line of the given text (from 1) from
// which each of its lines comes; no lines if the text has no families and is the given one.
struct ExpandedText {
  std::string text;
  std::vector<std::uint32_t> lines;
};

// Expands the families of a text. A family is a rule whose first line ends with 'for n in 3..8'. Each member
// is the text of the family with these replacements:
//   {n}        the number of the member; its name must contain it
//   x{1..n}    x1, x2, ..., xn, in a list
//   a line that contains {i}, once for each i from 1 to n
//   a guard that contains {i}, once for each i, joined by 'and'
// Errors: syntax with the place, for a range that is not increasing or not between 1 and 64, and for a name
// without {n}.
Result<ExpandedText> expand_families(std::string_view text, std::string_view file);

}  // namespace xflow::rules
