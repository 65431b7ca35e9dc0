#include "src/generator/rules/collect_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <variant>

#include "src/generator/rules/minimize.h"
#include "src/generator/rules/rule_writer.h"
#include "src/rules/rule_parts.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

std::vector<GraphSignature> small_signatures() {
  std::vector<GraphSignature> result;
  result.push_back(GraphSignature::make({TensorKind::matrix, {"add", "concat", "matmul", "relu"}, 3}).value());
  return result;
}

std::vector<RuleCandidate> found_in(const GraphSignature& signature, std::size_t max_outputs) {
  const EnumerationOptions options{.max_operators = 2, .max_outputs = max_outputs};
  std::vector<Record> records;
  EXPECT_TRUE(enumerate(signature, options, 0, 1, [&](const Record& r) { records.push_back(r); }).has_value());
  return Candidates(signature, options).find(records);
}

CandidateList candidates_of(const GraphSignature& signature) { return in_order(signature, found_in(signature, 1)); }

CollectWorker worker_of(const std::vector<GraphSignature>& signatures) {
  return CollectWorker(signatures, {}, {},
                       [&](std::size_t u, std::size_t) -> Result<CandidateList> { return candidates_of(signatures[u]); });
}

// relu(x ++ z) in rows says more than relu(x ++ x).
TEST(CandidateList, TakesThoseOfMostInputsFirst) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"concat", "relu"}, 3}).value();
  const RuleCandidate general = relu_of_columns(u);
  RuleCandidate special = general;
  for (SmallGraph* side : {&special.source, &special.target})
    for (SmallGraphNode& n : side->nodes)
      for (std::uint8_t& o : n.operands) o = o == 1 ? 0 : o;
  special.target.nodes = {{choice(u, "relu"), {0}}, {choice(u, "concat 1"), {3, 3}}};
  special.target.outputs = {4};
  ASSERT_EQ(u.leaves().size(), 3U);
  const CandidateList list = in_order(u, {general, special});
  // Graphs of fewer operations come before, whatever they read.
  EXPECT_EQ(list[0].target.nodes.size(), 2U);
  RuleCandidate wide = special;
  wide.source.nodes[0].operands = {0, 1};
  wide.target.nodes[0].operands = {1};
  const CandidateList same_size = in_order(u, {special, wide});
  EXPECT_EQ(inputs_of(u, same_size[0].source).size(), 2U);
  EXPECT_EQ(inputs_of(u, same_size[1].source).size(), 1U);
}

TEST(CandidateList, HoldsWhatItWasGiven) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"add", "concat", "matmul", "relu", "split"}, 3}).value();
  std::vector<RuleCandidate> found = found_in(u, 1);
  ASSERT_GT(found.size(), 100U);
  // Of two outputs, one of which is read by the other.
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = static_cast<std::uint8_t>(n + 1);
  const ChoiceId relu = choice(u, "relu");
  found.push_back({{{{relu, {0}}, {relu, {n}}}, {n, next}}, {{{relu, {0}}}, {n, n}}});
  const CandidateList list = in_order(u, found);
  std::vector<RuleCandidate> before = found;
  std::vector<RuleCandidate> after = list.part(0, list.size());
  // By size, then by the number of outputs; towards what costs less.
  const auto size = [](const RuleCandidate& c) {
    return std::pair(std::max(c.source.nodes.size(), c.target.nodes.size()), c.source.outputs.size());
  };
  EXPECT_LT(size(after.front()), size(after.back()));
  for (std::size_t k = 1; k < after.size(); ++k) EXPECT_LE(size(after[k - 1]), size(after[k]));
  for (const RuleCandidate& c : after) EXPECT_GE(weight_of(u, c.source), weight_of(u, c.target));
  const auto towards_less = [&](RuleCandidate& c) {
    if (weight_of(u, c.source) < weight_of(u, c.target)) std::swap(c.source, c.target);
    // Which output is the first says nothing.
    if (!std::is_sorted(c.source.outputs.begin(), c.source.outputs.end())) {
      std::reverse(c.source.outputs.begin(), c.source.outputs.end());
      std::reverse(c.target.outputs.begin(), c.target.outputs.end());
    }
  };
  for (RuleCandidate& c : before) towards_less(c);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t k = 0; k < after.size(); ++k) {
    EXPECT_EQ(after[k], before[k]) << to_string(u, after[k].source) << " = " << to_string(u, after[k].target) << ", not "
                                   << to_string(u, before[k].source) << " = " << to_string(u, before[k].target);
  }
  CandidateList restored(u, 2);
  restored.add_bytes(list.bytes());
  ASSERT_EQ(restored.size(), list.size());
  for (std::size_t k = 0; k < list.size(); ++k) EXPECT_EQ(restored[k], list[k]);
}

