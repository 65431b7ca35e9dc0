#include "src/generator/rules/minimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <variant>

#include "src/generator/rules/rule_writer.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule_parts.h"
#include "src/verifier/guards/infer.h"
#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::generator {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

// Larger than any graph, so that the values of all its operations are kept for the next graphs.
constexpr std::size_t kMoreOperators = 8;

}  // namespace
std::vector<std::size_t> RuleCollector::unproved_rules() const {
  std::vector<std::size_t> numbers;
  numbers.reserve(open_.size());
  for (const Open& o : open_) numbers.push_back(o.number);
  return numbers;
}

std::vector<tasks::GivenRule> RuleCollector::given_rules() const {
  std::map<std::size_t, tasks::GivenRule> by_number;
  for (const KeptRule& k : kept_)
    if (k.needed) by_number[k.number] = {k.rule, true, deriver_.is_special(k.number)};
  for (const Open& o : open_) by_number[o.number] = {o.rule, false, false};
  std::vector<tasks::GivenRule> result;
  result.reserve(by_number.size());
  for (auto& [number, given] : by_number) result.push_back(std::move(given));
  return result;
}

bool RuleCollector::count(Triage triage) {
  switch (triage) {
    case Triage::derived:
      ++counts_.derived;
      return true;
    case Triage::follows:
      ++counts_.follow_from_unproved;
      return true;
    case Triage::open:
      break;
  }
  return false;
}

bool RuleCollector::holds_on_more_numbers(const GraphSignature& signature, std::size_t signature_number, const RuleCandidate& candidate) {
  constexpr std::size_t kSeeds = 16;
  constexpr std::uint64_t kFirstSeed = 1000;
  std::vector<Evaluator>& evaluators = evaluators_[signature_number];
  for (std::size_t k = 0; k < kSeeds; ++k) {
    if (k == evaluators.size()) {
      EnumerationOptions options;
      options.max_operators = kMoreOperators;
      options.seed = kFirstSeed + k;
      options.sizes = k % GraphSignature::kAssignments;
      options.small_integers = k % 4 < 2;
      options.value_bytes = std::size_t{4} << 20;
      evaluators.emplace_back(signature, options);
    }
    // An element without a value decides nothing.
    const std::vector<std::uint64_t> source = evaluators[k].values(candidate.source);
    const std::vector<std::uint64_t> target = evaluators[k].values(candidate.target);
    if (source.empty() || target.empty() || source == target) continue;
    ++counts_.accidents;
    return false;
  }
  return true;
}

Result<void> RuleCollector::collect(const GraphSignature& signature, std::size_t signature_number,
                                    std::span<const RuleCandidate> candidates, std::optional<std::string> triages) {
  if (triages && triages->size() != candidates.size()) return fail(ErrorCode::internal, "the numbers of triages and candidates differ");
  counts_.candidates += candidates.size();
  const auto triaged = [&](const RuleCandidate& c) { return triage_of(deriver_, unproved_rules(), limits_, signature, c); };
  std::vector<const RuleCandidate*> open;
  for (std::size_t k = 0; k < candidates.size(); ++k)
    if (!count(triages ? static_cast<Triage>((*triages)[k]) : triaged(candidates[k]))) open.push_back(&candidates[k]);
  // The forms of kGroup candidates are tried in parallel. Once a rule is kept, candidates of the group after
  // it are triaged again.
  constexpr std::size_t kGroup = 4;
  bool has_changed = false;
  for (std::size_t next = 0; next < open.size();) {
    std::vector<const RuleCandidate*> group;
    for (; next < open.size() && group.size() < kGroup; ++next)
      if ((!has_changed || !count(triaged(*open[next]))) && holds_on_more_numbers(signature, signature_number, *open[next]))
        group.push_back(open[next]);
    std::vector<std::vector<TriedGeneralisation>> forms(group.size());
    const auto start = Clock::now();
    if (width_ > 1) {
      std::vector<tasks::Question> questions;
      questions.reserve(group.size());
      for (const RuleCandidate* c : group) questions.emplace_back(tasks::FormsQuestion{signature_number, *c});
      XFLOW_TRY(std::vector<tasks::Answer> answers, ask_(questions));
      for (std::size_t k = 0; k < group.size(); ++k) forms[k] = std::get<std::vector<TriedGeneralisation>>(std::move(answers[k]));
    }
    proving_ += Clock::now() - start;
    bool is_first = true;
    for (std::size_t k = 0; k < group.size(); ++k) {
      if (!is_first && count(triaged(*group[k]))) continue;
      if (width_ <= 1) forms[k] = tried_generalisations(signature, *group[k], 0);
      keep(signature, signature_number, *group[k], std::move(forms[k]));
      is_first = false;
      has_changed = true;
    }
  }
  return {};
}

