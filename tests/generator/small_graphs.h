// What tests of small graphs share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/generator/enumerate/candidate_list.h"
#include "src/rules/rule.h"

namespace xflow::generator {

// An operator with its attributes by name: "concat 1".
inline ChoiceId choice(const GraphSignature& signature, std::string_view name) {
  for (std::size_t k = 0; k < signature.choices().size(); ++k)
    if (signature.choices()[k].name == name) return static_cast<ChoiceId>(k);
  ADD_FAILURE() << "no " << name;
  return {};
}

// The leaf that is a number.
inline std::uint8_t number(const GraphSignature& signature, std::int64_t value) {
  for (std::size_t k = signature.inputs(); k < signature.leaves().size(); ++k)
    if (signature.dims(signature.leaves()[k].type).empty() && signature.leaves()[k].value == ir::Rational(value))
      return static_cast<std::uint8_t>(k);
  ADD_FAILURE() << "no number " << value;
  return 0;
}

// The one rule of a text.
inline rules::Rule rule(const std::string& text, const std::string& file = "test") {
  auto parsed = rules::parse_rules(text, file);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().text();
  return parsed.has_value() ? parsed->front() : rules::Rule();
}

// relu(x ++ z) = relu(x) ++ relu(z), by columns, of a signature with concat and relu.
inline RuleCandidate relu_of_columns(const GraphSignature& signature) {
  const auto first = static_cast<std::uint8_t>(signature.leaves().size());
  const auto second = static_cast<std::uint8_t>(first + 1);
  const auto third = static_cast<std::uint8_t>(first + 2);
  const ChoiceId relu = choice(signature, "relu");
  const ChoiceId columns = choice(signature, "concat 1");
  return {{{{columns, {0, 1}}, {relu, {first}}}, {second}}, {{{relu, {0}}, {relu, {1}}, {columns, {first, second}}}, {third}}};
}

// Candidates in the order in which they are taken.
inline CandidateList in_order(const GraphSignature& signature, const std::vector<RuleCandidate>& candidates) {
  std::size_t most = 1;
  for (const RuleCandidate& c : candidates) most = std::max({most, c.source.nodes.size(), c.target.nodes.size()});
  CandidateList list(signature, most);
  for (const RuleCandidate& c : candidates) list.add(c);
  list.sort();
  return list;
}

// All candidates of graphs of up to `operators` operations, in the order of a job.
inline std::vector<RuleCandidate> candidates_up_to(std::size_t operators, const GraphSignature& signature) {
  const EnumerationOptions options{.max_operators = operators};
  const auto codec = GraphCodec::make(signature, operators);
  std::vector<Record> records;
  std::vector<Record> smaller;
  const auto counts = enumerate(signature, options, 0, 1, [&](const Record& r) {
    records.push_back(r);
    if (codec->operators(r.code) < operators) smaller.push_back(r);
  });
  EXPECT_TRUE(counts.has_value());
  Candidates finder(signature, options);
  finder.learn(smaller);
  const CandidateList list = in_order(signature, finder.find(records));
  return list.part(0, list.size());
}

}  // namespace xflow::generator
