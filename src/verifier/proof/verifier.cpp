#include "src/verifier/proof/verifier.h"

#include <algorithm>

#include "src/verifier/checker/certificate_text.h"
#include "src/verifier/counterexample/explain.h"
#include "src/verifier/counterexample/refute.h"
#include "src/verifier/counterexample/sample.h"
#include "src/verifier/faults.h"
#include "src/verifier/proof/proof.h"

namespace xflow::verifier {

namespace {

std::string shapes_text(const Counterexample& c) {
  std::string text;
  for (const auto& [name, value] : c.integers) text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  return text;
}

}  // namespace

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved:
      return "proved";
    case Verdict::refuted:
      return "refuted";
    case Verdict::unknown:
      return "unknown";
    case Verdict::ill_typed:
      return "ill-typed";
    case Verdict::timeout:
      break;
  }
  return "timeout";
}

namespace {

std::string list_text(const std::vector<std::int64_t>& list) {
  std::string text;
  for (const std::int64_t i : list) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "[" + text + "]";
}

std::string difference_text(const Counterexample& c) {
  if (c.index.empty() && c.tensors.empty()) return c.source_value + ", but " + c.target_value;
  return "output " + (c.output_name.empty() ? std::to_string(c.output) : c.output_name) + " at " + list_text(c.index) + ": " +
         c.source_value + " != " + c.target_value;
}

}  // namespace

std::string Counterexample::to_string() const {
  std::string text;
  const auto part = [&](const std::string& more) {
    if (!text.empty() && !more.empty()) text += "; ";
    text += more;
  };
  if (!choice.empty()) part("for " + choice);
  part(shapes_text(*this));
  for (const auto& [name, value] : tensors) {
    std::string tensor = name;
    part(tensor.append(" = ").append(value));
  }
  part(difference_text(*this));
  return text;
}

std::string Counterexample::summary() const {
  std::string text;
  const auto word = [&](const std::string& more) { text += (text.empty() ? "" : " ") + more; };
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    // Numbers stand for themselves, other tensors for their shape.
    const bool shape = k < shapes.size() && !shapes[k].empty();
    word(shape ? tensors[k].first + ": " + list_text(shapes[k]) : tensors[k].first + " = " + tensors[k].second);
  }
  if (tensors.empty()) {
    text = shapes_text(*this);
  } else {
    for (const auto& [name, value] : attributes) word(name + " = " + std::to_string(value));
  }
  if (!choice.empty()) text += (text.empty() ? "for " : ", for ") + choice;
  return text + (text.empty() ? "" : ", ") + difference_text(*this);
}

Options Options::started() const {
  Options result = *this;
  if (timeout.count() > 0 && deadline.is_never()) {
    result.deadline = Deadline(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout));
  }
  return result;
}

