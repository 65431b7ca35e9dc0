// The public interface to rules: reading, selecting, deriving, deciding.
#include <gtest/gtest.h>
#include <xflow/rules.h>
#include <xflow/verify.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace xflow {
namespace {

constexpr std::string_view kRules = R"(
# Two transposes are none.
#   X.T.T = X
rule twice
  with
    x: [M, N]
  source
    y = transpose(transpose(x, perm: [1, 0]), perm: [1, 0])
  target
    y = x

rule wrong
  source
    y = sub(x, z)
  target
    y = sub(z, x)
)";

RuleSet parsed(std::string_view text = kRules) {
  auto rules = RuleSet::parse(text, "my.rules");
  EXPECT_TRUE(rules) << rules.error().text();
  return *std::move(rules);
}

// A set of one rule.
RuleSet only(std::string_view name) {
  const std::string text(kRules);
  const auto begin = text.find("rule " + std::string(name));
  const auto end = text.find("\nrule ", begin);
  return parsed(text.substr(begin, end == std::string::npos ? end : end - begin));
}

TEST(RuleSets, SayWhatRulesAre) {
  const RuleSet rules = parsed();
  ASSERT_EQ(rules.size(), 2U);
  const RuleInfo& twice = rules.rule(0);
  EXPECT_EQ(twice.name, "twice");
  EXPECT_EQ(twice.equation, "X.T.T = X");
  EXPECT_EQ(twice.float_class, FloatClass::exact);
  EXPECT_EQ(twice.file, "my.rules");
  EXPECT_EQ(twice.place.substr(0, 11), "my.rules:4:");
  EXPECT_EQ(twice.source_operations, 2U);
  EXPECT_EQ(twice.target_operations, 0U);
  EXPECT_EQ(twice.source_operators, std::vector<std::string>{"transpose"});
  EXPECT_EQ(rules.rule(1).equation, "sub(x, z) = sub(z, x)");
  EXPECT_EQ(parsed(rules.text()).text(), rules.text());
}

TEST(RuleSets, OfTextsThatAreNoRulesSayWhere) {
  const auto none = RuleSet::parse("rule a\n  sauce\n", "my.rules");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::syntax);
  EXPECT_EQ(none.error().where.substr(0, 9), "my.rules:");
}

TEST(RuleSets, AreWrittenAndReadAgain) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "rule_sets";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(parsed().write(folder / "my.rules"));
  const auto read = RuleSet::read({folder});
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->text(), parsed().text());
  const auto none = RuleSet::read({folder / "other.rules"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::unreadable);
}

