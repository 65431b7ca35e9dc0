#include "src/rules/uniform.h"

#include "tests/rules/rules_for_tests.h"

namespace xflow::rules {
namespace {

// What is wrong with a family of this body; empty if it is uniform.
std::string wrong_with(const std::string& body) {
  const std::string error = error_of("rule f-{n} for n in 2..\n" + body);
  constexpr std::string_view kUniform = "a family without a last number must be uniform: ";
  const std::size_t at = error.find(kUniform);
  return error == "no error" ? "" : at == std::string::npos ? error : error.substr(at + kUniform.size());
}

TEST(UniformFamilies, MayMergeSiblings) {
  EXPECT_EQ(wrong_with(R"(  with
    x: [B.., M, K]
    a{i}: [K, N{i}]
    b{i}: [N{i}]
  source
    y{i} = relu(matmul(x, a{i}) + b{i}) * 2
  target
    y{1..n} = split(relu(matmul(x, concat(a{1..n}, axis: -1)) + concat(b{1..n}, axis: 0)) * 2, axis: -1, sizes: [N{1..n}])
  where const(a{i}) and varies(b{i})
)"),
            "");
  EXPECT_EQ(wrong_with(R"(  with
    x: [N, C, S..]
    w{i}: [O{i}, C, K..]
    b{i}: [1^A, O{i}, 1^S]
  source
    u{i} = conv(x, w{i}, groups: 1, pads: p)
    y{i} = u{i} + b{i}
  target
    y{1..n} = split(conv(x, concat(w{1..n}, axis: 0), groups: 1, pads: p) + concat(b{1..n}, axis: rank(A)), axis: 1, sizes: [O{1..n}])
  where rank(A) <= 1
)"),
            "");
}

TEST(UniformFamilies, MayCountTheirParts) {
  EXPECT_EQ(wrong_with(R"(  source
    q, y{1..n} = split(x, axis: a, sizes: [t, s{1..n}])
    z{i} = relu(y{i}) + y{i}
  target
    q, u{1..n} = split(x, axis: a, sizes: [t, s{1..n}])
    z{i} = y{i} + relu(y{i})
)"),
            "");
  EXPECT_EQ(wrong_with(R"(  with
    x{i}: [A.., N{i}, B..]
  source
    y = concat(x{1..n}, x{1..n}, axis: -rank(B) - 1)
  target
    z = concat(x{1..n}, axis: rank(A))
    y = concat(z, z, axis: rank(A))
)"),
            "");
}

// What holds for three parts and may not hold for four.
TEST(UniformFamilies, HaveVariablesWithOneIndexedSize) {
  const auto variable = [](const std::string& type, const std::string& other) {
    return wrong_with("  with\n    x: " + other + "\n    a{i}: " + type +
                      "\n  source\n    y{i} = relu(a{i}) + x\n  target\n    y{i} = x + relu(a{i})\n");
  };
  EXPECT_EQ(variable("[K]", "[K]"), "'a{i}' needs one dimension with an index");
  EXPECT_EQ(variable("[N{i}, N{i}]", "[K]"), "an indexed size is a dimension of a variable with the same index, one in each variable");
  EXPECT_EQ(variable("[2 * N{i}]", "[K]"), "an indexed size is a dimension of a variable with the same index, one in each variable");
  EXPECT_EQ(wrong_with("  source\n    y{i} = relu(a{i})\n  target\n    y{i} = relu(a{i})\n"), "'a{i}' has no declared type");
}

TEST(UniformFamilies, GiveABlockOfResultsForABlockOfParts) {
  const auto value = [](const std::string& term) {
    std::string types;  // of the variables that the term has
    for (const auto& [variable, type] : {std::pair("x", "x: [B.., K, K]"), std::pair("v", "v: [K]"), std::pair("a{i}", "a{i}: [K, N{i}]"),
                                         std::pair("c{i}", "c{i}: [N{i}, K]"), std::pair("e{i}", "e{i}: [N{i}]")})
      if (term.find(variable + std::string(variable == std::string("x") ? ")" : "")) != std::string::npos ||
          term.find(variable + std::string(",")) != std::string::npos)
        types += std::string("    ") + type + "\n";
    return wrong_with("  with\n" + types + "  source\n    y{i} = " + term + "\n  target\n    y{i} = 1 * (" + term + ")\n");
  };
  constexpr const char* kUnknown = "it is not known what 'y{i}' is for a block of parts";
  EXPECT_EQ(value("matmul(x, a{i}) * a{i}"), "");
  EXPECT_EQ(value("matmul(c{i}, x)"), "");
  EXPECT_EQ(value("matmul(x, c{i})"), kUnknown) << "the parts' sizes would have to be those of x";
  EXPECT_EQ(value("matmul(a{i}, x)"), kUnknown);
  EXPECT_EQ(value("matmul(c{i}, a{i})"), kUnknown) << "of a block it has products of different parts";
  EXPECT_EQ(value("matmul(v, e{i})"), kUnknown) << "a product with a vector";
  EXPECT_EQ(value("matmul(c{i}, v)"), kUnknown);
  EXPECT_EQ(value("a{i} + c{i}"), kUnknown);
  EXPECT_EQ(value("a{i} + relu(x)"), kUnknown) << "x may have a column for each column of a part";
  EXPECT_EQ(value("softmax(a{i}, axis: -1)"), kUnknown);
  EXPECT_EQ(value("transpose(a{i}, perm: [1, 0])"), kUnknown);
  EXPECT_EQ(value("relu(x)"), "'y{i}' is the same for all parts");
}

TEST(UniformFamilies, DoNotMixPartsOfTensorsOfDifferentRanks) {
  // For x of rank 2 and z of rank 1, axis 0 is not the same axis of the sum.
  EXPECT_EQ(wrong_with(R"(  source
    y{1..n} = split(x, axis: a, sizes: [s{1..n}])
    z{1..n} = split(w, axis: a, sizes: [s{1..n}])
    u{i} = y{i} + z{i}
  target
    u{1..n} = split(x + w, axis: a, sizes: [s{1..n}])
)"),
            "it is not known what 'u{i}' is for a block of parts");
}

TEST(UniformFamilies, HaveAllPartsInTheirOrder) {
  const auto target = [](const std::string& text) {
    return wrong_with("  source\n    y{1..n} = split(x, axis: 0, sizes: [s{1..n}])\n    z{i} = relu(y{i})\n  target\n" + text);
  };
  EXPECT_EQ(target("    z{1..n} = split(relu(x), axis: 0, sizes: [s{1..n}])\n"), "");
  EXPECT_EQ(target("    z{1..n} = split(relu(concat(y{1..n}, axis: 0)), axis: 0, sizes: [s{1..n}])\n"), "");
  EXPECT_EQ(target("    z{1..n} = split(relu(concat(y{1..n}, axis: 1)), axis: 0, sizes: [s{1..n}])\n"),
            "the parts of 'y' are not concatenated along their axis");
  EXPECT_EQ(target("    z{1..n} = split(relu(concat(x, x, axis: 0)), axis: 0, sizes: [2 * s{1..n}])\n"),
            "the size of a part has the index of the part");
  EXPECT_EQ(
      wrong_with("  with\n    x{i}: [N{i}, M]\n  source\n    y = concat(x{1..n}, axis: 1)\n  target\n    y = concat(x{1..n}, axis: 1)\n"),
      "the parts of 'x' are not concatenated along their axis");
}

TEST(UniformFamilies, HaveNoOtherGuardsOfParts) {
  const auto guard = [](const std::string& text) {
    return wrong_with("  with\n    x{i}: [N{i}]\n  source\n    y{i} = relu(x{i})\n  target\n    y{i} = relu(x{i})\n  where " + text + "\n");
  };
  EXPECT_EQ(guard("const(x{i})"), "");
  for (const char* text : {"nonzero(x{i})", "N{i} <= 4", "finite(x{i})"})
    EXPECT_EQ(guard(text), "only the guards const and varies may have an index") << text;
}

TEST(UniformFamilies, DifferInNothingButTheNumberOfParts) {
  const auto line = [](const std::string& text) {
    return error_of("rule f-{n} for n in 2..\n  with\n    x{i}: [N{i}]\n  source\n    y{i} = " + text +
                    "\n  target\n    y{i} = relu(x{i})\n");
  };
  EXPECT_EQ(line("relu(x{i})"), "no error");
  EXPECT_EQ(line("relu(x{i}) * {n}"), "test.rules:5:25: {n} is in the name of a family without a last number, not in its text");
  EXPECT_EQ(line("relu(x{i}) * {i}"), "test.rules:5:25: expected a name before '{'");
  EXPECT_EQ(line("relu(x{i}) * x12"), "test.rules:5:25: 'x12' is also a part of 'x{i}'; name it differently");
  EXPECT_EQ(error_of("rule f-{n} for n in 4..\n"),
            "test.rules:1:21: a family without a last number begins with a number from 1 to 3, as in '2..'");
}

}  // namespace
}  // namespace xflow::rules
