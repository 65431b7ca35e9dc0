#include "src/verifier/guards/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "src/rules/instantiate.h"
#include "src/verifier/counterexample/refute.h"
#include "src/verifier/guards/features.h"
#include "src/verifier/guards/guard_vocabulary.h"
#include "src/verifier/guards/sampled_instances.h"
#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::verifier {

namespace {

using ir::SymbolKind;
using rules::Guard;

constexpr std::size_t kInstances = 4;     // sampled per rule
constexpr std::size_t kMostSampled = 64;  // instances in memory
constexpr std::size_t kFirstSamples = 160;
constexpr std::size_t kMoreSamples = 48;          // that satisfy an insufficient set of guards
constexpr std::size_t kTries = 40;                // sizes drawn for one sample
constexpr int kGuardDraws = 200;                  // sets of guards tried on sizes
constexpr int kRounds = 24;                       // sets of guards tried
constexpr std::size_t kWeaker = 8;                // weaker guards tried in place of a guard
constexpr std::uint64_t kInferenceWork = 20'000;  // scalar operations per comparison

constexpr const char* kTimeIsUp = "the time limit was reached";

struct Sample {
  std::size_t instance;
  Assignment assignment;
  Features features;
  bool good;
};

// An instance of the rule without guards, with the evaluator that compares its sides.
struct Site {
  explicit Site(rules::RuleInstance& i) : instance(&i), concrete(std::make_unique<Concrete>(i)) {}
  rules::RuleInstance* instance;
  std::unique_ptr<Concrete> concrete;
};

class Search {
 public:
  Search(const rules::Rule& rule, std::vector<rules::RuleInstance>& instances, std::vector<Guard> kept, const Options& options)
      : rule_(rule), kept_(std::move(kept)), options_(options) {
    for (rules::RuleInstance& instance : instances) sites_.emplace_back(instance);
    options_.shrink = false;
  }

  Inference run(const std::vector<Guard>& dropped) {
    Inference result;
    result.kept = kept_;
    candidates_ = dropped;
    for (Guard& g : vocabulary(rule_, *sites_.front().instance, *sites_.front().concrete)) candidates_.push_back(std::move(g));
    holds_.resize(candidates_.size());
    banned_.resize(candidates_.size());
    draw(kFirstSamples, {});
    Chosen chosen;
    if (!time_is_up() && find(chosen)) {
      minimise(chosen);
      weaken(chosen);
      minimise(chosen);
      const std::vector<Guard> guards = join(guards_of(chosen));
      result.proved = true;
      for (std::size_t k = 0; k < guards.size(); ++k) result.guards.push_back({guards[k], without(guards, k)});
      if (auto whole = with_guards(rule_, together(guards))) result.rule = *std::move(whole);
    } else {
      result.open = open_;
    }
    result.samples = samples_.size();
    result.decisions = decisions_;
    return result;
  }

