#include "src/generator/rules/copy_attributes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/generator/rules/minimize.h"
#include "src/generator/rules/rule_writer.h"
#include "src/rules/rule_parts.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

// The rules that derive all candidates of these operators, proved for all ranks.
std::vector<rules::Rule> kept(std::vector<std::string> operators, TensorKind kind = TensorKind::matrix) {
  const GraphSignature u = GraphSignature::make({kind, std::move(operators), 2}).value();
  const auto signature_of = [&](const KeptRule& /*rule*/) -> const GraphSignature& { return u; };
  RuleCollector collector({}, {});
  EXPECT_TRUE(collector.collect(u, 0, candidates_up_to(2, u)).has_value());
  collector.eliminate();
  EXPECT_TRUE(collector.prove(signature_of).value_or(false));
  std::vector<rules::Rule> result;
  for (const KeptRule& k : collector.kept())
    if (k.needed) result.push_back(k.rule);
  return result;
}

bool contains(const std::vector<rules::Rule>& found, const std::string& text) {
  return std::any_of(found.begin(), found.end(), [&](const rules::Rule& r) { return rules::print(r).ends_with(text); });
}

TEST(CopyAttributes, OfOperatorsThatChangeNothing) {
  for (const TensorKind kind : {TensorKind::matrix, TensorKind::image}) {
    const std::vector<rules::Rule> found = kept({"cast", "copy", "slice"}, kind);
    EXPECT_EQ(found.size(), 3U);
    EXPECT_TRUE(contains(found, "  source\n    y = cast(x, to: type(x))\n  target\n    y = x\n"));
    EXPECT_TRUE(contains(found, "  source\n    y = identity(x)\n  target\n    y = x\n"));
    EXPECT_TRUE(contains(found, "  source\n    y = slice(x, starts: 0, sizes: dims(x), steps: 1)\n  target\n    y = x\n"));
  }
}

TEST(CopyAttributes, OfReshapes) {
  const std::vector<rules::Rule> found = kept({"add_axis", "relu"});
  EXPECT_TRUE(contains(found, "  source\n    y = reshape(x, shape: dims(x))\n  target\n    y = x\n"));
  EXPECT_TRUE(contains(found, R"(  source
    y = reshape(reshape(x, shape: d), shape: e)
  target
    y = reshape(x, shape: e)
  where
    4 >= rank(x) and
    5 >= length(d) and
    5 >= length(e)
)"));
}

// A sum broadcasts its operands itself.
TEST(CopyAttributes, OfExpansions) {
  const std::vector<rules::Rule> found = kept({"add", "expand", "rows"});
  EXPECT_TRUE(contains(found, R"(  source
    y = add(x, expand(z, shape: dims(x)))
  target
    y = add(x, z)
  where
    4 >= rank(x) and
    4 >= rank(z)
)"));
}

// An expansion alone has rows that no input has, so that nothing but a variable says how many.
TEST(CopyAttributes, NameShapesThatNoInputHas) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"expand", "relu", "rows"}, 2}).value();
  const auto value = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = static_cast<std::uint8_t>(value + 1);
  const RuleCandidate c{{{{choice(u, "expand"), {2}}, {choice(u, "relu"), {value}}}, {next}},
                        {{{choice(u, "relu"), {2}}, {choice(u, "expand"), {value}}}, {next}}};
  const std::vector<WrittenRule> forms = write_rule(u, c, "expanded");
  ASSERT_FALSE(forms.empty());
  EXPECT_EQ(rules::print(forms.front().rule), R"(# relu(expand(x)) = expand(relu(x))
rule expanded
  source
    y = relu(expand(x, shape: d))
  target
    y = expand(relu(x), shape: d)
  where
    4 >= rank(x) and
    5 >= length(d)
)");
  EXPECT_EQ(verifier::decide(*rules::checked(forms.front().rule)).verdict, verifier::Verdict::proved);
}

TEST(CopyAttributes, NameNoShapesThatTheSourceDoesNotHave) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"add_axis", "relu"}, 2}).value();
  const auto value = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = static_cast<std::uint8_t>(value + 1);
  const RuleCandidate c{{{{choice(u, "relu"), {0}}}, {value}},
                        {{{choice(u, "add axis 0"), {0}}, {choice(u, "to matrix"), {value}}}, {next}}};
  std::string why;
  EXPECT_TRUE(write_rule(u, c, "reshaped", false, &why).empty());
  EXPECT_EQ(why, "no operation of the source has a shape of the target");
}

}  // namespace
}  // namespace xflow::generator
