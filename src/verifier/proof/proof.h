// One attempt to prove an instance: obligations, normal forms, certificates, their check.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/verifier/algebra/facts.h"
#include "src/verifier/algebra/known_signs.h"
#include "src/verifier/checker/certificate.h"
#include "src/verifier/proof/decide.h"

namespace xflow::verifier {

class Proof {
 public:
  Proof(rules::RuleInstance& instance, const Options& options);
  ~Proof();

  // True only if no shapes satisfy the facts.
  bool facts_are_contradictory();
  // The fact that a divisor of the target is at least 1, for the first divisor where this is not known;
  // nullopt if it is known for all.
  std::optional<rules::Fact> unguarded_division();
  // True only if no shapes satisfy the facts and all obligations.
  bool obligations_are_contradictory();
  // The index of the first obligation that the solver cannot derive from the facts.
  std::optional<std::size_t> failed_obligation();
  // Proves that every output is equal. If that fails, it tries again with the demands of the source as facts
  // (source_facts.h). False if both fail; open() says what remained.
  bool run();

  // The solver questions of run() on the way to the normal forms that hold; see Solver::note_answers.
  const std::vector<std::size_t>& shown() const { return shown_; }
  // The numbers of the source demands that the proof used as facts. Empty: it needs none.
  const std::vector<std::size_t>& given() const { return given_; }
  struct SourceFact {
    std::optional<std::size_t> output;  // where an element of it has a value; nullopt: where the source runs
    Piece demand;
  };
  std::vector<SourceFact> source_facts() const;
  // The normal forms were made with source facts: they hold where the source has a value and runs.
  bool has_source_facts() const { return with_facts_; }
  // Replays a proof from certificates that were found before, without search. `read` returns the certificate
  // of an output, whose normal forms exist by then. They are made once, so other certificates may be tried
  // afterwards. Only the demands of the source in `given` are facts.
  struct OutputProof;
  using Read = std::function<Result<Certificate>(std::size_t output, const OutputProof& proof)>;
  bool replay(const std::vector<std::size_t>& shown, const std::vector<std::size_t>& given, const Read& read);

  const std::string& open() const { return open_; }
  // Conditions on dimensions and output indices under which the remaining terms may differ: where to look
  // for a counterexample.
  const std::vector<Condition>& hints() const { return hints_; }
  bool stopped_by_steps() const { return stopped_by_steps_; }
  // The normal forms of the outputs that have them so far, one line each.
  std::string normal_source() const;
  std::string normal_target() const;
  std::uint64_t steps() const;
  // One output: the normal forms of both sides at `index`, which is written in the free symbols and in range
  // where `context` holds; the terms of their difference; and, where proved, why these sum to 0.
  struct OutputProof {
    std::vector<SymbolId> free;
    std::vector<Poly> index;
    Condition context;
    Expression source;
    Expression target;
    std::vector<NormalTerm> terms;
    // What must hold for the target to have a value, and what holds where the source has a value and runs
    // (demands.h).
    std::vector<Piece> demanded;
    std::vector<Piece> given;
    std::size_t demanded_of_nodes = 0;  // the last elements of `demanded`, which say that nodes run
    std::vector<KnownSign> signs;       // facts where the element of the source has a value
    std::optional<Certificate> certificate;
  };
  const std::vector<OutputProof>& outputs() const { return outputs_; }
  // Symbols that the facts determine, with their values. Normal forms mention only the values.
  const ir::Symbols::Substitution& solved() const { return solved_.solved; }

 private:
  class Engine;
  // Runs `work`; false if it throws Stop.
  bool guarded(const std::function<bool()>& work);
  bool attempt();
  void restart(bool with_facts);
  void normalise();
  void normalise_output(std::size_t output);
  bool source_asks();
  bool asks_of_nodes() const;
  std::size_t note_asked(std::optional<std::size_t> output, const std::vector<Piece>& demands);
  bool is_allowed(std::size_t number) const;
  void add_facts_of_nodes();
  void add_facts(ir::ValueId source, OutputProof& proof);
  void know_signs(const OutputProof* proof);
  void know_signs_of_demand(const OutputProof& proof, std::size_t demand);
  void add_demands(std::size_t output);
  void add_demands_of_nodes();
  bool match_output(std::size_t output);
  bool vanish(OutputProof& proof, const std::vector<std::size_t>& left);
  bool check_output(std::size_t output, Certificate certificate);
  std::string output_name(std::size_t output) const;
  std::string normal_forms(Expression OutputProof::*side) const;
  rules::RuleInstance& instance_;
  SolvedFacts solved_;
  std::unique_ptr<Engine> engine_;
  std::vector<OutputProof> outputs_;
  void note_hints(const std::vector<NormalTerm>& left, const Condition& context);

  const Options options_;
  std::uint64_t steps_ = 0;  // of earlier attempts
  // State of the facts from the source.
  bool with_facts_ = false;
  bool is_normalised_ = false;
  std::optional<std::vector<std::size_t>> allowed_;  // in a replay: the only demands that may be facts
  std::vector<SourceFact> asked_;                    // possible facts, by number
  std::vector<KnownSign> signs_of_nodes_;
  std::vector<std::size_t> ranges_;
  std::vector<std::size_t> given_;

  std::string open_;
  std::vector<std::size_t> shown_;
  std::vector<Condition> hints_;
  bool stopped_ = false;
  bool stopped_by_steps_ = false;
};

}  // namespace xflow::verifier