TEST(CollectTasks, AreTheSameAsTexts) {
  const std::vector<GraphSignature> signatures = small_signatures();
  const RuleCandidate c = relu_of_columns(signatures[0]);
  EXPECT_EQ(tasks::candidate_of(tasks::to_text(c)).value(), c);
  CollectWorker worker = worker_of(signatures);
  // Sends the question and its answer as texts.
  const auto asked = [&](const tasks::Question& question) {
    return tasks::answer_of(question, worker.run(tasks::to_text(question)).value()).value();
  };
  const auto forms = std::get<std::vector<TriedGeneralisation>>(asked(tasks::FormsQuestion{0, c}));
  const std::vector<TriedGeneralisation> here = try_generalisations(signatures[0], c, {});
  ASSERT_EQ(forms.size(), here.size());
  EXPECT_EQ(forms.back().verdict, verifier::Verdict::proved);
  EXPECT_EQ(forms.back().variant, here.back().variant);
  EXPECT_EQ(forms.back().why, here.back().why);

  const auto first = std::get<std::optional<rules::Rule>>(asked(tasks::FirstQuestion{0, c, "relu-of-columns", false}));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->name, "relu-of-columns");
  EXPECT_EQ(rules::print(*first), rules::print(*first_proved(signatures[0], c, "relu-of-columns", false, {})));

  const rules::Rule redundant =
      rule("rule r\n  source\n    y = relu(add(x, z))\n  target\n    y = relu(add(z, x))\n  where dims(x) = dims(z)\n");
  const auto proof = std::get<FullProof>(asked(tasks::ProveQuestion{redundant}));
  EXPECT_EQ(proof.verdict, verifier::Verdict::proved);
  ASSERT_TRUE(proof.rule.has_value());
  EXPECT_TRUE(proof.rule->guards.empty()) << rules::print(*proof.rule);  // none is needed
  const rules::Rule wrong = rule("rule r\n  source\n    y = relu(x)\n  target\n    y = add(x, x)\n");
  const auto refuted = std::get<FullProof>(asked(tasks::ProveQuestion{wrong}));
  EXPECT_EQ(refuted.verdict, verifier::Verdict::refuted);
  EXPECT_FALSE(refuted.rule.has_value());
  EXPECT_NE(refuted.why, "");
}

TEST(CollectTasks, LookWithTheRulesThatTheyAreGiven) {
  const std::vector<GraphSignature> signatures = small_signatures();
  const CandidateList candidates = candidates_of(signatures[0]);
  CollectWorker worker = worker_of(signatures);
  CollectWorker in_process = worker_of(signatures);
  const auto triaged = [&](const std::vector<tasks::GivenRule>& rules) {
    const tasks::TriageQuestion question{0, 1, 0, candidates.size(), std::make_shared<const std::vector<tasks::GivenRule>>(rules)};
    const std::string answer = worker.run(tasks::to_text(question)).value();
    EXPECT_EQ(std::get<std::string>(in_process.answer(question).value()), answer);
    return answer;
  };
  EXPECT_EQ(triaged({}), std::string(candidates.size(), '?'));
  const rules::Rule twice = rule("rule r\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n");
  const std::string with = triaged({{twice, true, false}});
  EXPECT_NE(with.find('d'), std::string::npos);
  // As something that is not proved nothing is derived by it, but some would follow.
  std::string unproved = with;
  std::replace(unproved.begin(), unproved.end(), 'd', 'u');
  EXPECT_EQ(triaged({{twice, false, false}}), unproved);
  // Other rules than before, and fewer.
  EXPECT_EQ(triaged({}), std::string(candidates.size(), '?'));
}

TEST(CollectTasks, SayWhatTheyDoNotKnow) {
  const std::vector<GraphSignature> signatures = small_signatures();
  CollectWorker worker = worker_of(signatures);
  EXPECT_EQ(worker.run("dance 0").error().text(), "no task 'dance'");
  EXPECT_EQ(worker.run("forms 7\n{}").error().text(), "no task 'forms'");
  EXPECT_EQ(worker.run("triage 0 1 5 1000000\n[]").error().text(), "no such candidates");
  EXPECT_FALSE(worker.run("forms 0\n{}").has_value());
  EXPECT_FALSE(tasks::answer_of(tasks::FormsQuestion{}, "[[1]]").has_value());
  EXPECT_FALSE(tasks::answer_of(tasks::ProveQuestion{}, "").has_value());
}