TEST(RuleSets, OfTheBuildAreSelectedByName) {
  const auto shipped = RuleSet::shipped();
  ASSERT_TRUE(shipped);
  EXPECT_GT(shipped->size(), 200U);
  const auto selected = select_rules({"merge-matmuls-sharing-lhs"});
  ASSERT_TRUE(selected) << selected.error().text();
  EXPECT_EQ(selected->rules.size(), 1U);
  EXPECT_EQ(selected->others.size() + 1, shipped->size());
  const auto unknown = select_rules({"merge-matmuls-sharing"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(unknown.error().message.starts_with("no rule 'merge-matmuls-sharing' is shipped; similar: ")) << unknown.error().text();
}

TEST(Verify, ProvesAndRefutes) {
  const auto decided = verify(parsed(), {.max_time = Seconds(60), .jobs = 2});
  ASSERT_TRUE(decided) << decided.error().text();
  EXPECT_EQ((*decided)[0].verdict, Verdict::proved);
  EXPECT_FALSE((*decided)[0].counterexample);
  EXPECT_EQ((*decided)[1].verdict, Verdict::refuted);
  ASSERT_TRUE((*decided)[1].counterexample);
  const Counterexample& c = *(*decided)[1].counterexample;
  EXPECT_EQ(c.tensors.size(), 2U);
  EXPECT_NE(c.source_value, c.target_value);
  const auto replayed = replay_counterexample(only("wrong"), c.text);
  ASSERT_TRUE(replayed) << replayed.error().text();
  EXPECT_TRUE(replayed->different);
}

TEST(Verify, RefusesOptionsWithoutMeaning) {
  EXPECT_EQ(verify(parsed(), {.max_time = Seconds(0)}).error().message, "max_time must be positive");
  EXPECT_EQ(verify(parsed(), {.max_time = {}, .jobs = 0}).error().message, "jobs must be at least 1");
}

TEST(Verify, ReplaysTheRecordsOfShippedRules) {
  const auto selected = select_rules({"merge-matmuls-sharing-lhs"}, RuleSet::Records::read);
  ASSERT_TRUE(selected);
  const auto decided = verify(selected->rules);
  ASSERT_TRUE(decided);
  EXPECT_EQ((*decided)[0].verdict, Verdict::proved);
  EXPECT_GT((*decided)[0].instances, 0U);
}

TEST(Verify, ExplainsOneRule) {
  const auto proved = explain(only("twice"));
  ASSERT_TRUE(proved);
  EXPECT_TRUE(proved->proved);
  EXPECT_TRUE(proved->text.starts_with("twice: proved")) << proved->text;
  const auto refuted = explain(only("wrong"));
  ASSERT_TRUE(refuted);
  EXPECT_FALSE(refuted->proved);
  EXPECT_EQ(explain(parsed()).error().message, "expected one rule, found 2");
}

TEST(Verify, InfersGuards) {
  const auto inferred = infer_guards(only("twice"));
  ASSERT_TRUE(inferred) << inferred.error().text();
  EXPECT_TRUE(inferred->proved);
  EXPECT_EQ(inferred->rule.size(), 1U);
}

TEST(Derive, FindsAStepByAnotherRule) {
  const RuleSet goal = parsed(
      "rule four\n  with\n    x: [M, N]\n  source\n    y = relu(transpose(transpose(x, perm: [1, 0]), perm: [1, 0]))\n"
      "  target\n    y = relu(x)\n");
  const auto derived = derive(goal, only("twice"));
  ASSERT_TRUE(derived) << derived.error().text();
  EXPECT_TRUE(derived->derived);
  EXPECT_EQ(derived->rules, std::vector<std::string>{"twice"});
  ASSERT_FALSE(derived->cases.empty());
  EXPECT_EQ(derived->cases[0].steps.size(), 1U);
  const auto open = derive(goal, only("wrong"));
  ASSERT_TRUE(open) << open.error().text();
  EXPECT_FALSE(open->derived);
  EXPECT_EQ(derive(goal, RuleSet()).error().message, "cannot derive 'four': no other rules are given");
  EXPECT_EQ(derive(parsed(), goal).error().message, "one rule is derived at a time, found 2; give its name");
}

TEST(Derive, CountsAndMinimizes) {
  const RuleSet rules = parsed(
      "rule twice\n  with\n    x: [M, N]\n  source\n    y = transpose(transpose(x, perm: [1, 0]), perm: [1, 0])\n  target\n    y = x\n\n"
      "rule in-relu\n  with\n    x: [M, N]\n  source\n    y = relu(transpose(transpose(x, perm: [1, 0]), perm: [1, 0]))\n  target\n"
      "    y = relu(x)\n");
  std::size_t calls = 0;
  const auto counts = count_derived(rules, {}, [&](std::size_t, std::size_t) { ++calls; });
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->derived, 1U);
  EXPECT_EQ(counts->not_derived, 1U);
  EXPECT_EQ(calls, 2U);
  const auto minimal = minimize(rules);
  ASSERT_TRUE(minimal);
  ASSERT_EQ(minimal->kept.size(), 1U);
  EXPECT_EQ(minimal->kept.rule(0).name, "twice");
  ASSERT_EQ(minimal->removed.size(), 1U);
  EXPECT_EQ(minimal->removed[0].by, std::vector<std::string>{"twice"});
}

TEST(RecordsOfRules, AreCheckedAndRenewed) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "rule_records";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(only("twice").write(folder / "my.rules"));
  ASSERT_TRUE(renew_records(folder));
  const auto checked = check_records({folder});
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_EQ(checked->rules, 1U);
  EXPECT_EQ(checked->accepted, 1U);
  EXPECT_TRUE(checked->failures.empty());
  ASSERT_TRUE(only("wrong").write(folder / "my.rules"));
  const auto stale = check_records({folder});
  ASSERT_TRUE(stale);
  EXPECT_EQ(stale->accepted, 0U);
  EXPECT_EQ(stale->failures.size(), 1U);
  const auto refused = renew_records(folder);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_proved);
}

TEST(Rules, AreWrittenWithTheirFamilies) {
  constexpr const char* kText =
      "# Sums of parts.\nrule f-{n} for n in 2..\n  with\n    x{i}: [N{i}]\n  source\n    y{i} = relu(x{i})\n"
      "  target\n    y{1..n} = split(relu(concat(x{1..n}, axis: 0)), axis: 0, sizes: [N{1..n}])\n";
  const auto rules = RuleSet::parse(kText, "f.rules");
  ASSERT_TRUE(rules) << rules.error().text();
  ASSERT_EQ(rules->size(), 2U);
  EXPECT_EQ(rules->rule(0).family, "f-{n}");
  EXPECT_EQ(rules->rule(1).family_from, 2);
  EXPECT_EQ(rules->text(), kText);
  const auto shipped = RuleSet::shipped();
  ASSERT_TRUE(shipped);
  const auto reread = RuleSet::parse(shipped->text(), "written.rules");
  ASSERT_TRUE(reread) << reread.error().text();
  ASSERT_EQ(reread->size(), shipped->size());
  for (std::size_t k = 0; k < reread->size(); ++k) {
    EXPECT_EQ(reread->rule(k).hash, shipped->rule(k).hash);
    EXPECT_EQ(reread->rule(k).family, shipped->rule(k).family);
  }
}

}  // namespace
}  // namespace xflow
