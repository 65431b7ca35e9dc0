// Rules that make no sense get a clear error, and nothing crashes.
#include <gtest/gtest.h>

#include <random>

#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"

namespace xflow::verifier {
namespace {

// The verdict of the one rule of a text, with what it says; or the error of the parser.
std::string said(const std::string& text) {
  const auto rules = rules::parse_rules(text, "r.rules");
  if (!rules) return rules.error().text();
  Options few;
  few.steps = 20'000;
  few.z3_rlimit = 200'000;
  const RuleDecision d = decide(rules->front(), few);
  return d.verdict == Verdict::proved ? "proved" : d.explanation();
}

std::string rule(const std::string& with, const std::string& source, const std::string& target, const std::string& where = "") {
  return "rule r\n" + (with.empty() ? "" : "  with " + with + "\n") + "  source\n    y = " + source + "\n  target\n    y = " + target +
         "\n" + (where.empty() ? "" : "  where " + where + "\n");
}

TEST(Malformed, ThousandsOfOperatorsAreRefused) {
  std::string text = "x";
  for (int k = 0; k < 5000; ++k) text += " + x";
  EXPECT_NE(said(rule("", text, "x")).find("nested more than 400 deep"), std::string::npos) << said(rule("", text, "x"));
}

TEST(Malformed, FractionsAreNoIntegers) {
  // The constant of a model would be rounded to 0.
  EXPECT_NE(said(rule("x: int8[N]", "relu(x)", "relu(x * (1/2) * 2)")).find("expected an integer as the elements of int8, found 1/2"),
            std::string::npos)
      << said(rule("x: int8[N]", "relu(x)", "relu(x * (1/2) * 2)"));
  EXPECT_EQ(said(rule("x: int8[N]", "relu(x)", "relu(x * 3 - 2 * x)")), "proved");
  EXPECT_EQ(said(rule("x: float32[N]", "relu(x)", "relu(x * (1/2) * 2)")), "proved");
}

TEST(Malformed, DeepNestingIsRefused) {
  const std::string deep = std::string(20000, '(') + "x" + std::string(20000, ')');
  EXPECT_NE(said(rule("", deep, "x")).find("nested more than"), std::string::npos);
  std::string calls = "x";
  for (int k = 0; k < 900; ++k) calls = "relu(" + calls + ")";
  EXPECT_NE(said(rule("", calls, "relu(x)")).find("nested more than"), std::string::npos);
}

TEST(Malformed, AVariableOfItselfIsRefused) {
  EXPECT_NE(said(rule("", "relu(y)", "relu(y)")), "proved");
  EXPECT_NE(said("rule r\n  source\n    a = relu(b)\n    b = relu(a)\n    y = a + b\n  target\n    y = b\n"), "proved");
}

TEST(Malformed, HundredsOfOperatorsAreDecided) {
  std::string source = "x";
  for (int k = 0; k < 300; ++k) source += " + x";
  EXPECT_EQ(said(rule("", source, "x * 301")), "proved");
}

TEST(Malformed, NumbersBeyond31BitsAreExact) {
  EXPECT_EQ(said(rule("", "x * 3000000000 * 3", "x * 9000000000")), "proved");
  EXPECT_NE(said(rule("", "x * 4294967296", "x * 0")).find("refuted"), std::string::npos);
  // No shapes that direct evaluation could try.
  const std::string large = said(rule("x: [3000000000, N]", "transpose(transpose(x, perm: [1, 0]), perm: [1, 0])", "x"));
  EXPECT_NE(large.find("unknown: agreement"), std::string::npos) << large;
  // 2^62 + 2^62 does not fit.
  EXPECT_NE(said(rule("x: [4611686018427387904]", "concat(x, x, axis: 0)", "concat(x, x, axis: 0)")), "proved");
  EXPECT_NE(said(rule("x: [9223372036854775808]", "x", "x")).find("r.rules:2:"), std::string::npos);
}

TEST(Malformed, ContradictoryGuardsAreVacuous) {
  const std::string text = said(rule("x: [N]", "-x", "x", "N >= 3 and N <= 2"));
  EXPECT_NE(text.find("ill-typed"), std::string::npos) << text;
  EXPECT_NE(said(rule("x: [N]", "-x", "x", "N + 1 = N")), "proved");
  EXPECT_NE(said(rule("x: [N]", "-x", "x", "N = 0")), "proved");
  EXPECT_NE(said(rule("x: [N]", "-x", "x", "mod(N, 2) = 0 and mod(N, 2) = 1")), "proved");
}

TEST(Malformed, DivisionByZeroInAGuardProvesNothing) {
  for (const char* guard :
       {"floor_div(N, 0) = 1", "mod(N, 0) = 0", "floor_div(N, N - N) = 1", "floor_div(1, 1 - 1) >= 0", "ceil_div(N, 0) != N"}) {
    EXPECT_NE(said(rule("x: [N]", "-x", "x", guard)), "proved") << guard;
  }
  // Where the divisor can be 0 the guard holds only where it is not.
  EXPECT_NE(said(rule("x: [N], z: [M]", "-x", "x", "floor_div(N, M - 1) = 1")), "proved");
}

TEST(Malformed, ErrorsNameThePlace) {
  EXPECT_NE(said("rule r\n  source\n    y = frob(x)\n  target\n    y = x\n").find("r.rules:3:"), std::string::npos);
  EXPECT_NE(said("rule r\n  source\n    y = relu(x\n  target\n    y = x\n").find("r.rules:"), std::string::npos);
  EXPECT_NE(said("rul r").find("r.rules:1:1"), std::string::npos);
  EXPECT_NE(said("rule r\n  source\n    y = x / 0\n  target\n    y = x\n"), "proved");
}

// Rules with some tokens or bytes changed: an error with its place, or a decision, and never a crash.
class Mangler {
 public:
  explicit Mangler(std::uint64_t seed) : random_(seed) {}

