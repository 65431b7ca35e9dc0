#include "src/verifier/proof/decide.h"

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
    // Scalars are printed by value, other tensors by shape.
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

constexpr const char* kDisagreement = "agreement: the normal forms are equal, but direct evaluation differs (please report this)";

// Decides one instance by its obligations, the proof, and direct evaluation, which must agree with the
// proof.
class Decider {
 public:
  Decider(rules::RuleInstance& instance, const Options& options)
      : instance_(instance),
        options_(options),
        concrete_(instance),
        sampler_(instance, concrete_, options.seed, options.z3_rlimit, options.deadline),
        samples_(sampler_.assignments(kAgreements + 4)),
        proof_(instance, options),
        refuter_(instance, concrete_, options) {}

  Decision run() {
    if (std::optional<Decision> early = decide_obligations()) return *std::move(early);
    std::optional<Refuter::Result> first;
    if (options_.refute_first && !options_.normal_forms) first = refuter_.try_all(samples_, Refuter::Purpose::agreement);
    if (first && first->counterexample) return refuted(first->counterexample);
    const bool matched = proof_.run() || broken(Fault::verdict_without_proof);
    if (const auto kept = keep_proof(matched); !kept) {
      decision_.open = kept.error().message;
      return std::move(decision_);
    }
    const Refuter::Result evaluated = first ? *std::move(first) : refuter_.try_all(samples_, Refuter::Purpose::agreement);
    if (evaluated.counterexample) {
      refuted(evaluated.counterexample);
      // A proof and a counterexample contradict each other.
      if (matched) decision_.verdict = Verdict::unknown;
      if (matched) decision_.open = kDisagreement;
    } else if (matched) {
      confirm(evaluated.agreed);
    } else {
      refute();
    }
    return std::move(decision_);
  }

 private:
  // The decision if it does not need a proof: there are no shapes at all, or an obligation of the types
  // fails.
  std::optional<Decision> decide_obligations() {
    if (samples_.empty() && proof_.facts_are_contradictory() && !broken(Fault::verdict_of_no_shapes)) {
      decision_.verdict = Verdict::ill_typed;
      decision_.open = "vacuous: no shapes satisfy the guards and the typing of the source";
      return std::move(decision_);
    }
    const auto divisor = broken(Fault::verdict_divides_by_anything) ? std::nullopt : proof_.unguarded_division();
    if (divisor) return explain_obligation(instance_, concrete_, sampler_, samples_, proof_, *divisor);
    const auto failed = broken(Fault::verdict_of_an_untyped_target) ? std::nullopt : proof_.failed_obligation();
    if (failed) return explain_obligation(instance_, concrete_, sampler_, samples_, proof_, instance_.obligations[*failed]);
    return std::nullopt;
  }

  // Sets the verdict refuted with this counterexample.
  Decision& refuted(const std::optional<Counterexample>& counterexample) {
    decision_.counterexample = counterexample;
    decision_.verdict = Verdict::refuted;
    return decision_;
  }

  // Stores the parts of the proof that the options request: steps, normal forms, certificates. Errors: a
  // certificate that cannot be written.
  Result<void> keep_proof(bool matched) {
    decision_.steps = proof_.steps();
    if (options_.record) decision_.shown = proof_.shown();
    if (options_.record) decision_.given = proof_.given();
    if (options_.normal_forms) {
      decision_.normal_source = proof_.normal_source();
      decision_.normal_target = proof_.normal_target();
    }
    for (const Proof::OutputProof& p : proof_.outputs()) {
      if (options_.normal_forms) {
        if (!decision_.certificate.empty()) decision_.certificate += '\n';
        decision_.certificate += explain(Names{instance_.arena->symbols(), instance_.variables, instance_.variable_names}, p);
      }
      if (!matched || !options_.record) continue;
      XFLOW_TRY(std::string text, write_certificate(instance_.arena->symbols(), p));
      decision_.certificates.push_back(std::move(text));
    }
    return {};
  }

  // Tries more shapes before giving up. Then it tries shapes on which the sides may differ according to the
  // remaining terms; finding these takes a solver.
  void refute() {
    Refuter::Result more = refuter_.try_all(sampler_.assignments(4 * kAgreements), Refuter::Purpose::refutation);
    if (!more.counterexample) {
      std::vector<Assignment> shapes;
      for (const Condition& hint : proof_.hints()) {
        if (is_over(options_.deadline)) break;
        if (auto a = sampler_.satisfying(hint)) shapes.push_back(*std::move(a));
      }
      more = refuter_.try_all(shapes, Refuter::Purpose::refutation);
    }
    if (more.counterexample) {
      refuted(more.counterexample);
      return;
    }
    decision_.verdict = proof_.stopped_by_steps() ? Verdict::timeout : Verdict::unknown;
    decision_.open = proof_.open();
  }

  // Replaces shapes that cannot be compared (an element is undefined, or there are too many). Fewer
  // agreements suffice only if there are no more shapes.
  void confirm(std::size_t agreed) {
    for (int round = 0; round < 3 && agreed < kAgreements && !is_over(options_.deadline); ++round) {
      const std::vector<Assignment> others = sampler_.others(samples_, 2 * kAgreements);
      if (others.empty()) break;
      const Refuter::Result more = refuter_.try_all(others, Refuter::Purpose::agreement);
      if (more.counterexample) {
        decision_.counterexample = more.counterexample;
        decision_.open = kDisagreement;
        return;
      }
      agreed += more.agreed;
      samples_.insert(samples_.end(), others.begin(), others.end());
    }
    const bool enough = agreed >= kAgreements || (agreed > 0 && sampler_.are_all(samples_));
    if (!enough && !broken(Fault::verdict_without_agreement)) {
      decision_.open = "agreement: only " + std::to_string(agreed) + " shapes were found on which both sides can be evaluated, " +
                       std::to_string(kAgreements) + " are needed";
      return;
    }
    decision_.verdict = Verdict::proved;
  }

  rules::RuleInstance& instance_;
  const Options& options_;
  Concrete concrete_;
  Sampler sampler_;
  std::vector<Assignment> samples_;
  Proof proof_;
  Refuter refuter_;
  Decision decision_;
};

}  // namespace

Decision decide(rules::RuleInstance& instance, const Options& options) {
  Decision decision = Decider(instance, options).run();
  // Proved and refuted remain valid after the deadline. Other verdicts may be due to a lack of time.
  const bool is_known = decision.verdict == Verdict::proved || decision.verdict == Verdict::refuted;
  if (!is_known && is_over(options.deadline)) {
    decision.verdict = Verdict::timeout;
    decision.open = "the time limit was reached";
  }
  return decision;
}

}  // namespace xflow::verifier
