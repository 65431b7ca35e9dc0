#include <fmt/format.h>

#include "tests/rules/rules_for_tests.h"

namespace xflow::rules {
namespace {

constexpr std::string_view kSiblings = R"(# Two products that share an operand are one product.
#   X.A ++ X.B = X.(A ++ B)
rule merge-matmuls-sharing-lhs
  with
    x: [B.., M, K], a: [K, N]
    b: [K, P]
  source
    y1 = matmul(x, a)
    y2 = matmul(x, b)
  target
    y = matmul(x, concat(a, b, axis: -1))
    y1, y2 = split(y, axis: -1, sizes: [N, P])
  where const(a) and const(b)
)";

TEST(RuleText, IsParsed) {
  const std::vector<Rule> rules = parsed(kSiblings);
  ASSERT_EQ(rules.size(), 1U);
  const Rule& rule = rules[0];
  EXPECT_EQ(rule.name, "merge-matmuls-sharing-lhs");
  EXPECT_EQ(rule.comment, (std::vector<std::string>{" Two products that share an operand are one product.", "   X.A ++ X.B = X.(A ++ B)"}));
  EXPECT_EQ(rule.variables, (std::vector<std::string>{"x", "a", "b"}));
  EXPECT_EQ(rule.outputs, (std::vector<std::string>{"y1", "y2"}));
  EXPECT_EQ(rule.names.at("B"), NameKind::sequence);
  EXPECT_EQ(rule.names.at("K"), NameKind::dimension);
  EXPECT_FALSE(rule.pointwise);
  EXPECT_EQ(rule.float_class, FloatClass::rounding);
}

TEST(RuleText, PrintsAndParsesBackToTheSameRule) {
  const std::string printed = print(parsed(kSiblings)[0]);
  EXPECT_EQ(printed, R"(# Two products that share an operand are one product.
#   X.A ++ X.B = X.(A ++ B)
rule merge-matmuls-sharing-lhs
  with
    x: [B.., M, K]
    a: [K, N]
    b: [K, P]
  source
    y1 = matmul(x, a)
    y2 = matmul(x, b)
  target
    y = matmul(x, concat(a, b, axis: -1))
    y1, y2 = split(y, axis: -1, sizes: [N, P])
  where
    const(a) and
    const(b)
)");
  EXPECT_EQ(print(parsed(printed)[0]), printed);
}

TEST(RuleText, TheOperatorAndStandsBesideTheWordThatJoinsGuards) {
  const std::string text =
      "rule r\n  with\n    i: int64[N]\n  source\n    y = and(less(i, 3), less(i, 5))\n  target\n    y = less(i, 3)\n  where\n"
      "    in_range(i, -2, 2 * N) and\n    N >= 2\n";
  const Rule rule = parsed(text)[0];
  EXPECT_EQ(rule.source[0].term.name, "and");
  EXPECT_EQ(rule.guards.size(), 2U);
  EXPECT_EQ(print(parsed(print(rule))[0]), text);
}

TEST(RuleText, InfixOperatorsAreOperators) {
  const Rule rule = parsed(
      "rule r\n  source\n    y = x * clip(x + 3, min: 0, max: 6) / 6\n  target\n    y = x * hard_sigmoid(x, alpha: 1/6, beta: 1/2)\n")[0];
  EXPECT_EQ(print(rule.source[0].term), "div(mul(x, clip(add(x, 3), min: 0, max: 6)), 6)");
  EXPECT_EQ(print(rule.target[0].term), "mul(x, hard_sigmoid(x, alpha: 1/6, beta: 1/2))");
  EXPECT_TRUE(rule.pointwise);
}

TEST(RuleText, ExpressionsKeepTheirStructureInPrint) {
  const std::string text =
      "rule r\n  with\n    x: [N, 2 * C, S..]\n  source\n    y = reshape(x, shape: [N * (C - 1) + -C * 2, 1^S, floor_div(C, 2), dim(x, "
      "-1)])\n"
      "  target\n    y = x\n  where\n    N - (C - 1) >= 2 and\n    uses(x) = 1 and\n    C < N + 1\n";
  const std::string once = print(parsed(text)[0]);
  EXPECT_EQ(once,
            "rule r\n  with\n    x: [N, 2 * C, S..]\n  source\n    y = reshape(x, shape: [N * (C - 1) + -C * 2, 1^S, floor_div(C, 2), "
            "dim(x, -1)])\n"
            "  target\n    y = x\n  where\n    N - (C - 1) >= 2 and\n    uses(x) = 1 and\n    N + 1 > C\n");
  EXPECT_EQ(print(parsed(once)[0]), once);
}

TEST(RuleText, SeveralRulesKeepTheirComments) {
  const std::vector<Rule> rules = parsed(
      "# one\nrule a\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n\n# not of the rule\n\n# two\nrule b\n  source y = "
      "identity(x)\n  target y = x\n");
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].comment, std::vector<std::string>{" one"});
  EXPECT_EQ(rules[1].comment, std::vector<std::string>{" two"});
}