 private:
  std::uint64_t random(std::uint64_t below) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ >> 33U) % below;
  }

  std::vector<Guard> together(const std::vector<Guard>& guards) const {
    std::vector<Guard> all = kept_;
    all.insert(all.end(), guards.begin(), guards.end());
    return all;
  }

  RuleDecision decide_with(const std::vector<Guard>& guards, bool shrink = false) {
    ++decisions_;
    const auto whole = with_guards(rule_, together(guards));
    if (!whole) {
      RuleDecision none;
      none.verdict = Verdict::ill_typed;
      none.decision.open = whole.error().message;
      return none;
    }
    Options options = options_;
    options.shrink = shrink;
    return decide(*whole, options);
  }

  // Samples. -------------------------------------------------------------------------------------------------------------------------

  // All sizes of a kind equal, or each drawn by itself. Then a few sizes deviate, and then the equations of
  // `guards` are applied.
  Assignment propose(const Site& site, const std::vector<Guard>& guards) {
    const ir::Symbols& symbols = site.instance->arena->symbols();
    static constexpr std::int64_t kDimensions[] = {1, 2, 3, 4, 2};
    static constexpr std::int64_t kParameters[] = {0, 1, 2, 1, 3};
    const bool same_dimensions = random(2) == 0;
    const bool same_parameters = random(3) != 0;
    const std::int64_t dimension = kDimensions[1 + random(4)];
    const std::int64_t parameter = kParameters[random(4)];
    Assignment a;
    for (const ir::SymbolId s : site.concrete->symbols()) {
      const bool is_dimension = symbols.info(s).kind == SymbolKind::dimension;
      a.integers[s] =
          is_dimension ? (same_dimensions ? dimension : kDimensions[random(5)]) : (same_parameters ? parameter : kParameters[random(5)]);
    }
    const auto& all = site.concrete->symbols();
    for (std::uint64_t deviations = all.empty() ? 0 : random(4); deviations > 0; --deviations) {
      const ir::SymbolId s = all[random(all.size())];
      a.integers[s] = symbols.info(s).kind == SymbolKind::dimension ? kDimensions[random(5)] : kParameters[random(5)];
    }
    obey(site, guards, a);
    for (const std::string& name : site.concrete->reals()) a.reals[name] = ir::Rational(static_cast<std::int64_t>(random(5)) + 2);
    return a;
  }

  // A failing equation assigns the value of one side to a name on the other side.
  static void obey(const Site& site, const std::vector<Guard>& guards, Assignment& a) {
    for (int round = 0; round < 2; ++round) {
      for (const Guard& g : guards) {
        const Features features = features_of(*site.instance, *site.concrete, a);
        if (g.kind != Guard::Kind::equal || holds(g, features) != std::optional(false)) continue;
        for (std::size_t side = 0; side < 2; ++side) {
          const std::string name = rules::print(g.arguments[side]);
          const auto other = value(g.arguments[1 - side], features);
          const auto s = std::find_if(a.integers.begin(), a.integers.end(),
                                      [&](const auto& entry) { return site.instance->arena->symbols().info(entry.first).name == name; });
          if (s == a.integers.end() || !other) continue;
          s->second = *other;
          break;
        }
      }
    }
  }

  // nullopt if the sides cannot be compared.
  static std::optional<bool> agree(const Site& site, const Assignment& a, std::uint64_t seed) {
    for (const rules::Fact& o : site.instance->obligations)
      if (!site.concrete->holds(o.atom, a).value_or(false)) return false;
    for (std::size_t k = 0; k < site.instance->source.outputs.size(); ++k) {
      const auto source = site.concrete->shape(site.instance->source.outputs[k], a);
      if (!source) return std::nullopt;
      if (site.concrete->shape(site.instance->target.outputs[k], a) != source) return false;
    }
    using Entry = Concrete::Entry;
    for (const Entry kind : {Entry::small, Entry::large, Entry::bits, Entry::edges, Entry::edges, Entry::edges}) {
      if (kind == Entry::edges && !site.concrete->loses_values()) break;
      const auto inputs = site.concrete->draw(a, ++seed, kind);
      if (!inputs) return std::nullopt;
      const auto compared = site.concrete->compare(a, *inputs, kInferenceWork);
      if (compared == Concrete::Agreement::different) return false;
      if (compared != Concrete::Agreement::equal) return std::nullopt;
    }
    return true;
  }

  void add(Sample sample) {
    for (std::size_t c = 0; c < candidates_.size(); ++c) holds_[c].push_back(holds(candidates_[c], sample.features).value_or(true));
    samples_.push_back(std::move(sample));
  }

  // True if a sample was added on which the sides differ.
  bool draw(std::size_t wanted, const std::vector<Guard>& guards) {
    std::size_t added = 0;
    for (std::size_t n = 0; n < wanted * kTries && added < wanted && !is_over(options_.deadline); ++n) {
      const std::size_t k = n % sites_.size();
      const Assignment a = propose(sites_[k], guards);
      if (!satisfies_facts(*sites_[k].instance, *sites_[k].concrete, a)) continue;
      Features features = features_of(*sites_[k].instance, *sites_[k].concrete, a);
      if (std::any_of(guards.begin(), guards.end(), [&](const Guard& g) { return !holds(g, features).value_or(true); })) continue;
      const bool known = std::any_of(samples_.begin(), samples_.end(),
                                     [&](const Sample& s) { return s.instance == k && s.assignment.integers == a.integers; });
      if (known) continue;
      const auto good = agree(sites_[k], a, n);
      if (!good) continue;
      add({k, a, std::move(features), *good});
      ++added;
      // One sample on which the guards fail is enough.
      if (!*good && !guards.empty()) return true;
    }
    return false;
  }

  // The search. ----------------------------------------------------------------------------------------------------------------------

  // Indices of guards among the candidates.
  using Chosen = std::vector<std::size_t>;

  std::vector<Guard> guards_of(const Chosen& chosen) const {
    std::vector<Guard> guards;
    for (const std::size_t c : chosen) guards.push_back(candidates_[c]);
    return guards;
  }

  // True if these guards admit no known size on which the sides differ.
  bool excludes_all_differences(const Chosen& chosen) const {
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      if (samples_[s].good) continue;
      if (std::all_of(chosen.begin(), chosen.end(), [&](std::size_t c) { return holds_[c][s]; })) return false;
    }
    return true;
  }

  // True if the rule is proved with these guards. No proof is tried if a known or a new sample differs.
  bool proves(const Chosen& chosen) {
    if (!excludes_all_differences(chosen) || draw(kMoreSamples, guards_of(chosen))) return false;
    return decide_with(guards_of(chosen)).verdict == Verdict::proved;
  }

  // Selects, one by one, guards that exclude all sizes on which the sides differ and as few others as
  // possible. False if there are none.
  bool choose(Chosen& chosen) {
    chosen.clear();
    std::vector<std::size_t> good;
    std::vector<std::size_t> bad;
    for (std::size_t s = 0; s < samples_.size(); ++s) (samples_[s].good ? good : bad).push_back(s);
    while (!bad.empty()) {
      std::optional<std::size_t> best;
      double best_score = 0;
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        if (banned_[c]) continue;
        const auto count = [&](const std::vector<std::size_t>& of) {
          return static_cast<double>(std::count_if(of.begin(), of.end(), [&](std::size_t s) { return !holds_[c][s]; }));
        };
        const double score = count(bad) / (1 + 4 * count(good));
        if (score <= best_score) continue;
        best = c;
        best_score = score;
      }
      if (!best) return false;
      chosen.push_back(*best);
      std::erase_if(good, [&](std::size_t s) { return !holds_[*best][s]; });
      std::erase_if(bad, [&](std::size_t s) { return !holds_[*best][s]; });
    }
    return true;
  }

  // Sets open_ unless guards were found that exclude all known differences but do not suffice.
  bool find(Chosen& chosen) {
    int draws = 0;
    bool any = false;
    for (int round = 0; round < kRounds && draws < kGuardDraws;) {
      if (time_is_up()) return false;
      if (!choose(chosen)) {
        if (!any) open_ = "no guards of the vocabulary exclude all sizes on which the sides differ";
        return false;
      }
      const std::vector<Guard> guards = guards_of(chosen);
      ++draws;
      if (draw(kMoreSamples, guards)) continue;
      ++round;
      const RuleDecision d = decide_with(guards);
      if (d.verdict == Verdict::proved) return true;
      if (time_is_up()) return false;
      any = true;
      if (add_counterexample(guards, d)) continue;
      // No sizes contradict these guards, but the rule is not proved: the guard that excludes least is not
      // tried again.
      if (chosen.empty()) return false;
      banned_[chosen.back()] = true;
    }
    return false;
  }

  bool time_is_up() {
    if (!is_over(options_.deadline)) return false;
    open_ = kTimeIsUp;
    return true;
  }

  // Adds the counterexample of a decision as a sample. Names that the guards determine are computed.
  bool add_counterexample(const std::vector<Guard>& guards, const RuleDecision& d) {
    if (!d.decision.counterexample) return false;
    const Counterexample& c = *d.decision.counterexample;
    for (std::size_t k = 0; k < sites_.size(); ++k) {
      const Site& site = sites_[k];
      if (site.instance->choice != c.choice) continue;
      Assignment a;
      for (const ir::SymbolId s : site.concrete->symbols()) a.integers[s] = 1;
      for (const std::string& name : site.concrete->reals()) a.reals[name] = ir::Rational(2);
      for (auto& [s, v] : a.integers)
        for (const auto& [name, given] : c.integers)
          if (site.instance->arena->symbols().info(s).name == name) v = given;
      obey(site, guards, a);
      if (!satisfies_facts(*site.instance, *site.concrete, a)) continue;
      Features features = features_of(*site.instance, *site.concrete, a);
      if (agree(site, a, samples_.size()).value_or(true)) continue;
      add({k, a, std::move(features), false});
      return true;
    }
    return false;
  }

  // Drops guards that are not needed, starting with the last.
  void minimise(Chosen& chosen) {
    for (std::size_t k = chosen.size(); k-- > 0;) {
      Chosen fewer = chosen;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      if (proves(fewer)) chosen = std::move(fewer);
    }
  }

  // Replaces guards by weaker ones, as far as the samples show: they hold wherever the guard holds, and on
  // more sizes.
  void weaken(Chosen& chosen) {
    for (std::size_t& guard : chosen) {
      std::vector<std::pair<std::size_t, std::size_t>> weaker;  // number of additional sizes, candidate
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        bool implied = true;
        std::size_t more = 0;
        for (std::size_t s = 0; s < samples_.size(); ++s) {
          implied = implied && (holds_[c][s] || !holds_[guard][s]);
          if (holds_[c][s] && !holds_[guard][s]) ++more;
        }
        if (implied && more > 0) weaker.emplace_back(more, c);
      }
      std::stable_sort(weaker.begin(), weaker.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
      const std::size_t before = guard;
      std::size_t result = before;
      std::size_t tried = 0;
      for (const auto& [more, candidate] : weaker) {
        guard = candidate;
        if (!excludes_all_differences(chosen)) continue;
        if (++tried > kWeaker) break;
        if (!proves(chosen)) continue;
        result = candidate;
        break;
      }
      guard = result;
    }
  }

  std::vector<Guard> join(const std::vector<Guard>& guards) {
    std::vector<Guard> fewer = joined(guards, rule_, *sites_.front().instance);
    return decide_with(fewer).verdict == Verdict::proved ? fewer : guards;
  }

  std::optional<Counterexample> without(const std::vector<Guard>& guards, std::size_t k) {
    std::vector<Guard> fewer = guards;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
    return decide_with(fewer, true).decision.counterexample;
  }

  const rules::Rule& rule_;
  std::vector<Guard> kept_;
  Options options_;
  std::vector<Site> sites_;
  std::vector<Guard> candidates_;
  std::vector<Sample> samples_;
  std::vector<std::vector<bool>> holds_;  // [candidate][sample]
  std::vector<bool> banned_;
  std::string open_;
  std::uint64_t state_ = 1;
  std::uint64_t decisions_ = 0;
};

}  // namespace

