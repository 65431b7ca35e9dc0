#include "src/generator/rules/collect_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "src/generator/rules/rule_writer.h"
#include "src/generator/rules/shapes.h"
#include "src/ops/op.h"
#include "src/rules/rule_parts.h"
#include "src/verifier/guards/infer.h"
#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::generator {
namespace {

using nlohmann::ordered_json;

// The operations that are undefined or infinite for some finite numbers. A reciprocal is a division.
std::multiset<ops::Op> partial(const GraphSignature& signature, const SmallGraph& graph) {
  std::multiset<ops::Op> found;
  for (const SmallGraphNode& n : graph.nodes) {
    const Choice& choice = signature.choice(n.choice);
    const bool by_number = signature.is_constant(n.operands.back());
    if ((choice.is(ops::Op::Div) && !by_number) || choice.is(ops::Op::Reciprocal)) found.insert(ops::Op::Div);
    for (const ops::Op op : {ops::Op::Exp, ops::Op::Sqrt})
      if (choice.is(op)) found.insert(op);
  }
  return found;
}

bool divides(const rules::Term& term) {
  return (term.kind == rules::Term::Kind::application && (term.name == "div" || term.name == "reciprocal" || term.name == "softmax")) ||
         std::any_of(term.operands.begin(), term.operands.end(), divides);
}
bool divides(const std::vector<rules::Statement>& side) {
  return std::any_of(side.begin(), side.end(), [](const rules::Statement& s) { return divides(s.term); });
}

ordered_json to_json(const SmallGraph& graph) {
  ordered_json nodes = ordered_json::array();
  for (const SmallGraphNode& n : graph.nodes) {
    ordered_json node = {static_cast<int>(n.choice)};
    for (const std::uint8_t o : n.operands) node.push_back(o);
    nodes.push_back(std::move(node));
  }
  return {{"nodes", std::move(nodes)}, {"outputs", graph.outputs}};
}

SmallGraph small_graph_of(const ordered_json& json) {
  SmallGraph graph;
  for (const ordered_json& n : json.at("nodes")) {
    SmallGraphNode node;
    node.choice = static_cast<ChoiceId>(n.at(0).get<int>());
    for (std::size_t k = 1; k < n.size(); ++k) node.operands.push_back(n.at(k).get<std::uint8_t>());
    graph.nodes.push_back(std::move(node));
  }
  graph.outputs = json.at("outputs").get<std::vector<std::uint8_t>>();
  return graph;
}

// Calls `read` on JSON that this or another process has written.
template <typename Read>
auto from_json(const std::string& text, const Read& read) -> Result<decltype(read(ordered_json()))> {
  try {
    return read(ordered_json::parse(text));
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::unreadable, fmt::format("not a file of a generator job: {}", e.what()));
  }
}

}  // namespace

bool is_source(const GraphSignature& signature, const SmallGraph& source, const SmallGraph& target) {
  if (source.nodes.empty()) return false;
  const std::set<std::uint8_t> known = inputs_of(signature, source);
  const std::set<std::uint8_t> read = inputs_of(signature, target);
  return std::includes(known.begin(), known.end(), read.begin(), read.end());
}

bool changes_partial(const GraphSignature& signature, const RuleCandidate& candidate) {
  return partial(signature, candidate.source) != partial(signature, candidate.target);
}

bool may_change_partial(const GraphSignature& signature, const RuleCandidate& candidate) {
  return !partial(signature, candidate.source).empty() || !partial(signature, candidate.target).empty() ||
         inputs_of(signature, candidate.source) != inputs_of(signature, candidate.target);
}

Triage triage_of(Deriver& deriver, std::span<const std::size_t> unproved, const DeriveLimits& limits, const GraphSignature& signature,
                 const RuleCandidate& candidate) {
  const bool pair = candidate.source.outputs.size() > 1;
  const FlatEquation equation = GeneralShapes(signature, candidate).concrete(deriver.vocabulary());
  deriver.use_special(may_change_partial(signature, candidate));
  const Goal goal = goal_of(candidate.source.outputs.size());
  if (deriver.derives(equation, limits, goal)) return Triage::derived;
  if (unproved.empty() || pair) return Triage::open;
  for (const std::size_t rule : unproved) deriver.enable(rule, true);
  const bool follows = deriver.derives(equation, limits, goal);
  for (const std::size_t rule : unproved) deriver.enable(rule, false);
  return follows ? Triage::follows : Triage::open;
}