TEST(RuleHash, IsThatOfTheTextWithoutComment) {
  const std::string body = "rule r\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n";
  const RuleHash hash = parsed(body)[0].hash;
  EXPECT_EQ(parsed("# said differently\n" + body)[0].hash, hash);
  EXPECT_EQ(parsed("rule r\n  source y = relu( relu(x) )\n  target\n\n y = relu(x)")[0].hash, hash);
  EXPECT_NE(parsed("rule r\n  source\n    y = relu(relu(x))\n  target\n    y = abs(x)\n")[0].hash, hash);
  EXPECT_EQ(RuleHash::parse(hash.to_string()), hash);
}

TEST(FloatClass, IsInferredFromTheOperators) {
  const auto class_of = [](std::string_view body) { return parsed("rule r\n  source y = " + std::string(body) + "\n")[0].float_class; };
  EXPECT_EQ(class_of("relu(relu(x))\n  target y = relu(x)"), FloatClass::exact);
  EXPECT_EQ(class_of("relu(transpose(x, perm: p))\n  target y = transpose(relu(x), perm: p)"), FloatClass::exact);
  EXPECT_EQ(class_of("(x + z) * s\n  target y = x * s + z * s"), FloatClass::rounding);
  EXPECT_EQ(class_of("x / 6\n  target y = x * (1/6)"), FloatClass::rounding);
  EXPECT_EQ(class_of("x / s\n  target y = x * reciprocal(s)\n  where const(s)"), FloatClass::rounding);
  EXPECT_EQ(class_of("pow(x, 2)\n  target y = x * x"), FloatClass::rounding);
  EXPECT_EQ(class_of("x / s * s\n  target y = x"), FloatClass::special);
  EXPECT_EQ(class_of("x * z - x * z + w\n  target y = w"), FloatClass::special);
  EXPECT_EQ(class_of("exp(x) * exp(z)\n  target y = exp(x + z)"), FloatClass::special);
}