namespace {

// in_range(i, 0, N) for each integer variable without such a guard and each named dimension.
std::vector<Guard> ranges_of_elements(const rules::Rule& rule, const rules::RuleInstance& instance) {
  std::vector<Guard> guards;
  for (std::size_t k = 0; k < instance.variables.size(); ++k) {
    const std::string& name = instance.variable_names[k];
    const bool known = std::any_of(rule.guards.begin(), rule.guards.end(),
                                   [&](const Guard& g) { return g.kind == Guard::Kind::is_in_range && g.value == name; });
    if (known || !ir::is_integer(instance.arena->type(instance.variables[k]).data_type)) continue;
    for (const auto& [dimension, kind] : rule.names) {
      if (kind != rules::NameKind::dimension) continue;
      Guard g;
      g.kind = Guard::Kind::is_in_range;
      g.value = name;
      g.arguments.resize(2);
      g.arguments[0].number = ir::Real(0);
      g.arguments[1].kind = rules::Expression::Kind::name;
      g.arguments[1].name = dimension;
      guards.push_back(std::move(g));
    }
  }
  return guards;
}

Result<Inference> search(const rules::Rule& rule, const std::vector<Guard>& kept, const std::vector<Guard>& dropped,
                         const Options& options) {
  XFLOW_TRY(const rules::Rule bare, with_guards(rule, kept));
  auto sampled = sampled_instances(bare, kInstances, kMostSampled, [&] { return is_over(options.deadline); });
  if (!sampled && is_over(options.deadline)) {
    Inference ended;
    ended.kept = kept;
    ended.open = kTimeIsUp;
    return ended;
  }
  XFLOW_TRY(std::vector<rules::RuleInstance> instances, std::move(sampled));
  return Search(bare, instances, kept, options).run(dropped);
}

// The verdict of a rule for which no guards are found.
std::string verdict_of(const rules::Rule& rule, const Options& options) {
  const RuleDecision d = decide(rule, options);
  if (d.verdict == Verdict::proved) return "proved with its own guards, but no others were found";
  return d.verdict == Verdict::timeout ? kTimeIsUp : d.explanation();
}

}  // namespace