std::vector<TriedGeneralisation> RuleCollector::tried_generalisations(const GraphSignature& signature, const RuleCandidate& candidate,
                                                                      std::size_t begin) {
  const auto start = Clock::now();
  std::vector<TriedGeneralisation> forms = try_generalisations(signature, candidate, options_, begin);
  proving_ += Clock::now() - start;
  return forms;
}

void RuleCollector::reset_counts() { counts_.candidates = counts_.derived = counts_.follow_from_unproved = counts_.accidents = 0; }

void RuleCollector::unproved(const GraphSignature& signature, const RuleCandidate& candidate, verifier::Verdict verdict,
                             const std::string& text) {
  ++counts_.verdicts[verdict];
  constexpr std::size_t kSample = 200;
  if (unproved_.size() < kSample)
    unproved_.push_back(fmt::format("{}: {} = {}\n{}", verifier::name(verdict), to_string(signature, candidate.source),
                                    to_string(signature, candidate.target), text));
}

void RuleCollector::keep(const GraphSignature& signature, std::size_t signature_number, const RuleCandidate& candidate,
                         std::vector<TriedGeneralisation> forms) {
  FlatEquation equation = GeneralShapes(signature, candidate).concrete(deriver_.vocabulary());
  const bool special = may_change_partial(signature, candidate);
  const std::string base = name_of(signature, candidate);
  const int number = ++names_[base];
  const std::string name = number == 1 ? base : fmt::format("{}-{}", base, number);
  const RuleCandidate reversed{candidate.target, candidate.source};
  std::string unwritten;
  std::array<std::vector<WrittenRule>, 2> texts;
  if (is_source(signature, candidate.source, candidate.target)) texts[0] = write_rule(signature, candidate, name, false, &unwritten);
  if (candidate.source.outputs.size() == 1 && is_source(signature, candidate.target, candidate.source))
    texts[1] = write_rule(signature, reversed, name, false, &unwritten);
  verifier::Verdict best = verifier::Verdict::ill_typed;
  std::string text;
  std::optional<rules::Rule> open;  // the last form that is neither proved nor refuted
  for (std::size_t k = 0; k < forms.size(); ++k) {
    const TriedGeneralisation form = forms[k];
    const auto& [written, equal] = texts[form.reversed ? 1 : 0][form.variant];
    // A form for special sizes is compared at such sizes.
    if (!equal.empty()) {
      equation = GeneralShapes(signature, candidate, equal).concrete(deriver_.vocabulary());
      if (derives(equation, goal_of(candidate.source.outputs.size()), special)) {
        ++counts_.derived;
        return;
      }
    }
    auto rule = rules::checked(written);
    if (!rule || form.verdict != verifier::Verdict::proved) {
      if (text.empty() || form.verdict == verifier::Verdict::refuted)
        text = rules::print(written) + (rule ? form.why : rule.error().text());
      if (best != verifier::Verdict::refuted && form.verdict != verifier::Verdict::ill_typed) best = form.verdict;
      if (rule && form.verdict == verifier::Verdict::unknown) open = *std::move(rule);
      continue;
    }
    KeptRule kept;
    kept.signature = signature_number;
    kept.candidate = form.reversed ? reversed : candidate;
    kept.name = name;
    kept.variant = form.variant;
    kept.equal = equal;
    kept.rule = *std::move(rule);
    kept.equation = equation;
    kept.special = special;
    const Acceptance keeps = try_to_keep(signature, std::move(kept), form.is_guarded);
    if (keeps) return;
    text = rules::print(written) + keeps.reason;
    best = verifier::Verdict::unknown;
    // try_generalisations stopped at this form because it is proved; try the rest.
    const std::vector<TriedGeneralisation> others = tried_generalisations(signature, candidate, k + 1);
    forms.insert(forms.end(), others.begin(), others.end());
  }
  if (open && candidate.source.outputs.size() == 1) {
    // Candidates that follow from it are not tried one by one.
    if (const auto added = deriver_.add(*open)) {
      deriver_.enable(*added, false);
      open_.push_back({*added, *std::move(open)});
    }
  }
  if (texts[0].empty() && texts[1].empty())
    text = fmt::format("no form of it can be written: {}\n", unwritten.empty() ? "each side has an input of its own" : unwritten);
  unproved(signature, candidate, best, text);
}

bool RuleCollector::derives(const FlatEquation& equation, Goal goal, bool special) {
  deriver_.use_special(special);
  return deriver_.derives(equation, limits_, goal);
}

