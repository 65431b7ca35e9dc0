#include "src/generator/jobs/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "src/generator/jobs/job_files.h"
#include "src/generator/jobs/results.h"
#include "src/generator/jobs/step_times.h"
#include "src/generator/rules/collect_tasks.h"
#include "src/generator/rules/minimize.h"
#include "src/generator/rules/shapes.h"
#include "src/generator/rules/shortcuts.h"
#include "src/generator/rules/superpositions.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::generator {
namespace {

using nlohmann::ordered_json;

// Runs a task unless the job is cancelled.
GeneratorTask task_of(const GenerateOptions& options, TaskWorker& worker) {
  return [&options, &worker](const std::string& task) -> Result<std::string> {
    XFLOW_CHECK(unless_cancelled(options));
    return worker.run(task);
  };
}

// What the progress of a step says about all kinds of tensors.
struct Step {
  GeneratePhase phase = GeneratePhase::enumerating;
  std::size_t signature = 0;
  std::size_t signatures = 1;
};

void tell(const GenerateOptions& options, const Step& step, std::size_t count, std::size_t of, std::string message) {
  if (!options.progress) return;
  const double part = of == 0 ? 1 : static_cast<double>(count) / static_cast<double>(of);
  options.progress({step.phase, (static_cast<double>(step.signature) + part) / static_cast<double>(step.signatures), std::move(message)});
}

// Runs the tasks whose files do not exist yet.
Result<void> run_missing(const GenerateOptions& options, const Checkpoint& checkpoint, Workers& workers, TaskWorker& worker,
                         const std::string& what, const Step& step, const std::vector<std::pair<std::string, std::string>>& tasks) {
  XFLOW_CHECK(unless_cancelled(options));
  std::vector<std::string> missing;
  for (const auto& [task, file] : tasks)
    if (!checkpoint.has(file)) missing.push_back(task);
  std::size_t count = tasks.size() - missing.size();
  return workers.run(missing, task_of(options, worker), [&](std::size_t, const std::string&) -> Result<void> {
    ++count;
    tell(options, step, count, tasks.size(), fmt::format("{}: {} of {}", what, count, tasks.size()));
    return unless_cancelled(options);
  });
}

// Asks the workers. Answer k belongs to question k. Threads get the questions themselves, other processes
// their text.
Result<std::vector<tasks::Answer>> answers(const GenerateOptions& options, Workers& workers, TaskWorker& worker,
                                           const std::vector<tasks::Question>& questions) {
  std::vector<tasks::Answer> result(questions.size());
  if (auto* threads = dynamic_cast<Threads*>(&workers)) {
    XFLOW_CHECK(threads->for_each(questions.size(), [&](std::size_t k) -> Result<void> {
      XFLOW_CHECK(unless_cancelled(options));
      XFLOW_TRY(result[k], worker.answer(questions[k]));
      return {};
    }));
    return result;
  }
  std::vector<std::string> texts;
  texts.reserve(questions.size());
  for (const tasks::Question& q : questions) texts.push_back(tasks::to_text(q));
  XFLOW_CHECK(workers.run(texts, task_of(options, worker), [&](std::size_t k, const std::string& answer) -> Result<void> {
    XFLOW_TRY(result[k], tasks::answer_of(questions[k], answer));
    return unless_cancelled(options);
  }));
  return result;
}

// The end of the batch of candidates that begins at `begin`. It depends on `begin` alone, not on the number
// of workers. Batches grow, because most rules come from the first, small candidates.
std::size_t end_of_batch(std::size_t begin) {
  constexpr std::size_t kLeast = 32;
  constexpr std::size_t kMost = 4096;
  return begin + std::clamp(begin / 2, kLeast, kMost);
}

// The triage of candidates `begin` to `end` by several workers; nothing with a single worker.
Result<std::optional<std::string>> triages_of(const GenerateOptions& options, Workers& workers, TaskWorker& worker,
                                              const RuleCollector& collector, std::size_t signature, std::size_t ranges, std::size_t begin,
                                              std::size_t end) {
  if (workers.width() <= 1) return std::optional<std::string>();
  const auto rules = std::make_shared<const std::vector<tasks::GivenRule>>(collector.given_rules());
  const std::size_t size = std::clamp<std::size_t>((end - begin) / (4 * workers.width()), 16, 512);
  std::vector<tasks::Question> questions;
  for (std::size_t k = begin; k < end; k += size)
    questions.emplace_back(tasks::TriageQuestion{signature, ranges, k, std::min(k + size, end), rules});
  XFLOW_TRY(const std::vector<tasks::Answer> found, answers(options, workers, worker, questions));
  std::string triages;
  for (const tasks::Answer& answer : found) triages += std::get<std::string>(answer);
  return std::optional<std::string>(std::move(triages));
}

ordered_json counts_json(const std::vector<std::uint64_t>& counts) {
  ordered_json json = ordered_json::array();
  for (const std::uint64_t c : counts) json.push_back(c);
  return json;
}

std::string command_text(const GenerateOptions& options) {
  return fmt::format("xflow generate --ops {} --max-ops {}{}{}{}", fmt::join(options.operators, ","), options.max_operators,
                     options.inputs != 0 ? fmt::format(" --inputs {}", options.inputs) : std::string(), options.pairs ? "" : " --no-pairs",
                     options.beside_text.empty() ? std::string() : " --beside " + options.beside_text);
}

// The progress of the collection of rules, saved every few seconds. How often it is saved changes no result.
class Progress {
 public:
  Progress(const GenerateOptions& options, const Checkpoint& checkpoint) : options_(options), checkpoint_(checkpoint) {}