Result<Inference> infer_guards(const rules::Rule& rule, const Options& given) {
  const Options options = given.started();
  std::vector<Guard> kept;
  std::vector<Guard> dropped;
  for (const Guard& g : rule.guards) (g.value.empty() && !is_about_ranks(g) ? dropped : kept).push_back(g);
  XFLOW_TRY(Inference found, search(rule, kept, dropped, options));
  if (found.proved) return found;
  std::vector<Guard> ranges;
  const auto look = [&](const rules::RuleInstance& instance) {
    ranges = ranges_of_elements(rule, instance);
    return false;
  };
  const auto looked = rules::for_each_instance(rule, look, [&] { return is_over(options.deadline); });
  if (!looked && is_over(options.deadline)) return found;
  XFLOW_CHECK(looked);
  for (const Guard& range : ranges) {
    if (is_over(options.deadline)) return found;
    std::vector<Guard> more = kept;
    more.push_back(range);
    const auto other = search(rule, more, dropped, options);
    if (!other || !other->proved) continue;
    found = *other;
    found.kept = kept;
    std::vector<Guard> without = kept;
    for (const InferredGuard& g : found.guards) without.push_back(g.guard);
    XFLOW_TRY(const rules::Rule weaker, with_guards(rule, without));
    found.guards.insert(found.guards.begin(), {range, decide(weaker, options).decision.counterexample});
    return found;
  }
  if (found.open.empty()) found.open = verdict_of(rule, options);
  return found;
}

std::string to_string(const Inference& inference) {
  if (!inference.proved) return fmt::format("{}\n", inference.open);
  std::string text = inference.guards.empty() ? "proved without guards\n" : "proved where\n";
  for (const InferredGuard& g : inference.guards) {
    text += fmt::format("  {}\n", rules::print(g.guard));
    text += g.without ? fmt::format("    without it: {}\n", g.without->summary())
                      : std::string("    without it the rule is not proved, but no counterexample was found\n");
  }
  return text;
}

}  // namespace xflow::verifier