  std::string mangled(const std::string& text, const std::string& other) {
    std::vector<std::string> tokens = split(text);
    for (std::uint64_t n = 1 + random_() % 3; n > 0 && !tokens.empty(); --n) {
      const std::size_t at = random_() % tokens.size();
      static const std::vector<std::string> kOdd = {"0",
                                                    "-1",
                                                    "4294967296",
                                                    "9223372036854775807",
                                                    "99999999999999999999",
                                                    "1/0",
                                                    "..",
                                                    "^",
                                                    "[",
                                                    "]",
                                                    "(",
                                                    ")",
                                                    "inf",
                                                    "_",
                                                    "#",
                                                    "\n",
                                                    "\0",
                                                    "x",
                                                    "rank",
                                                    "floor_div",
                                                    "where",
                                                    "and",
                                                    "=",
                                                    ","};
      switch (random_() % 6) {
        case 0:
          tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 1:
          tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens[random_() % tokens.size()]);
          break;
        case 2:
          std::swap(tokens[at], tokens[random_() % tokens.size()]);
          break;
        case 3:
          tokens[at] = kOdd[random_() % kOdd.size()];
          break;
        case 4: {
          const std::vector<std::string> foreign = split(other);
          if (!foreign.empty()) tokens[at] = foreign[random_() % foreign.size()];
          break;
        }
        default:
          if (!tokens[at].empty()) tokens[at][random_() % tokens[at].size()] = static_cast<char>(random_() % 256);
          break;
      }
    }
    std::string result;
    for (const std::string& t : tokens) result += t;
    return result;
  }

 private:
  // Words, numbers, and single other characters; joined they are the text.
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> result;
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (const char c : text) {
      if (is_word(c) && !result.empty() && is_word(result.back().back())) {
        result.back() += c;
      } else {
        result.emplace_back(1, c);
      }
    }
    return result;
  }

  std::mt19937_64 random_;
};

TEST(Malformed, MangledRulesAreErrorsOrDecided) {
  std::vector<std::string> texts;
  for (const char* folder : {"/substitutions", "/tests/verifier/proved", "/tests/verifier/refuted"}) {
    const auto rules = read_rules(places::repository() + folder);
    ASSERT_TRUE(rules.has_value());
    for (const rules::Rule& r : *rules) texts.push_back(rules::print(r));
  }
  Mangler mangler(1);
  std::mt19937_64 random(2);
  int errors = 0;
  int decided = 0;
  Options few;
  few.steps = 2'000;
  few.z3_rlimit = 20'000;
  for (int k = 0; k < 6000; ++k) {
    const std::string text = mangler.mangled(texts[random() % texts.size()], texts[random() % texts.size()]);
    const auto rules = rules::parse_rules(text, "r.rules");
    if (!rules) {
      ++errors;
      EXPECT_EQ(rules.error().text().find("r.rules:"), 0U) << rules.error().text() << "\n" << text;
      EXPECT_FALSE(rules.error().message.empty());
      continue;
    }
    // The printed rule is the same rule.
    for (const rules::Rule& r : *rules) {
      const auto reparsed = rules::parse_rules(rules::print(r), "again");
      ASSERT_TRUE(reparsed.has_value()) << reparsed.error().text() << "\n" << rules::print(r);
      EXPECT_EQ(rules::print(reparsed->front()), rules::print(r));
    }
    if (rules->empty() || decided >= 150) continue;
    ++decided;
    const RuleDecision d = decide(rules->front(), few);
    EXPECT_TRUE(d.verdict == Verdict::proved || !d.explanation().empty());
  }
  EXPECT_GE(errors, 2000);
  EXPECT_GE(decided, 100);
}

}  // namespace
}  // namespace xflow::verifier
