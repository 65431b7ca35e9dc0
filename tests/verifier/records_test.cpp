// Records of proofs: their text, their replay, and what makes them stale or wrong.
#include "src/verifier/checker/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "src/ops/operator.h"
#include "src/rules/instantiate.h"
#include "src/rules/verified_rules.h"
#include "src/verifier/checker/certificate_text.h"
#include "src/verifier/checker/semantics.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"
#include "tests/verifier/hand_made.h"

namespace xflow::verifier {
namespace {

const std::string kSource = places::repository();

RuleRecord record_of(const rules::Rule& rule) {
  Options options;
  options.record = true;
  const RuleDecision d = decide(rule, options);
  EXPECT_TRUE(d.record.has_value()) << d.explanation();
  return d.record.value_or(RuleRecord{});
}

std::string message(const rules::Rule& rule, const RuleRecord& record) {
  const auto accepted = replay(rule, record);
  return accepted ? "" : accepted.error().message;
}

const char* const kAssociate =
    "rule associate\n  with\n    x: [B.., M, K], a: [K, N], b: [N, P]\n  source\n    y = matmul(matmul(x, a), b)\n"
    "  target\n    y = matmul(x, matmul(a, b))\n";
const char* const kShare =
    "rule share\n  with\n    x: [M, K], a: [K, N], b: [K, N]\n  source\n    y = matmul(x, a) + matmul(x, b)\n"
    "  target\n    y = matmul(x, a + b)\n";

TEST(Records, OfTheShippedRulesAreAccepted) {
  const auto records = replay_records(kSource + "/substitutions", {}, 2);
  ASSERT_TRUE(records.has_value()) << records.error().text();
  const auto rules = read_rules(kSource + "/substitutions");
  ASSERT_TRUE(rules.has_value());
  EXPECT_EQ(records->size(), rules->size());
}

TEST(Records, SayWhatWasProvedAndHow) {
  const RuleRecord record = record_of(rule_of(kAssociate));
  EXPECT_EQ(record.rule, "associate");
  EXPECT_EQ(record.float_class, "rounding");
  EXPECT_EQ(record.instances, std::vector<std::size_t>(7, 0));
  ASSERT_EQ(record.proofs.size(), 1U);
  EXPECT_EQ(record.proofs[0].certificates, std::vector<std::string>{"(2:0 1[z1,z0])"});
}

TEST(Records, OfTextComeBack) {
  RecordFile file;
  file.z3 = "5.4.0";
  file.rules = {record_of(rule_of(kAssociate)), record_of(rule_of(kShare))};
  file.rules[1].instances.push_back(RuleRecord::kVacuous);
  const auto read = parse_records(print(file), "x.proofs");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->z3, file.z3);
  EXPECT_EQ(read->rules, file.rules);
}

TEST(Records, AreTheSameInEveryRunAndWithAnyNumberOfJobs) {
  auto rules = read_rules(kSource + "/substitutions");
  ASSERT_TRUE(rules.has_value());
  std::vector<rules::Rule> some;
  for (std::size_t k = 0; k < rules->size(); k += 5) some.push_back((*rules)[k]);
  Options options;
  options.record = true;
  const auto one = decide(some, options, 1);
  const auto two = decide(some, options, 2);
  for (std::size_t k = 0; k < some.size(); ++k) {
    ASSERT_TRUE(one[k].record && two[k].record) << one[k].rule;
    EXPECT_EQ(print(*one[k].record), print(*two[k].record)) << one[k].rule;
    // And they are what is shipped.
    const auto shipped = read_records(records_path(some[k].file));
    ASSERT_TRUE(shipped.has_value()) << shipped.error().text();
    ASSERT_NE(shipped->find(some[k].hash), nullptr) << one[k].rule;
    EXPECT_EQ(print(*one[k].record), print(*shipped->find(some[k].hash))) << one[k].rule;
  }
}

TEST(Records, OfAnotherTextOfTheRuleAreStale) {
  const RuleRecord record = record_of(rule_of(kAssociate));
  std::string other = kAssociate;
  other.replace(other.find("a: [K, N]"), 9, "a: [K, K]");
  other.replace(other.find("b: [N, P]"), 9, "b: [K, P]");
  EXPECT_EQ(message(rule_of(other), record), "rule associate: the record is stale: it is of another text of the rule");
}

TEST(Records, AreStaleWhenAnOperatorChangesItsMeaning) {
  const rules::Rule rule = rule_of(kShare);
  auto instances = rules::instantiate(rule);
  ASSERT_TRUE(instances.has_value());
  const std::uint64_t before = semantics_hash(*instances);
  EXPECT_EQ(before, semantics_hash(*instances)) << "names of a run do not count";
  EXPECT_EQ(before, record_of(rule).semantics);
  for (const char* changed : {"add", "matmul"}) {
    const SemanticsOf other = [&](ir::Arena& arena, ir::NodeId node, int output, std::vector<Poly>& index) {
      ops::Expr e = ops::semantics_of(arena, node, output, index);
      if (ops::get(arena.node(node).op).signature.name != changed) return e;
      return ops::Builder(arena.symbols()).apply(ops::Function::negate, std::move(e));
    };
    EXPECT_NE(before, semantics_hash(*instances, other)) << changed;
  }
  // Of the last instance alone: every instance counts.
  auto several = rules::instantiate(rule_of(kAssociate));
  ASSERT_TRUE(several.has_value());
  ASSERT_EQ(several->size(), 7U);
  for (const rules::RuleInstance& instance : *several) {
    const SemanticsOf other = [&](ir::Arena& arena, ir::NodeId node, int output, std::vector<Poly>& index) {
      ops::Expr e = ops::semantics_of(arena, node, output, index);
      return &arena == instance.arena.get() ? ops::Builder(arena.symbols()).apply(ops::Function::negate, std::move(e)) : e;
    };
    EXPECT_NE(semantics_hash(*several), semantics_hash(*several, other)) << instance.choice;
  }
  RuleRecord record = record_of(rule);
  record.semantics ^= 1U;
  EXPECT_EQ(message(rule, record), "rule share: the record is stale: the operators of the rule, or the checker, have another meaning now");
}

TEST(Records, AreRejectedWhereAFieldIsAnother) {
  const rules::Rule rule = rule_of(kAssociate);
  const RuleRecord good = record_of(rule);
  ASSERT_EQ(message(rule, good), "");
  const auto changed = [&](const std::function<void(RuleRecord&)>& change) {
    RuleRecord record = good;
    change(record);
    return message(rule, record);
  };
  const std::string stale = "rule associate: the record is stale: ";
  EXPECT_EQ(changed([](RuleRecord& r) { r.hash.words[1] ^= 1U; }), stale + "it is of another text of the rule");
  EXPECT_EQ(changed([](RuleRecord& r) { r.instances.pop_back(); }), stale + "it has 6 instances, the rule 7");
  EXPECT_EQ(changed([](RuleRecord& r) { r.guards.push_back("K = N"); }), stale + "the guards are not those of the rule");
  EXPECT_EQ(changed([](RuleRecord& r) { r.assumes.push_back("K = N"); }), stale + "the guards are not those of the rule");
  EXPECT_EQ(changed([](RuleRecord& r) { r.float_class = "exact"; }), stale + "the float class is rounding now");
  EXPECT_EQ(changed([](RuleRecord& r) { std::fill(r.instances.begin(), r.instances.end(), RuleRecord::kVacuous); }),
            stale + "it proves nothing of any shape");
  EXPECT_EQ(changed([](RuleRecord& r) { r.instances[3] = RuleRecord::kVacuous; }),
            "rule associate: the record is not accepted at B: 3 dimensions: there are shapes that satisfy the guards");
  const std::string wrong = "rule associate: the record is not accepted at B: 0 dimensions: ";
  EXPECT_EQ(changed([](RuleRecord& r) { r.proofs[0].certificates.clear(); }), wrong + "another number of outputs");
  EXPECT_EQ(changed([](RuleRecord& r) { r.proofs[0].certificates[0] = "(2:0 1)"; }), wrong + "output y: the certificate was not accepted");
  EXPECT_EQ(changed([](RuleRecord& r) { r.proofs[0].certificates[0] = "(2:0)(2:1)"; }),
            wrong + "output y: the certificate was not accepted");
  EXPECT_EQ(changed([](RuleRecord& r) { r.proofs[0].certificates[0] = "(2:0 1[z1,q])"; }),
            wrong + "output 0: the certificate does not fit: column 11: expected 's'");
  EXPECT_EQ(changed([](RuleRecord& r) { r.proofs[0].certificates[0] = "(2:0 1[z1,z7])"; }),
            wrong + "output 0: the certificate does not fit: column 11: expected a symbol of the normal forms or of a space");
}

TEST(Records, ThatAreMalformedAreSyntaxErrors) {
  const std::string text = "xflow proofs 1\nz3 5\n\n" + print(record_of(rule_of(kAssociate)));
  ASSERT_TRUE(parse_records(text, "x.proofs").has_value());
  // Cut anywhere: an error, or a record that has lost a proof that it needs.
  std::size_t errors = 0;
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto read = parse_records(text.substr(0, length), "x.proofs");
    if (!read) {
      ++errors;
      EXPECT_EQ(read.error().code, ErrorCode::syntax);
    } else if (!read->rules.empty()) {
      const bool whole = text.find_first_not_of(" \n", length) == std::string::npos;
      EXPECT_EQ(message(rule_of(kAssociate), read->rules[0]).empty(), whole) << text.substr(0, length);
    }
  }
  EXPECT_GT(errors, text.size() / 2);
  EXPECT_EQ(parse_records("xflow proofs 2\n", "x.proofs").error().text(), "x.proofs:1: expected 'xflow proofs 1', found 'xflow proofs 2'");
  EXPECT_EQ(parse_records("xflow proofs 1\nz3 5\nrule a\n  hash 12\n", "x.proofs").error().text(),
            "x.proofs:4: expected the hash of the rule, found 'hash 12'");
}