std::optional<rules::Rule> with_divisors_guarded(const rules::Rule& decided, const rules::Rule& rule, const verifier::Options& options) {
  if (!divides(decided.source) && !divides(decided.target)) return std::nullopt;
  // No guards on signs: they would turn accidental agreements of the fingerprints' numbers into rules.
  const auto lacking = verifier::missing_value_guards(decided, options);
  if (lacking.empty() ||
      !std::all_of(lacking.begin(), lacking.end(), [](const rules::Guard& g) { return g.kind == rules::Guard::Kind::is_nonzero; })) {
    return std::nullopt;
  }
  std::vector<rules::Guard> guards = rule.guards;
  guards.insert(guards.end(), lacking.begin(), lacking.end());
  auto guarded = verifier::with_guards(rule, std::move(guards));
  return guarded ? std::optional(*std::move(guarded)) : std::nullopt;
}

std::vector<TriedGeneralisation> try_generalisations(const GraphSignature& signature, const RuleCandidate& candidate,
                                                     const verifier::Options& options, std::size_t begin) {
  std::vector<TriedGeneralisation> result;
  const RuleCandidate reversed{candidate.target, candidate.source};
  std::size_t number = 0;
  for (const RuleCandidate* direction : {&candidate, &reversed}) {
    if (direction == &reversed && candidate.source.outputs.size() > 1) break;
    if (!is_source(signature, direction->source, direction->target)) continue;
    const std::vector<WrittenRule> forms = write_rule(signature, *direction, "r", true);
    for (std::size_t variant = 0; variant < forms.size(); ++variant, ++number) {
      if (number < begin) continue;
      TriedGeneralisation& form = result.emplace_back();
      form.reversed = direction == &reversed;
      form.variant = variant;
      const auto rule = rules::checked(forms[variant].rule);
      if (!rule) {
        form.why = rule.error().text();
        continue;
      }
      const verifier::RuleDecision decision = verifier::decide(*rule, options);
      form.verdict = decision.verdict;
      if (form.verdict == verifier::Verdict::unknown && with_divisors_guarded(*rule, *rule, options)) {
        form.is_guarded = true;
        form.verdict = verifier::Verdict::proved;
      }
      if (form.verdict == verifier::Verdict::proved) return result;
      form.why = decision.explanation();
    }
  }
  return result;
}

FullProof prove_fully(const rules::Rule& rule, const verifier::Options& options) {
  const verifier::RuleDecision decision = verifier::decide(rule, options);
  if (decision.verdict != verifier::Verdict::proved) return {decision.verdict, decision.explanation(), std::nullopt};
  auto shorter = verifier::with_guards(rule, verifier::needed_guards(rule, options));
  return {decision.verdict, {}, shorter ? *std::move(shorter) : rule};
}

std::optional<rules::Rule> first_proved(const GraphSignature& signature, const RuleCandidate& candidate, const std::string& name,
                                        bool with_equal, const verifier::Options& options) {
  for (const WrittenRule& written : write_rule(signature, candidate, name)) {
    if (!written.equal.empty() && !with_equal) break;
    if (const auto rule = rules::checked(written.rule))
      if (FullProof proof = prove_fully(*rule, options); proof.rule) return std::move(proof.rule);
  }
  return std::nullopt;
}

