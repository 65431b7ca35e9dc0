#include "src/generator/minimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "src/generator/rule_writer.h"
#include "src/generator/shapes.h"
#include "src/verifier/assumptions.h"
#include "src/verifier/prove_rules.h"

namespace xflow::generator {
namespace {

// How often inputs are read beyond the first time, on the side with fewer such reads.
std::size_t repeated(const Universe& universe, const Candidate& c) {
  std::size_t least = SIZE_MAX;
  for (const Sketch* side : {&c.source, &c.target}) {
    std::size_t reads = 0;
    std::set<std::uint8_t> inputs;
    for (const SketchNode& n : side->nodes) {
      for (const std::uint8_t o : n.operands) {
        if (o >= universe.inputs()) continue;
        ++reads;
        inputs.insert(o);
      }
    }
    least = std::min(least, reads - inputs.size());
  }
  return least;
}

}  // namespace

Result<void> RuleCollector::add(const rules::Rule& rule) {
  XFLOW_CHECK(deriver_.add(rule));
  return {};
}

void RuleCollector::collect(const Universe& universe, std::vector<Candidate> candidates) {
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, int, Candidate>;
  std::vector<Key> order;
  for (Candidate& c : candidates) {
    const Rank source = rank_of(universe, c.source);
    const Rank target = rank_of(universe, c.target);
    const std::size_t most = std::max(source.operators, target.operators);
    const std::size_t reads = repeated(universe, c);
    // Towards what costs less.
    if (source.weight < target.weight) std::swap(c.source, c.target);
    order.emplace_back(most, c.source.outputs.size(), reads, source.weight + target.weight, std::move(c));
  }
  std::sort(order.begin(), order.end());
  for (Key& key : order) {
    const Candidate& c = std::get<Candidate>(key);
    ++counts_.candidates;
    FlatEquation equation = GeneralShapes(universe, c).concrete(deriver_.vocabulary());
    if (deriver_.derive(equation, limits_).derived) {
      ++counts_.derived;
      continue;
    }
    keep(universe, c, std::move(equation));
  }
}

void RuleCollector::keep(const Universe& universe, const Candidate& candidate, FlatEquation equation) {
  const std::string base = name_of(universe, candidate);
  const int number = ++names_[base];
  const std::string name = number == 1 ? base : fmt::format("{}-{}", base, number);
  verifier::Verdict best = verifier::Verdict::ill_typed;
  std::string text;
  const Candidate reversed{candidate.target, candidate.source};
  for (const Candidate* direction : {&candidate, &reversed}) {
    for (const std::string& variant : write_rule(universe, *direction, name)) {
      auto parsed = rules::parse_rules(variant, "generated");
      if (!parsed || parsed->size() != 1) {
        if (text.empty()) text = variant + (parsed ? "" : parsed.error().text());
        continue;
      }
      rules::Rule rule = std::move(parsed->front());
      const verifier::RuleDecision decision = verifier::decide(rule, options_);
      if (decision.verdict != verifier::Verdict::proved) {
        if (text.empty() || decision.verdict == verifier::Verdict::refuted) text = variant + decision.explanation();
        if (best != verifier::Verdict::refuted) best = decision.verdict;
        continue;
      }
      // Guards without which it holds as well are left out.
      if (auto shorter = verifier::with_guards(rule, verifier::needed_guards(rule, options_)); shorter) rule = *std::move(shorter);
      const auto added = deriver_.add(rule);
      if (!added) {
        text = variant + added.error().text();
        continue;
      }
      // What it was made from must follow from it.
      if (!deriver_.derive(equation, limits_).derived) {
        deriver_.enable(*added, false);
        text = variant + "does not derive what it was found in";
        best = verifier::Verdict::unknown;
        continue;
      }
      kept_.push_back({std::move(rule), std::move(equation), *added, true});
      ++counts_.kept;
      ++counts_.verdicts[verifier::Verdict::proved];
      return;
    }
  }
  ++counts_.verdicts[best];
  constexpr std::size_t kSample = 200;
  if (unproved_.size() < kSample)
    unproved_.push_back(fmt::format("{}: {} = {}\n{}", verifier::name(best), to_string(universe, candidate.source),
                                    to_string(universe, candidate.target), text));
}

void RuleCollector::eliminate() {
  for (std::size_t k = kept_.size(); k-- > 0;) {
    if (!kept_[k].needed) continue;
    deriver_.enable(kept_[k].number, false);
    if (deriver_.derive(kept_[k].equation, limits_).derived) {
      kept_[k].needed = false;
      ++counts_.eliminated;
    } else {
      deriver_.enable(kept_[k].number, true);
    }
  }
}

}  // namespace xflow::generator
