// What the tests of rules share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::rules {

// The rules of a text that is known to be right.
inline std::vector<Rule> parsed(std::string_view text) {
  auto rules = parse_rules(text, "test.rules");
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().text());
  return rules ? *std::move(rules) : std::vector<Rule>();
}

// The error of a text that is known to be wrong.
inline std::string error_of(std::string_view text) {
  const auto rules = parse_rules(text, "test.rules");
  return rules ? "no error" : rules.error().text();
}

}  // namespace xflow::rules