  Result<void> restore(RuleCollector& collector, std::span<const GraphSignature> signatures) {
    XFLOW_TRY(const std::optional<std::string> saved, checkpoint_.read("rules"));
    if (!saved) return {};
    std::string_view view = *saved;
    signature_ = take<std::uint64_t>(view);
    candidate_ = take<std::uint64_t>(view);
    XFLOW_CHECK(collector.restore(std::string(view), signatures));
    tell(options_, {GeneratePhase::deriving, signature_, signatures.size()}, 0, 1,
         fmt::format("continuing at candidate {} with {} rules", candidate_, collector.kept().size()));
    return {};
  }
  bool is_done(std::size_t signature, std::size_t candidate) const {
    return signature < signature_ || (signature == signature_ && candidate < candidate_);
  }
  Result<void> save(const RuleCollector& collector, std::size_t signature, std::size_t candidates) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kSaveInterval) return {};
    std::string bytes;
    append(bytes, static_cast<std::uint64_t>(signature));
    append(bytes, static_cast<std::uint64_t>(candidates));
    bytes += collector.save();
    XFLOW_CHECK(checkpoint_.write("rules", bytes));
    last_ = std::chrono::steady_clock::now();
    return {};
  }

 private:
  static constexpr std::chrono::seconds kSaveInterval{2};

  const GenerateOptions& options_;
  const Checkpoint& checkpoint_;
  std::uint64_t signature_ = 0;
  std::uint64_t candidate_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// The steps of a job, in call order.
class Job {
 public:
  Job(const GenerateOptions& options, Workers& workers, std::vector<GraphSignature> signatures, const Checkpoint& checkpoint)
      : options_(options), workers_(workers), signatures_(std::move(signatures)), checkpoint_(checkpoint), worker_(options) {
    report_["command"] = command_text(options);
  }

  // Enumerates the graphs of each signature and finds their candidates.
  Result<void> enumerate() {
    for (std::size_t u = 0; u < signatures_.size(); ++u) {
      XFLOW_TRY(const Enumerated graphs, enumerate_graphs(u));
      times_.enumerated += times_.lap();
      XFLOW_CHECK(group(u, graphs));
      times_.grouped += times_.lap();
    }
    worker_.forget();  // the caches of the enumeration
    return {};
  }

  // Collects rules that derive all candidates, proved for all ranks.
  Result<void> collect() {
    Progress progress(options_, checkpoint_);
    XFLOW_CHECK(progress.restore(collector_, signatures_));
    collector_.share([&](const std::vector<tasks::Question>& questions) { return answers(options_, workers_, worker_, questions); },
                     workers_.width());
    for (int round = 0; round < 3 && !all_proved_; ++round) {
      // The last round may have used rules that are not proved for all ranks or changed their form. Collect
      // again without them.
      if (round > 0) collector_.reset_counts();
      for (std::size_t u = 0; u < signatures_.size(); ++u) XFLOW_CHECK(collect(u, round == 0 ? &progress : nullptr));
      collector_.eliminate();
      times_.derived += times_.lap();
      XFLOW_TRY(all_proved_, collector_.prove(signature_of()));
      times_.proved += times_.lap();
      XFLOW_CHECK(unless_cancelled(options_));
    }
    times_.derived -= collector_.proving();
    times_.proved += collector_.proving();
    XFLOW_CHECK(collector_.direct(signature_of()));
    ShortcutFinder finder(collector_.kept(), options_.limits, verifying(options_));
    for (std::size_t u = 0; u < signatures_.size(); ++u) {
      for (const CandidateList* list : {&candidates_[u], &folded_[u]}) finder.find(signatures_[u], u, list->part(0, list->size()));
      XFLOW_CHECK(unless_cancelled(options_));
    }
    XFLOW_CHECK(superpose(finder));
    shortcuts_ = finder.found();
    return unless_cancelled(options_);
  }