namespace {

Decision decide_in_time(rules::RuleInstance& instance, const Options& options) {
  Decision decision;
  Concrete concrete(instance);
  Sampler sampler(instance, concrete, options.seed, options.z3_rlimit, options.deadline);
  std::vector<Assignment> samples = sampler.assignments(kAgreements + 4);

  Proof proof(instance, options);
  if (samples.empty() && proof.facts_are_contradictory() && !broken(Fault::verdict_of_no_shapes)) {
    decision.verdict = Verdict::ill_typed;
    decision.open = "vacuous: no shapes satisfy the guards and the typing of the source";
    return decision;
  }
  const auto divisor = broken(Fault::verdict_divides_by_anything) ? std::nullopt : proof.unguarded_division();
  if (divisor) return explain_obligation(instance, concrete, sampler, samples, proof, *divisor);
  const auto failed = broken(Fault::verdict_of_an_untyped_target) ? std::nullopt : proof.failed_obligation();
  if (failed) {
    return explain_obligation(instance, concrete, sampler, samples, proof, instance.obligations[*failed]);
  }
  Refuter refuter(instance, concrete, options);
  std::optional<Refuter::Result> first;
  if (options.refute_first && !options.normal_forms) first = refuter.try_all(samples, Refuter::Purpose::agreement);
  if (first && first->counterexample) {
    decision.counterexample = first->counterexample;
    decision.verdict = Verdict::refuted;
    return decision;
  }
  const bool matched = proof.run() || broken(Fault::verdict_without_proof);
  decision.steps = proof.steps();
  if (options.record) decision.shown = proof.shown();
  if (options.record) decision.given = proof.given();
  if (options.normal_forms) {
    decision.normal_source = proof.normal_source();
    decision.normal_target = proof.normal_target();
  }
  for (const Proof::OutputProof& p : proof.outputs()) {
    if (options.normal_forms) {
      if (!decision.certificate.empty()) decision.certificate += '\n';
      decision.certificate += explain(Names{instance.arena->symbols(), instance.variables, instance.variable_names}, p);
    }
    if (!matched || !options.record) continue;
    auto text = write_certificate(instance.arena->symbols(), p);
    if (!text) {
      decision.open = text.error().message;
      return decision;
    }
    decision.certificates.push_back(*std::move(text));
  }

  const Refuter::Result evaluated = first ? *std::move(first) : refuter.try_all(samples, Refuter::Purpose::agreement);
  if (evaluated.counterexample) {
    decision.counterexample = evaluated.counterexample;
    // A proof and a counterexample cannot both be right.
    decision.verdict = matched ? Verdict::unknown : Verdict::refuted;
    if (matched) decision.open = "agreement: the normal forms are equal, but direct evaluation differs (please report this)";
    return decision;
  }
  if (!matched) {
    // More shapes before giving up; then those on which the terms that were left say that the sides may differ, which take a solver.
    Refuter::Result more = refuter.try_all(sampler.assignments(4 * kAgreements), Refuter::Purpose::refutation);
    if (!more.counterexample) {
      std::vector<Assignment> shapes;
      for (const Condition& hint : proof.hints()) {
        if (is_over(options.deadline)) break;
        if (auto a = sampler.satisfying(hint)) shapes.push_back(*std::move(a));
      }
      more = refuter.try_all(shapes, Refuter::Purpose::refutation);
    }
    decision.counterexample = more.counterexample;
    decision.verdict = more.counterexample ? Verdict::refuted : proof.stopped_by_steps() ? Verdict::timeout : Verdict::unknown;
    if (!more.counterexample) decision.open = proof.open();
    return decision;
  }
  // Shapes that say nothing (an element is undefined, or there are too many) are replaced. Fewer are enough only if there are no more.
  std::size_t agreed = evaluated.agreed;
  for (int round = 0; round < 3 && agreed < kAgreements && !is_over(options.deadline); ++round) {
    const std::vector<Assignment> others = sampler.others(samples, 2 * kAgreements);
    if (others.empty()) break;
    const Refuter::Result more = refuter.try_all(others, Refuter::Purpose::agreement);
    if (more.counterexample) {
      decision.counterexample = more.counterexample;
      decision.open = "agreement: the normal forms are equal, but direct evaluation differs (please report this)";
      return decision;
    }
    agreed += more.agreed;
    samples.insert(samples.end(), others.begin(), others.end());
  }
  const bool enough = agreed >= kAgreements || (agreed > 0 && sampler.are_all(samples));
  if (!enough && !broken(Fault::verdict_without_agreement)) {
    decision.open = "agreement: only " + std::to_string(agreed) + " shapes were found on which both sides can be evaluated, " +
                    std::to_string(kAgreements) + " are needed";
    return decision;
  }
  decision.verdict = Verdict::proved;
  return decision;
}

}  // namespace

Decision decide(rules::RuleInstance& instance, const Options& options) {
  Decision decision = decide_in_time(instance, options);
  // What is known by then counts; what is not known may have lacked the time.
  const bool is_known = decision.verdict == Verdict::proved || decision.verdict == Verdict::refuted;
  if (!is_known && is_over(options.deadline)) {
    decision.verdict = Verdict::timeout;
    decision.open = "the time was up";
  }
  return decision;
}

}  // namespace xflow::verifier
