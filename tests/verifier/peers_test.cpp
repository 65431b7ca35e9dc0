// The substitutions that TASO and TENSAT publish, each decided for all shapes. XFLOW_TEST_PEERS is the folder that holds their files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "src/verifier/proof/prove_rules.h"
#include "tests/verifier/peers/translate.h"

namespace xflow::verifier {
namespace {

std::optional<std::string> published(const std::string& file) {
  const char* folder = std::getenv("XFLOW_TEST_PEERS");
  if (folder == nullptr) return std::nullopt;
  std::ifstream in(std::string(folder) + "/" + file, std::ios::binary);
  EXPECT_TRUE(in.good()) << "cannot read " << folder << "/" << file;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<peers::Rule> taso() {
  const auto bytes = published("taso_graph_subst.pb");
  if (!bytes) return {};
  auto rules = peers::read_taso(*bytes);
  EXPECT_TRUE(rules.has_value()) << rules.error().text();
  return rules.has_value() ? *std::move(rules) : std::vector<peers::Rule>{};
}

std::vector<peers::Rule> with_convolution(std::vector<peers::Rule> rules) {
  std::erase_if(rules, [](const peers::Rule& r) { return !peers::has_convolution(r); });
  return rules;
}

// Decides a set, prints its row of the table, and returns the names of what is not proved.
std::set<std::string> row(const std::string& title, const std::vector<peers::Rule>& published_rules, peers::Generality generality) {
  std::vector<rules::Rule> rules;
  for (const peers::Rule& r : published_rules) {
    auto translated = peers::translate(r, generality);
    EXPECT_TRUE(translated.has_value()) << translated.error().text() << "\n" << peers::rule_text(r, generality).value_or("");
    if (translated) rules.push_back(*std::move(translated));
  }
  std::map<Verdict, int> count;
  std::set<std::string> refuted;
  std::uint64_t microseconds = 0;
  const std::vector<RuleDecision> decisions = decide(rules, {}, 2);
  for (std::size_t k = 0; k < decisions.size(); ++k) {
    const RuleDecision& d = decisions[k];
    ++count[d.verdict];
    microseconds += d.microseconds;
    if (d.verdict == Verdict::refuted) refuted.insert(d.rule.substr(d.rule.find('-') + 1));
    EXPECT_TRUE(d.verdict == Verdict::proved || d.verdict == Verdict::refuted) << d.rule << ": " << d.explanation() << "\n"
                                                                               << rules::print(rules[k]);
    EXPECT_EQ(d.verdict == Verdict::refuted, d.decision.counterexample.has_value()) << d.rule;
  }
  std::string names;
  for (const std::string& n : refuted) names += (names.empty() ? "" : ", ") + n;
  fmt::print("| {} | {} | {} | {} | {} | {:.2f} |\n", title, rules.size(), count[Verdict::proved], count[Verdict::refuted],
             rules.size() - static_cast<std::size_t>(count[Verdict::proved] + count[Verdict::refuted]),
             static_cast<double>(microseconds) / 1e6);
  if (!names.empty()) fmt::print("  refuted: {}\n", names);
  return refuted;
}

using RuleNames = std::set<std::string>;

// Concatenations of two convolutions with inputs of their own: true only where both have as many output channels.
const RuleNames kTasoRefuted = {"99", "100", "130", "131"};

TEST(Peers, TasoAsPublished) {
  if (std::getenv("XFLOW_TEST_PEERS") == nullptr) GTEST_SKIP() << "XFLOW_TEST_PEERS is not set";
  const std::vector<peers::Rule> rules = taso();
  ASSERT_EQ(rules.size(), 133U);
  EXPECT_EQ(row("TASO: 3x3, stride 1, SAME, one group", rules, {}), kTasoRefuted);
}

TEST(Peers, TasoWithSymbolicWindows) {
  if (std::getenv("XFLOW_TEST_PEERS") == nullptr) GTEST_SKIP() << "XFLOW_TEST_PEERS is not set";
  const std::vector<peers::Rule> rules = with_convolution(taso());
  ASSERT_EQ(rules.size(), 40U);
  EXPECT_EQ(row("TASO's convolutions: any kernel, stride, dilation, pads", rules, {.window = true}), kTasoRefuted);
}

TEST(Peers, TasoWithSymbolicWindowsAndGroups) {
  if (std::getenv("XFLOW_TEST_PEERS") == nullptr) GTEST_SKIP() << "XFLOW_TEST_PEERS is not set";
  RuleNames expected = kTasoRefuted;
  expected.insert({"98", "105", "125", "126", "127", "128", "129"});
  EXPECT_EQ(row("the same, groups of each convolution", with_convolution(taso()), {.window = true, .groups = true}), expected);
}

TEST(Peers, TensatAsPublished) {
  if (std::getenv("XFLOW_TEST_PEERS") == nullptr) GTEST_SKIP() << "XFLOW_TEST_PEERS is not set";
  const auto single = published("tensat_converted.txt");
  const auto pairs = published("tensat_converted_multi.txt");
  ASSERT_TRUE(single && pairs);
  const auto rules = peers::read_tensat(*single, *pairs);
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  ASSERT_EQ(rules->size(), 133U);
  EXPECT_EQ(row("TENSAT: any kernel, stride 1, SAME, one group", *rules, {}), (RuleNames{"91", "92", "117", "118"}));
}

TEST(Peers, MalformedFilesAreErrors) {
  EXPECT_EQ(peers::read_taso("\x0a\x7f").error().code, ErrorCode::syntax);
  EXPECT_EQ(peers::read_taso("\x0a").error().code, ErrorCode::syntax);
  EXPECT_EQ(peers::read_tensat("(relu ?input_1)", "").error().code, ErrorCode::syntax);
  EXPECT_EQ(peers::read_tensat("(relu ?input_1)=>(gelu ?input_1)", "").error().code, ErrorCode::unsupported);
  EXPECT_EQ(peers::read_tensat("(relu ?input_1)=>(relu ?input_1", "").error().code, ErrorCode::syntax);
}

}  // namespace
}  // namespace xflow::verifier