TEST(Records, ThatAreMissingAreNamedWithTheCommandThatMakesThem) {
  const std::string folder = testing::TempDir() + "/records_missing";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/a.rules") << kAssociate;
  auto missing = replay_records(folder, {}, 1);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message, "records of proofs do not fit:\n  " + folder +
                                         "/a.proofs: cannot open: No such file or directory\n  " + folder +
                                         "/a.rules:1:6: rule associate: there is no record of a proof\nrenew them with 'xflow_prove " +
                                         folder + " --renew', which decides the rules again");
  ASSERT_TRUE(renew_records(folder, {}, 1).has_value());
  EXPECT_TRUE(replay_records(folder, {}, 1).has_value());
  // A second rule, of which there is no record: left out where that is asked for.
  std::ofstream(folder + "/a.rules", std::ios::app) << "rule twice\n  source y = abs(abs(x))\n  target y = abs(x)\n";
  EXPECT_FALSE(replay_records(folder, {}, 1).has_value());
  std::vector<std::string> left_out;
  const auto rest = replay_records(folder, {}, 1, &left_out);
  ASSERT_TRUE(rest.has_value()) << rest.error().text();
  EXPECT_EQ(rest->size(), 1U);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_TRUE(left_out[0].ends_with("rule twice: there is no record of a proof")) << left_out[0];
  std::filesystem::remove_all(folder);
}