namespace tasks {

std::string to_text(const RuleCandidate& candidate) {
  return ordered_json({{"source", to_json(candidate.source)}, {"target", to_json(candidate.target)}}).dump();
}
Result<RuleCandidate> candidate_of(const std::string& text) {
  return from_json(text, [](const ordered_json& json) {
    return RuleCandidate{small_graph_of(json.at("source")), small_graph_of(json.at("target"))};
  });
}

Result<rules::Rule> rule_of(const std::string& text) {
  XFLOW_TRY(std::vector<rules::Rule> parsed, rules::parse_rules(text, "generated"));
  if (parsed.size() != 1) return fail(ErrorCode::unreadable, "expected one rule");
  return std::move(parsed.front());
}

bool is_one(const std::string& kind) { return kind == "triage" || kind == "forms" || kind == "prove" || kind == "first"; }

namespace {

std::string text_of(const TriageQuestion& q) {
  ordered_json json = ordered_json::array();
  for (const GivenRule& r : *q.rules) json.push_back({rules::print(r.rule), r.is_proved, r.is_special});
  return fmt::format("triage {} {} {} {}\n{}", q.signature, q.ranges, q.begin, q.end, json.dump());
}
std::string text_of(const FormsQuestion& q) { return fmt::format("forms {}\n{}", q.signature, to_text(q.candidate)); }
std::string text_of(const ProveQuestion& q) { return "prove\n" + rules::print(q.rule); }
std::string text_of(const FirstQuestion& q) {
  return fmt::format("first {} {} {}\n{}", q.signature, q.name, q.with_equal ? 1 : 0, to_text(q.candidate));
}

std::string text_of(const std::string& triages) { return triages; }
std::string text_of(const std::vector<TriedGeneralisation>& forms) {
  ordered_json json = ordered_json::array();
  for (const TriedGeneralisation& f : forms) json.push_back({f.reversed, f.variant, static_cast<int>(f.verdict), f.is_guarded, f.why});
  return json.dump();
}
std::string text_of(const std::optional<rules::Rule>& rule) { return rule ? rules::print(*rule) : std::string(); }
std::string text_of(const FullProof& proof) {
  return ordered_json({static_cast<int>(proof.verdict), proof.why, text_of(proof.rule)}).dump();
}

Result<std::vector<TriedGeneralisation>> forms_of(const std::string& answer) {
  return from_json(answer, [](const ordered_json& json) {
    std::vector<TriedGeneralisation> forms;
    for (const ordered_json& f : json)
      forms.push_back({f.at(0).get<bool>(), f.at(1).get<std::size_t>(), static_cast<verifier::Verdict>(f.at(2).get<int>()),
                       f.at(3).get<bool>(), f.at(4).get<std::string>()});
    return forms;
  });
}
Result<std::optional<rules::Rule>> optional_rule_of(const std::string& text) {
  if (text.empty()) return std::optional<rules::Rule>();
  XFLOW_TRY(rules::Rule rule, rule_of(text));
  return std::optional<rules::Rule>(std::move(rule));
}
Result<FullProof> proof_of(const std::string& answer) {
  XFLOW_TRY(const ordered_json json, from_json(answer, [](const ordered_json& j) { return j; }));
  XFLOW_TRY(const std::string text, from_json(answer, [](const ordered_json& j) { return j.at(2).get<std::string>(); }));
  FullProof proof{static_cast<verifier::Verdict>(json[0].get<int>()), json[1].get<std::string>(), std::nullopt};
  XFLOW_TRY(proof.rule, optional_rule_of(text));
  return proof;
}

}  // namespace

std::string to_text(const Question& question) {
  return std::visit([](const auto& q) { return text_of(q); }, question);
}
std::string to_text(const Answer& answer) {
  return std::visit([](const auto& a) { return text_of(a); }, answer);
}
Result<Answer> answer_of(const Question& question, const std::string& text) {
  if (std::holds_alternative<TriageQuestion>(question)) return Answer(text);
  if (std::holds_alternative<FormsQuestion>(question)) {
    XFLOW_TRY(std::vector<TriedGeneralisation> forms, forms_of(text));
    return Answer(std::move(forms));
  }
  if (std::holds_alternative<ProveQuestion>(question)) {
    XFLOW_TRY(FullProof proof, proof_of(text));
    return Answer(std::move(proof));
  }
  XFLOW_TRY(std::optional<rules::Rule> rule, optional_rule_of(text));
  return Answer(std::move(rule));
}

}  // namespace tasks

CollectWorker::CollectWorker(std::span<const GraphSignature> signatures, const DeriveLimits& limits, const verifier::Options& options,
                             CandidatesOf candidates_of)
    : signatures_(signatures), limits_(limits), options_(options), candidates_of_(std::move(candidates_of)) {}
CollectWorker::~CollectWorker() = default;