TEST(RuleErrors, NameThePlaceAndWhatWasExpected) {
  const std::string head = "rule r\n  source\n    y = ";
  const std::string tail = "\n  target\n    y = x\n";
  EXPECT_EQ(error_of("rul r"), "test.rules:1:1: expected 'rule', found 'rul'");
  EXPECT_EQ(error_of("rule"), "test.rules:1:5: expected the name of the rule, found the end of the line");
  EXPECT_EQ(error_of("rule r\n"), "test.rules:2:1: expected 'source', found the end of the file");
  EXPECT_EQ(error_of("rule r\n  source\n  target\n    y = x"),
            "test.rules:3:3: expected a statement such as 'y = relu(x)', found 'target'");
  EXPECT_EQ(error_of(head + "relu(x"), "test.rules:3:15: expected ')', found the end of the line");
  EXPECT_EQ(error_of(head + "relu(x) relu(x)" + tail), "test.rules:3:17: expected the end of the line, found 'relu'");
  EXPECT_EQ(error_of(head + "relu(x, 1 @ 2)" + tail), "test.rules:3:19: unexpected '@'; a product of matrices is written matmul(x, a)");
  // Flags are numbers: a name would be a variable.
  EXPECT_EQ(error_of(head + "reduce_sum(x, axes: [0], keep_dims: true)" + tail),
            "test.rules:3:45: expected a number, a name or a list, found 'true'; a flag is written 1 or 0");
  EXPECT_EQ(error_of(head + "relu(x)\n    false = relu(x)" + tail),
            "test.rules:4:5: expected the name of an output, found 'false'; a flag is written 1 or 0");
  EXPECT_EQ(error_of(head + "relu(x) \x01" + tail), "test.rules:3:17: unexpected byte 1");
  EXPECT_EQ(error_of(head + "rleu(x)" + tail), "test.rules:3:9: unknown operator 'rleu'; similar: relu");
  EXPECT_EQ(error_of(head + "relu(x, x)" + tail), "test.rules:3:9: expected 1 operand of relu, found 2");
  EXPECT_EQ(error_of(head + "relu(x, slope: 1)" + tail), "test.rules:3:17: unknown attribute 'slope' of relu, expected none");
  EXPECT_EQ(error_of(head + "transpose(x)" + tail), "test.rules:3:9: expected attribute 'perm' of transpose");
  EXPECT_EQ(error_of(head + "transpose(x, perm: p, perm: q)" + tail), "test.rules:3:31: attribute 'perm' is given twice");
  EXPECT_EQ(error_of(head + "x" + tail), "test.rules:3:9: expected an operator: a source statement is 'y = OPERATOR(...)'");
  EXPECT_EQ(error_of(head + "add(1, 2)" + tail), "test.rules:3:9: expected an operand of add that is not a number");
  EXPECT_EQ(error_of(head + "x * 9223372036854775808" + tail), "test.rules:3:13: the number 9223372036854775808 does not fit 64 bits");
  EXPECT_EQ(error_of(head + "x * (1/0)" + tail), "test.rules:3:15: the value is not a number that fits 64 bits");
  EXPECT_EQ(error_of(head + "zeros(shape: [1])" + tail),
            "test.rules:3:9: zeros generates a constant; in the source it is an operand beside others");
  EXPECT_EQ(error_of(head + "add(1, zeros(shape: [1]))" + tail), "test.rules:3:9: expected an operand of add that is not a number");
}

TEST(RuleErrors, OfNames) {
  const std::string source = "rule r\n  source\n    y = relu(x)\n  target\n    ";
  EXPECT_EQ(error_of(source + "z = relu(x)\n"), "test.rules:1:6: no output: source and target define no name in common");
  EXPECT_EQ(error_of(source + "y = relu(z)\n"), "test.rules:5:14: 'z' is not bound by the source");
  EXPECT_EQ(error_of(source + "y = relu(y)\n"), "test.rules:5:14: 'y' is used before it is defined");
  EXPECT_EQ(error_of(source + "y = x\n    y = x\n"), "test.rules:6:5: 'y' is already defined");
  EXPECT_EQ(error_of(source + "y = reshape(x, shape: [N])\n"), "test.rules:5:28: 'N' is not bound by the source or its declared types");
  EXPECT_EQ(error_of(source + "y = reshape(x, shape: dims(x, 1))\n"),
            "test.rules:5:27: expected 1 argument of dims(x): all dimensions, found 2");
  EXPECT_EQ(error_of(source + "y = reshape(x, shape: shape(x))\n"), "test.rules:5:27: unknown function 'shape'");
  EXPECT_EQ(error_of(source + "y = x\n  where const(z)\n"), "test.rules:6:9: 'z' is not a variable of the source");
  EXPECT_EQ(error_of(source + "y = x\n  where rank(x)\n"),
            "test.rules:6:16: expected '=', '!=', '<', '<=', '>' or '>=', found the end of the line");
  EXPECT_EQ(error_of(source + "y = x\n  where in_range(x, 0, 3)\n"),
            "test.rules:6:9: expected 'x' to have a declared type of integers, as in x: int64[K]");
  EXPECT_EQ(error_of("rule r\n  with x: [N], z: [N]\n  source y = relu(x)\n  target y = x"),
            "test.rules:2:16: 'z' is not a variable of the source");
  EXPECT_EQ(error_of("rule r\n  with x: [N * C]\n  source y = relu(x)\n  target y = x"),
            "test.rules:1:6: dimension 'C' cannot be found from the types of the variables");
  EXPECT_EQ(error_of("rule r\n  source y = relu(x)\n  target y = x\nrule r\n  source y = relu(x)\n  target y = x\n"),
            "test.rules:4:6: rule 'r' is already defined in line 1");
}