// Every certificate of a right rule is wrong for its wrong relatives, and so is everything near it.
std::vector<std::string> mutants(const std::string& certificate) {
  std::vector<std::string> result = {"",           "(0)",       "(0 1)", "(1:0 1)", "(2:0 1)", "(2:0 1[z1,z0])", "(1:0 2)(1:1 3)",
                                     "v(0,1:0 1)", "v(0,1:0 0)"};
  for (std::size_t k = 0; k < certificate.size(); ++k) {
    std::string dropped = certificate;
    dropped.erase(k, 1);
    result.push_back(dropped);
    for (const char c : {'0', '1', '2', '3', 'z', 's', '-', '+', '.', ','}) {
      if (certificate[k] == c) continue;
      std::string other = certificate;
      other[k] = c;
      result.push_back(other);
    }
    if (k + 1 < certificate.size() && certificate[k] != certificate[k + 1]) {
      std::string swapped = certificate;
      std::swap(swapped[k], swapped[k + 1]);
      result.push_back(swapped);
    }
  }
  // A whole cluster dropped.
  for (std::size_t k = certificate.find('('); k != std::string::npos; k = certificate.find('(', k + 1)) {
    const std::size_t end = certificate.find(')', k);
    if (end != std::string::npos) result.push_back(certificate.substr(0, k) + certificate.substr(end + 1));
  }
  return result;
}

TEST(Certificates, OfRightRulesProveNoWrongOne) {
  auto wrong = read_rules(kSource + "/tests/verifier/refuted");
  ASSERT_TRUE(wrong.has_value());
  // All certificates that are shipped, and what is near them.
  std::set<std::string> offered;
  for (const auto& entry : std::filesystem::directory_iterator(kSource + "/substitutions")) {
    if (entry.path().extension() != ".proofs") continue;
    const auto records = read_records(entry.path().string());
    ASSERT_TRUE(records.has_value()) << records.error().text();
    for (const RuleRecord& r : records->rules)
      for (const auto& proof : r.proofs)
        for (const std::string& c : proof.certificates) offered.insert(c);
  }
  const std::vector<std::string> shipped(offered.begin(), offered.end());
  for (std::size_t k = 0; k < shipped.size(); k += 16)
    for (std::string& m : mutants(shipped[k])) offered.insert(std::move(m));
  ASSERT_GE(offered.size(), 1000U);
  std::size_t rejected = 0;
  for (const rules::Rule& rule : *wrong) {
    auto instances = rules::instantiate(rule);
    if (!instances) continue;
    // The instance that is refuted: the first that is not proved.
    const RuleDecision d = decide(rule);
    ASSERT_EQ(d.verdict, Verdict::refuted) << rule.name;
    rules::RuleInstance& instance = (*instances)[d.instances - 1];
    if (instance.source.outputs.size() != 1) continue;
    Options few;
    few.z3_rlimit = 200'000;
    Proof search(instance, few);
    Proof proof(instance, few);
    if (proof.unguarded_division() || proof.failed_obligation() || search.run()) continue;
    for (const std::string& c : offered) {
      const bool accepted = proof.replay(search.shown(), search.given(), [&](std::size_t, const Proof::OutputProof& p) {
        return read_certificate(c, instance.arena->symbols(), p);
      });
      EXPECT_FALSE(accepted) << rule.name << ": " << c;
      ++rejected;
    }
  }
  EXPECT_GE(rejected, 20'000U);
}

}  // namespace
}  // namespace xflow::verifier