Acceptance RuleCollector::try_to_keep(const GraphSignature& signature, KeptRule kept, bool is_guarded) {
  if (is_guarded) {
    const std::vector<WrittenRule> small = write_rule(signature, kept.candidate, kept.name, true);
    const auto decided = rules::checked(small[kept.variant].rule);
    auto guarded = decided ? with_divisors_guarded(*decided, kept.rule, options_) : std::nullopt;
    if (!guarded) return refused("the guards under which it holds cannot be written");
    kept.rule = *std::move(guarded);
  }
  const auto added = deriver_.add(kept.rule);
  if (!added) return refused(added.error().text());
  // The rule must derive its own candidate.
  kept.pair = kept.candidate.source.outputs.size() > 1;
  if (!derives(kept.equation, kept.pair ? Goal::rewrite : Goal::equal, true)) {
    deriver_.enable(*added, false);
    return refused("does not derive what it was found in");
  }
  deriver_.set_special(*added, changes_partial(signature, kept.candidate));
  kept.number = *added;
  kept_.push_back(std::move(kept));
  ++counts_.kept;
  return accepted();
}

Result<bool> RuleCollector::prove(const std::function<const GraphSignature&(const KeptRule&)>& signature_of) {
  bool same = true;
  std::vector<KeptRule*> wanted;
  std::vector<tasks::Question> questions;
  for (KeptRule& k : kept_) {
    if (!k.needed || k.proved) continue;
    wanted.push_back(&k);
    if (width_ > 1) questions.emplace_back(tasks::ProveQuestion{k.rule});
  }
  std::vector<tasks::Answer> answers;
  if (width_ > 1) {
    XFLOW_TRY(answers, ask_(questions));
  }
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    KeptRule& k = *wanted[n];
    const GraphSignature& signature = signature_of(k);
    const std::vector<WrittenRule> forms = write_rule(signature, k.candidate, k.name);
    verifier::Verdict verdict = verifier::Verdict::unknown;
    std::string why;
    for (std::size_t variant = k.variant; variant < forms.size() && !k.proved; ++variant) {
      FullProof proof;
      if (variant == k.variant && width_ > 1) {
        proof = std::get<FullProof>(std::move(answers[n]));
      } else if (variant == k.variant) {
        proof = prove_fully(k.rule, options_);  // k.rule has the guards on values that were found
      } else {
        const auto rule = rules::checked(forms[variant].rule);
        if (!rule) continue;
        proof = prove_fully(*rule, options_);
      }
      if (!proof.rule) {
        verdict = proof.verdict;
        why = rules::print(forms[variant].rule) + proof.why;
        continue;
      }
      const auto added = deriver_.add(*proof.rule);
      if (!added) continue;
      deriver_.set_special(*added, changes_partial(signature, k.candidate));
      same = same && variant == k.variant;
      deriver_.enable(k.number, false);
      k.number = *added;
      k.variant = variant;
      if (k.equal != forms[variant].equal) {
        k.equal = forms[variant].equal;
        k.equation = GeneralShapes(signature, k.candidate, k.equal).concrete(deriver_.vocabulary());
      }
      k.rule = *std::move(proof.rule);
      k.proved = true;
      ++counts_.verdicts[verifier::Verdict::proved];
    }
    if (k.proved) continue;
    k.needed = false;
    deriver_.enable(k.number, false);
    unproved(signature, k.candidate, verdict, why);
    same = false;
  }
  return same;
}

Result<void> RuleCollector::direct(const std::function<const GraphSignature&(const KeptRule&)>& signature_of) {
  struct Wanted {
    KeptRule* rule = nullptr;
    std::vector<std::size_t> constants;
  };
  std::vector<Wanted> wanted;
  std::vector<tasks::Question> questions;
  const auto reversed = [](const KeptRule& k) { return RuleCandidate{k.candidate.target, k.candidate.source}; };
  for (KeptRule& k : kept_) {
    if (!k.needed || !k.proved) continue;
    k.gain = gain_of(signature_of(k), k.candidate);
    if (k.pair) continue;
    if (!k.gain.forwards) k.folded = with_constants(k.rule, constants_that_pay(signature_of(k), k.candidate));
    std::vector<std::size_t> constants;
    if (!k.gain.backwards) constants = constants_that_pay(signature_of(k), reversed(k));
    if (!k.gain.backwards && constants.empty()) continue;
    wanted.push_back({&k, std::move(constants)});
    // The reverse rule holds for the same sizes.
    questions.emplace_back(tasks::FirstQuestion{k.signature, reversed(k), k.name + "-back", !k.equal.empty()});
  }
  const auto take = [](Wanted& w, std::optional<rules::Rule> back) {
    if (w.rule->gain.backwards) {
      w.rule->back = std::move(back);
    } else if (back) {
      w.rule->folded_back = with_constants(*back, w.constants);
    }
  };
  if (width_ <= 1) {
    for (Wanted& w : wanted)
      take(w, first_proved(signature_of(*w.rule), reversed(*w.rule), w.rule->name + "-back", !w.rule->equal.empty(), options_));
    return {};
  }
  XFLOW_TRY(std::vector<tasks::Answer> answers, ask_(questions));
  for (std::size_t n = 0; n < wanted.size(); ++n) take(wanted[n], std::get<std::optional<rules::Rule>>(std::move(answers[n])));
  return {};
}