TEST(RuleErrors, NestingIsBounded) {
  std::string deep = "rule r\n  source\n    y = ";
  for (int k = 0; k < 100000; ++k) deep += "(";
  EXPECT_EQ(error_of(deep), "test.rules:3:410: nested more than 400 deep");
  std::string wide = "rule r\n  source\n    y = x";
  for (int k = 0; k < 2000; ++k) wide += " + x";
  EXPECT_EQ(error_of(wide + "\n  target y = x"), "test.rules:3:1611: nested more than 400 deep; each operator of a sum or product counts");
}

// Of a dimension, an attribute and a guard: sums, products, indices.
TEST(RuleErrors, LongExpressionsAreBounded) {
  const auto chain = [](const std::string& first, const std::string& more, int count) {
    std::string text = first;
    for (int k = 0; k < count; ++k) text += more;
    return text;
  };
  const std::string bound = "nested more than 400 deep; each operator of a sum or product counts";
  const std::string body = "  source\n    y = relu(x)\n  target\n    y = relu(x)\n";
  for (const std::string& text : {chain("N", " + 1", 20000), chain("N", " - N", 20000), chain("N", " * N", 20000), chain("p", "[0]", 20000),
                                  "(" + chain("N", " + 1", 300) + ")" + chain("", " * N", 300)}) {
    EXPECT_NE(error_of("rule r\n  with x: [" + text + "]\n" + body).find(bound), std::string::npos) << text.substr(0, 20);
    EXPECT_NE(error_of("rule r\n  source y = transpose(x, perm: " + text + ")\n  target y = x\n").find(bound), std::string::npos);
    EXPECT_NE(error_of("rule r\n" + body + "  where " + text + " = 1\n").find(bound), std::string::npos);
  }
  EXPECT_EQ(parsed("rule r\n  with x: [" + chain("N", " + 1", 400) + "]\n" + body).size(), 1U);
  EXPECT_EQ(error_of("rule r\n  with x: [" + chain("N", ", N", 20000) + "]\n" + body),
            "test.rules:1:6: a rule has at most 20000 words, numbers and symbols");
}

// A chain of sums in the text is nested calls when it is printed.
TEST(Printing, OfTheLongestSumParsesBack) {
  std::string text = "rule r\n  source\n    y = x";
  for (int k = 0; k < 400; ++k) text += " + x";
  text += "\n  target\n    y = x\n";
  const std::string printed = print(parsed(text)[0]);
  EXPECT_EQ(print(parsed(printed)[0]), printed);
}

TEST(RuleErrors, NoTextCrashes) {
  // Every prefix and every text with one byte changed parses or has an error with a place.
  const std::string text(kSiblings);
  for (std::size_t k = 0; k <= text.size(); ++k) {
    const auto prefix = parse_rules(text.substr(0, k), "f");
    EXPECT_TRUE(prefix || prefix.error().where.substr(0, 2) == "f:") << k;
    for (const char c : {'(', ']', ',', '.', '-', ':', 'y', '\n', '\0', '\x80'}) {
      std::string changed = text;
      if (k < changed.size()) changed[k] = c;
      const auto other = parse_rules(changed, "f");
      EXPECT_TRUE(other || other.error().where.substr(0, 2) == "f:") << k;
    }
  }
}

}  // namespace
}  // namespace xflow::rules