Result<tasks::Question> CollectWorker::question_of(const std::string& task) {
  const std::size_t line = task.find('\n');
  std::istringstream words(task.substr(0, line));
  const std::string payload = line == std::string::npos ? std::string() : task.substr(line + 1);
  std::string kind;
  std::size_t signature = 0;
  words >> kind;
  if (kind == "prove") {
    XFLOW_TRY(rules::Rule rule, tasks::rule_of(payload));
    return tasks::Question(tasks::ProveQuestion{std::move(rule)});
  }
  if (!tasks::is_one(kind)) return fail(ErrorCode::internal, fmt::format("no task '{}'", kind));
  words >> signature;
  if (!words || signature >= signatures_.size()) return fail(ErrorCode::internal, fmt::format("no task '{}'", kind));
  if (kind == "triage") {
    tasks::TriageQuestion question;
    question.signature = signature;
    words >> question.ranges >> question.begin >> question.end;
    XFLOW_TRY(question.rules, rules_of(payload));
    return tasks::Question(std::move(question));
  }
  XFLOW_TRY(RuleCandidate candidate, tasks::candidate_of(payload));
  if (kind == "forms") return tasks::Question(tasks::FormsQuestion{signature, std::move(candidate)});
  std::string name;
  int with_equal = 0;
  words >> name >> with_equal;
  return tasks::Question(tasks::FirstQuestion{signature, std::move(candidate), std::move(name), with_equal != 0});
}

Result<tasks::GivenRules> CollectWorker::rules_of(const std::string& text) {
  if (parsed_ && text == received_) return parsed_;
  XFLOW_TRY(std::vector<RuleText> wanted, from_json(text, [](const ordered_json& json) {
              std::vector<RuleText> texts;
              for (const ordered_json& r : json) texts.push_back({r.at(0).get<std::string>(), r.at(1).get<bool>(), r.at(2).get<bool>()});
              return texts;
            }));
  std::vector<tasks::GivenRule> rules;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (k < texts_.size() && texts_[k] == wanted[k]) {
      rules.push_back((*parsed_)[k]);
      continue;
    }
    XFLOW_TRY(rules::Rule rule, tasks::rule_of(wanted[k].text));
    rules.push_back({std::move(rule), wanted[k].is_proved, wanted[k].is_special});
  }
  received_ = text;
  texts_ = std::move(wanted);
  parsed_ = std::make_shared<const std::vector<tasks::GivenRule>>(std::move(rules));
  return parsed_;
}

Result<std::string> CollectWorker::run(const std::string& task) {
  XFLOW_TRY(const tasks::Question question, question_of(task));
  XFLOW_TRY(const tasks::Answer answer, this->answer(question));
  return tasks::to_text(answer);
}

Result<tasks::Answer> CollectWorker::answer(const tasks::Question& question) {
  if (const auto* q = std::get_if<tasks::TriageQuestion>(&question)) {
    XFLOW_TRY(std::string triages, triage(*q));
    return tasks::Answer(std::move(triages));
  }
  if (const auto* q = std::get_if<tasks::FormsQuestion>(&question))
    return tasks::Answer(try_generalisations(signatures_[q->signature], q->candidate, options_));
  if (const auto* q = std::get_if<tasks::ProveQuestion>(&question)) return tasks::Answer(prove_fully(q->rule, options_));
  const auto& q = std::get<tasks::FirstQuestion>(question);
  return tasks::Answer(first_proved(signatures_[q.signature], q.candidate, q.name, q.with_equal, options_));
}

Result<void> CollectWorker::follow(const tasks::GivenRules& rules) {
  if (followed_ == rules) return {};
  const bool grows = followed_ && followed_->size() <= rules->size() && std::equal(followed_->begin(), followed_->end(), rules->begin());
  std::size_t known = grows ? followed_->size() : 0;
  followed_.reset();
  if (!grows) {
    deriver_ = std::make_unique<Deriver>();
    unproved_.clear();
  }
  for (; known < rules->size(); ++known) {
    const tasks::GivenRule& given = (*rules)[known];
    XFLOW_TRY(const std::size_t number, deriver_->add(given.rule));
    deriver_->enable(number, given.is_proved);
    deriver_->set_special(number, given.is_special);
    if (!given.is_proved) unproved_.push_back(number);
  }
  followed_ = rules;
  return {};
}

Result<std::string> CollectWorker::triage(const tasks::TriageQuestion& question) {
  if (signature_ != question.signature) {
    XFLOW_TRY(candidates_, candidates_of_(question.signature, question.ranges));
    signature_ = question.signature;
  }
  if (question.begin > question.end || question.end > candidates_->size()) return fail(ErrorCode::internal, "no such candidates");
  XFLOW_CHECK(follow(question.rules));
  std::string triages;
  triages.reserve(question.end - question.begin);
  for (std::size_t k = question.begin; k < question.end; ++k)
    triages.push_back(static_cast<char>(triage_of(*deriver_, unproved_, limits_, signatures_[question.signature], (*candidates_)[k])));
  return triages;
}

}  // namespace xflow::generator