void RuleCollector::eliminate() {
  evaluators_.clear();  // another collect() makes new evaluators
  for (std::size_t k = kept_.size(); k-- > 0;) {
    if (!kept_[k].needed) continue;
    deriver_.enable(kept_[k].number, false);
    if (derives(kept_[k].equation, goal_of(kept_[k].candidate.source.outputs.size()), kept_[k].special)) {
      kept_[k].needed = false;
      ++counts_.eliminated;
    } else {
      deriver_.enable(kept_[k].number, true);
    }
  }
}

std::string RuleCollector::save() const {
  ordered_json json;
  json["counts"] = {counts_.candidates, counts_.derived, counts_.follow_from_unproved, counts_.accidents, counts_.kept};
  json["verdicts"] = ordered_json::array();
  for (const auto& [verdict, count] : counts_.verdicts) json["verdicts"].push_back({static_cast<int>(verdict), count});
  json["names"] = names_;
  json["unproved"] = unproved_;
  // Rules are saved in the order in which the deriver got them.
  json["rules"] = ordered_json::array();
  std::size_t next_open = 0;
  const auto add_open = [&](std::size_t before) {
    for (; next_open < open_.size() && open_[next_open].number < before; ++next_open)
      json["rules"].push_back({{"open", rules::print(open_[next_open].rule)}});
  };
  for (const KeptRule& k : kept_) {
    add_open(k.number);
    json["rules"].push_back({{"text", rules::print(k.rule)},
                             {"name", k.name},
                             {"signature", k.signature},
                             {"variant", k.variant},
                             {"equal", k.equal},
                             {"candidate", tasks::to_text(k.candidate)}});
  }
  add_open(SIZE_MAX);
  return json.dump();
}

Result<void> RuleCollector::restore(const std::string& saved, std::span<const GraphSignature> signatures) {
  // A complete file was written by save(). The exceptions handle any other text.
  try {
    const ordered_json json = ordered_json::parse(saved);
    std::size_t at = 0;
    for (std::uint64_t* count : {&counts_.candidates, &counts_.derived, &counts_.follow_from_unproved, &counts_.accidents, &counts_.kept})
      *count = json.at("counts").at(at++).get<std::uint64_t>();
    for (const ordered_json& v : json.at("verdicts"))
      counts_.verdicts[static_cast<verifier::Verdict>(v.at(0).get<int>())] = v.at(1).get<std::uint64_t>();
    names_ = json.at("names").get<std::map<std::string, int>>();
    unproved_ = json.at("unproved").get<std::vector<std::string>>();
    for (const ordered_json& r : json.at("rules")) {
      if (r.contains("open")) {
        XFLOW_TRY(rules::Rule rule, tasks::rule_of(r.at("open").get<std::string>()));
        XFLOW_TRY(const std::size_t number, deriver_.add(rule));
        deriver_.enable(number, false);
        open_.push_back({number, std::move(rule)});
        continue;
      }
      KeptRule k;
      k.signature = r.at("signature").get<std::size_t>();
      XFLOW_TRY(k.candidate, tasks::candidate_of(r.at("candidate").get<std::string>()));
      k.name = r.at("name").get<std::string>();
      k.variant = r.at("variant").get<std::size_t>();
      XFLOW_TRY(k.rule, tasks::rule_of(r.at("text").get<std::string>()));
      XFLOW_TRY(k.number, deriver_.add(k.rule));
      k.equal = r.at("equal").get<EqualUnknowns>();
      k.equation = GeneralShapes(signatures[k.signature], k.candidate, k.equal).concrete(deriver_.vocabulary());
      deriver_.set_special(k.number, changes_partial(signatures[k.signature], k.candidate));
      k.pair = k.candidate.source.outputs.size() > 1;
      k.special = may_change_partial(signatures[k.signature], k.candidate);
      kept_.push_back(std::move(k));
    }
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::unreadable, fmt::format("not a file of a generator job: {}", e.what()));
  }
  return {};
}

}  // namespace xflow::generator