  Result<GenerateSummary> write() {
    const RuleTexts texts = rule_texts();
    report_rules(texts);
    XFLOW_CHECK(write_results(options_, checkpoint_, texts.directed, texts.equations, report_.dump(1) + "\n", workers_.threads()));
    times_.proved += times_.lap();
    XFLOW_CHECK(checkpoint_.write("seconds", times_.text()));
    summary_.times = times_;
    return summary_;
  }

 private:
  // Counts of graphs.
  struct Enumerated {
    std::uint64_t records = 0;
    std::vector<std::uint64_t> raw;    // by number of operators
    std::vector<std::uint64_t> plain;  // of these, graphs of one output; by number of operators
    std::uint64_t without_value = 0;
  };
  Result<Enumerated> enumerate_graphs(std::size_t u) {
    std::vector<std::pair<std::string, std::string>> tasks;
    tasks.reserve(kParts);
    for (std::size_t part = 0; part < kParts; ++part) tasks.emplace_back(fmt::format("graphs {} {}", u, part), graphs_name(u, part));
    XFLOW_CHECK(run_missing(options_, checkpoint_, workers_, worker_, fmt::format("{}: graphs", name(signatures_[u].kind())),
                            {GeneratePhase::enumerating, u, signatures_.size()}, tasks));
    Enumerated result;
    result.raw.resize(options_.max_operators + 1);
    result.plain.resize(options_.max_operators + 1);
    for (std::size_t part = 0; part < kParts; ++part) {
      XFLOW_TRY(const GraphsHeader header, read_header(checkpoint_, u, part));
      result.records += header.records;
      result.without_value += header.without_value;
      for (std::size_t k = 0; k <= options_.max_operators; ++k) {
        result.raw[k] += header.raw[k];
        result.plain[k] += header.plain[k];
      }
    }
    return result;
  }

  Result<void> group(std::size_t u, const Enumerated& graphs) {
    const std::string kind = name(signatures_[u].kind());
    const std::size_t ranges = ranges_of(options_, graphs.records);
    std::vector<std::pair<std::string, std::string>> tasks;
    tasks.reserve(ranges);
    for (std::size_t r = 0; r < ranges; ++r) tasks.emplace_back(fmt::format("candidates {} {} {}", u, r, ranges), candidates_name(u, r));
    XFLOW_CHECK(run_missing(options_, checkpoint_, workers_, worker_, kind + ": ranges of fingerprints",
                            {GeneratePhase::grouping, u, signatures_.size()}, tasks));
    ranges_.push_back(ranges);
    XFLOW_TRY(Grouped grouped, read_candidates(options_, checkpoint_, signatures_[u], u, ranges));
    ordered_json part;
    part["tensors"] = kind;
    part["enumerated_by_operators"] = counts_json(graphs.raw);
    part["of_one_output"] = counts_json(graphs.plain);
    part["without_value"] = graphs.without_value;
    part["graphs"] = grouped.counts.graphs;
    part["classes"] = grouped.counts.classes;
    part["pairs"] = grouped.counts.pairs;
    part["follow_from_smaller"] = grouped.counts.reducible;
    part["accidents"] = grouped.counts.accidents;
    part["ignore_an_input"] = grouped.counts.idle;
    part["identities_outside_of_products"] = grouped.counts.in_vain;
    part["read_different_inputs"] = grouped.counts.dropped;
    part["pairs_without_gain"] = grouped.counts.no_gain;
    part["candidates"] = grouped.candidates.size();
    part["candidates_of_constant_parameters"] = grouped.folded.size();
    report_["signatures"].push_back(part);
    summary_.graphs += grouped.counts.graphs;
    summary_.candidates += grouped.candidates.size();
    candidates_.push_back(std::move(grouped.candidates));
    folded_.push_back(std::move(grouped.folded));
    return {};
  }