// Of numbers of one magnitude x * (z + x * x) seems to have the sign of x.
TEST(Collector, LooksAtSmallNumbersToo) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"add", "maximum", "mul", "relu"}, 3}).value();
  const auto v = static_cast<std::uint8_t>(u.leaves().size());
  const auto w = static_cast<std::uint8_t>(v + 1);
  const auto x = static_cast<std::uint8_t>(v + 2);
  const auto y = static_cast<std::uint8_t>(v + 3);
  const std::vector<SmallGraphNode> sum = {{choice(u, "mul"), {0, 0}}, {choice(u, "add"), {1, v}}};
  RuleCandidate c{{sum, {x}}, {sum, {y}}};
  c.source.nodes.push_back({choice(u, "mul"), {0, w}});
  c.target.nodes.push_back({choice(u, "relu"), {w}});
  c.target.nodes.push_back({choice(u, "mul"), {0, x}});
  RuleCollector collector({}, {});
  ASSERT_TRUE(collector.collect(u, 0, std::span(&c, 1)).has_value());
  EXPECT_EQ(collector.counts().accidents, 1U);
  EXPECT_EQ(collector.unproved(), std::vector<std::string>());
}

TEST(GraphSignature, MakesPlansAgainThatItForgot) {
  GraphSignature u = GraphSignature::make({TensorKind::matrix, {"add"}, 2}).value();
  const std::array<TypeId, 2> operands = {u.leaves()[0].type, u.leaves()[1].type};
  const std::size_t elements = u.plans(choice(u, "add"), operands, 0).front().elements();
  u.forget_plans();
  EXPECT_EQ(u.plans(choice(u, "add"), operands, 0).front().elements(), elements);
}

TEST(Collector, KeepsTheSameWhereOthersHelp) {
  const std::vector<GraphSignature> signatures = small_signatures();
  const CandidateList candidates = candidates_of(signatures[0]);
  const auto collected = [&](std::size_t width, bool as_text) {
    CollectWorker worker = worker_of(signatures);
    RuleCollector collector({}, {});
    collector.share(
        [&](const std::vector<tasks::Question>& questions) -> Result<std::vector<tasks::Answer>> {
          std::vector<tasks::Answer> answers;
          for (const tasks::Question& q : questions)
            answers.push_back(as_text ? tasks::answer_of(q, worker.run(tasks::to_text(q)).value()).value() : worker.answer(q).value());
          return answers;
        },
        width);
    const auto signature_of = [&](const KeptRule&) -> const GraphSignature& { return signatures[0]; };
    EXPECT_TRUE(collector.collect(signatures[0], 0, candidates.part(0, candidates.size())).has_value());
    collector.eliminate();
    EXPECT_TRUE(collector.prove(signature_of).value());
    EXPECT_TRUE(collector.direct(signature_of).has_value());
    std::vector<std::string> all;
    for (const KeptRule& k : collector.kept()) {
      if (!k.needed) continue;
      all.push_back(rules::print(k.rule));
      if (k.back) all.push_back(rules::print(*k.back));
    }
    all.insert(all.end(), collector.unproved().begin(), collector.unproved().end());
    return all;
  };
  const std::vector<std::string> alone = collected(1, false);
  EXPECT_GT(alone.size(), 5U);
  EXPECT_EQ(collected(2, false), alone);
  EXPECT_EQ(collected(2, true), alone);
}

// What is built as values is what its text says.
TEST(RuleWriter, BuildsRulesThatParseBack) {
  std::vector<GraphSignature> signatures = small_signatures();
  signatures.push_back(GraphSignature::make({TensorKind::matrix, {"concat", "split", "mul", "transpose", "one"}, 3}).value());
  signatures.push_back(GraphSignature::make({TensorKind::image, {"conv", "enlarge", "relu", "average_pool", "add"}, 3}).value());
  std::size_t checked = 0;
  for (const GraphSignature& signature : signatures) {
    for (const RuleCandidate& candidate : found_in(signature, 1)) {
      for (const WrittenRule& form : write_rule(signature, candidate, "r")) {
        const auto rule = rules::checked(form.rule);
        if (!rule) continue;
        const std::string text = rules::print(*rule);
        const auto parsed = rules::parse_rules(text, "generated");
        ASSERT_TRUE(parsed) << text << parsed.error().text();
        EXPECT_EQ(rules::print(parsed->front()), text);
        EXPECT_EQ(parsed->front().hash, rule->hash) << text;
        EXPECT_EQ(parsed->front().float_class, rule->float_class) << text;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 20U);
}

}  // namespace
}  // namespace xflow::generator