  // Collects the rules of one signature. With `progress`, skips what was collected before the job was
  // continued, and saves what is collected.
  Result<void> collect(std::size_t u, Progress* progress) {
    const CandidateList& all = candidates_[u];
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      end = std::min(end_of_batch(begin), all.size());
      if (progress != nullptr && progress->is_done(u, begin)) continue;
      XFLOW_TRY(std::optional<std::string> triages, triages_of(options_, workers_, worker_, collector_, u, ranges_[u], begin, end));
      XFLOW_CHECK(collector_.collect(signatures_[u], u, all.part(begin, end), std::move(triages)));
      // A proof that was cancelled decides nothing, so that nothing is saved after it.
      XFLOW_CHECK(unless_cancelled(options_));
      tell(options_, {GeneratePhase::deriving, u, signatures_.size()}, end, all.size(),
           fmt::format("{}: {} of {} candidates, {} rules", name(signatures_[u].kind()), end, all.size(), collector_.kept().size()));
      if (progress != nullptr) XFLOW_CHECK(progress->save(collector_, u, end));
    }
    return {};
  }

  // Looks for shortcuts of two rewrites, of which the first gains nothing.
  Result<void> superpose(ShortcutFinder& finder) {
    XFLOW_TRY(const std::vector<SignatureOptions> divided, GraphSignature::divide(options_.operators, inputs_of(options_)));
    std::vector<std::vector<RuleCandidate>> gains(signatures_.size());
    const auto add_gain = [&](std::size_t u, const RuleCandidate& c) {
      if (is_gain(signatures_[u], c)) gains[u].push_back(c);
    };
    for (const KeptRule& k : collector_.kept()) {
      if (!k.needed || !k.proved) continue;
      add_gain(k.signature, k.candidate);
      add_gain(k.signature, {k.candidate.target, k.candidate.source});
    }
    for (const Shortcut& s : finder.found()) add_gain(s.signature, s.candidate);
    for (std::size_t u = 0; u < signatures_.size(); ++u) {
      std::vector<RuleCandidate> all = candidates_[u].part(0, candidates_[u].size());
      for (std::size_t k = 0; k < folded_[u].size(); ++k) all.push_back(folded_[u][k]);
      const std::vector<RuleCandidate> moves = moves_of(signatures_[u], all);
      XFLOW_TRY(GraphSignature wide, wider_signature(divided[u]));
      wide_.push_back(std::move(wide));
      const std::vector<RuleCandidate> found = superpositions(signatures_[u], wide_[u], moves, gains[u]);
      tell(options_, {GeneratePhase::deriving, signatures_.size() - 1, signatures_.size()}, 1, 1,
           fmt::format("{} moves, {} gains, {} superpositions", moves.size(), gains[u].size(), found.size()));
      finder.find_superpositions(wide_[u], signatures_.size() + u, found);
      XFLOW_CHECK(unless_cancelled(options_));
    }
    return {};
  }

  const GraphSignature& signature(std::size_t number) const {
    return number < signatures_.size() ? signatures_[number] : wide_[number - signatures_.size()];
  }
  std::function<const GraphSignature&(const KeptRule&)> signature_of() const {
    return [this](const KeptRule& k) -> const GraphSignature& { return signatures_[k.signature]; };
  }

  struct RuleTexts {
    std::string directed;
    std::string equations;
    std::uint64_t directions = 0;  // directions of rules that can reduce the cost
    std::uint64_t known = 0;       // of these, done by the rules of options_.beside
  };
  RuleTexts rule_texts() {
    const std::string head = fmt::format("# Found, proved and minimised by\n#   {}\n", command_text(options_));
    RuleTexts texts;
    texts.directed =
        head + "# Each can make some graph cheaper. What else derivations need stands in equations/" + options_.name + ".rules.\n";
    texts.equations = head + "# What derivations need beside ../" + options_.name + ".rules: neither side is cheaper, for any sizes.\n";
    Deriver beside;
    for (const rules::Rule& r : options_.beside) (void)beside.add(r, true);  // a rule that cannot be added rewrites no small graph
    const auto is_known = [&](std::size_t signature, const RuleCandidate& c) {
      if (beside.size() == 0) return false;
      const FlatEquation equation = GeneralShapes(this->signature(signature), c).concrete(beside.vocabulary());
      const bool rewrites = beside.derives(equation, options_.limits, Goal::rewrite);
      texts.known += rewrites ? 1 : 0;
      return rewrites;
    };
    for (const KeptRule& k : collector_.kept()) {
      if (!k.needed || !k.proved) continue;
      ++summary_.rules;
      const bool forwards = k.gain.forwards || k.pair;
      const rules::Rule* const rule = forwards ? &k.rule : k.folded ? &*k.folded : nullptr;
      const rules::Rule* const back = k.back ? &*k.back : k.folded_back ? &*k.folded_back : nullptr;
      if (rule != nullptr && !is_known(k.signature, k.candidate)) texts.directed += "\n" + rules::print(*rule);
      if (back != nullptr && !is_known(k.signature, RuleCandidate{k.candidate.target, k.candidate.source}))
        texts.directed += "\n" + rules::print(*back);
      if (!forwards && !k.back) texts.equations += "\n" + rules::print(k.rule);
      texts.directions += (rule != nullptr ? 1 : 0) + (back != nullptr ? 1 : 0);
    }
    for (const Shortcut& s : shortcuts_)
      if (!is_known(s.signature, s.candidate)) texts.directed += "\n" + rules::print(s.rule);
    return texts;
  }

  void report_rules(const RuleTexts& texts) {
    const MinimizeCounts& counts = collector_.counts();
    report_["candidates"] = counts.candidates;
    report_["derived"] = counts.derived;
    report_["follow_from_unproved"] = counts.follow_from_unproved;
    report_["differ_on_more_numbers"] = counts.accidents;
    report_["kept"] = counts.kept;
    report_["eliminated"] = counts.eliminated;
    report_["rules"] = summary_.rules;
    report_["all_rounds_proved"] = all_proved_;
    report_["directions_that_can_pay"] = texts.directions;
    report_["shortcuts"] = shortcuts_.size();
    report_["superpositions"] =
        std::count_if(shortcuts_.begin(), shortcuts_.end(), [&](const Shortcut& s) { return s.signature >= signatures_.size(); });
    report_["done_by_rules_beside"] = texts.known;
    for (const auto& [verdict, count] : counts.verdicts) report_["verdicts"][verifier::name(verdict)] = count;
    report_["unproved"] = collector_.unproved();
    for (const auto& [verdict, count] : counts.verdicts)
      if (verdict != verifier::Verdict::proved) summary_.unproved += count;
  }

  const GenerateOptions& options_;
  Workers& workers_;
  const std::vector<GraphSignature> signatures_;
  std::vector<GraphSignature> wide_;  // of superpositions; numbered after signatures_
  const Checkpoint& checkpoint_;
  TaskWorker worker_;
  StepTimes times_;
  GenerateSummary summary_;
  ordered_json report_;
  std::vector<CandidateList> candidates_;  // by signature, like folded_ and ranges_
  std::vector<CandidateList> folded_;      // Grouped::folded
  std::vector<std::size_t> ranges_;
  RuleCollector collector_{options_.limits, verifying(options_)};
  std::vector<Shortcut> shortcuts_;
  bool all_proved_ = false;
};

}  // namespace

Result<std::optional<GenerateOptions>> job_in(const std::string& out) {
  XFLOW_TRY(const std::optional<std::string> text, Checkpoint::identity_of(work_folder(out)));
  if (!text) return std::optional<GenerateOptions>();
  GenerateOptions options;
  options.out = out;
  try {
    const ordered_json json = ordered_json::parse(*text);
    options.operators = json.at("operators").get<std::vector<std::string>>();
    options.max_operators = json.at("max_operators").get<std::size_t>();
    options.pairs = json.at("pairs").get<bool>();
    options.seed = json.at("seed").get<std::uint64_t>();
    options.memory = json.at("memory").get<std::uint64_t>();
    // An absent option has its default.
    const auto inputs = json.at("inputs").get<std::size_t>();
    if (inputs != inputs_of(options)) options.inputs = inputs;
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::unreadable, fmt::format("not a file of a generator job: {}", e.what()), work_folder(out));
  }
  return std::optional(std::move(options));
}

Result<GenerateSummary> generate(const GenerateOptions& options, Workers& workers) {
  if (options.max_operators < 1) return fail(ErrorCode::invalid_argument, "option 'max_operators' must be at least 1, found 0");
  constexpr std::size_t kMostOperators = 6;
  if (options.max_operators > kMostOperators)
    return fail(ErrorCode::invalid_argument,
                fmt::format("option 'max_operators' must be at most {}, found {}", kMostOperators, options.max_operators));
  XFLOW_TRY(std::vector<GraphSignature> signatures, signatures_of(options));
  XFLOW_TRY(const Checkpoint checkpoint, Checkpoint::open(work_folder(options.out), identity(options)));
  Job job(options, workers, std::move(signatures), checkpoint);
  XFLOW_CHECK(job.enumerate());
  XFLOW_CHECK(job.collect());
  return job.write();
}

}  // namespace xflow::generator
