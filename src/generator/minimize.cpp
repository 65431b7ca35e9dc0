#include "src/generator/minimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>

#include "src/generator/rule_writer.h"
#include "src/generator/shapes.h"
#include "src/verifier/assumptions.h"
#include "src/verifier/infer.h"
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

int weight_of(const Universe& universe, const Sketch& sketch) {
  int weight = 0;
  for (const SketchNode& n : sketch.nodes) weight += universe.choice(n.choice).weight;
  return weight;
}

// Whether a rule can lead from `source` to `target`: from operations to what reads no other input.
bool is_source(const Universe& universe, const Sketch& source, const Sketch& target) {
  if (source.nodes.empty()) return false;
  const std::set<std::uint8_t> known = inputs_of(universe, source);
  const std::set<std::uint8_t> read = inputs_of(universe, target);
  return std::includes(known.begin(), known.end(), read.begin(), read.end());
}

// Operations that are not defined, or not finite, for all finite numbers.
std::multiset<std::string_view> partial(const Universe& universe, const Sketch& sketch) {
  std::multiset<std::string_view> found;
  for (const SketchNode& n : sketch.nodes) {
    const std::string& word = universe.choice(n.choice).word;
    const bool by_number = n.operands.back() >= universe.inputs() && n.operands.back() < universe.leaves().size();
    if ((word == "div" && !by_number) || word == "reciprocal") found.insert("division");
    if (word == "exp" || word == "sqrt") found.insert(word);
  }
  return found;
}

// Whether a rule changes what is divided or the range of exponentials: a search applies it to constants alone, or where it is asked to.
bool changes_partial(const Universe& universe, const Candidate& c) { return partial(universe, c.source) != partial(universe, c.target); }

// Whether such rules may derive a candidate: it has such operations, or drops an input. What has none of them is there for everybody.
// Quotients that both sides have could be left to rules of their kind too, but without x / x = 1 there is no end of laws of fractions.
bool may_change_partial(const Universe& universe, const Candidate& c) {
  return !partial(universe, c.source).empty() || !partial(universe, c.target).empty() ||
         inputs_of(universe, c.source) != inputs_of(universe, c.target);
}

// How many operands are constants.
std::size_t constants(const Universe& universe, const Candidate& c) {
  std::size_t count = 0;
  for (const Sketch* side : {&c.source, &c.target})
    for (const SketchNode& n : side->nodes)
      for (const std::uint8_t o : n.operands) count += o >= universe.inputs() && o < universe.leaves().size() ? 1 : 0;
  return count;
}

// Whether all outputs read some value in common: otherwise a matcher would have to try all pairs of operations in a model.
bool is_connected(const Universe& universe, const Sketch& sketch) {
  std::vector<std::set<std::uint8_t>> below(universe.leaves().size());
  for (std::size_t k = 0; k < universe.inputs(); ++k) below[k].insert(static_cast<std::uint8_t>(k));
  for (const SketchNode& n : sketch.nodes) {
    std::set<std::uint8_t> all;
    for (const std::uint8_t o : n.operands) all.insert(below[o].begin(), below[o].end());
    for (std::size_t k = 0; k < universe.choice(n.choice).outputs; ++k) below.push_back(all);
  }
  std::set<std::uint8_t> common = below[sketch.outputs[0]];
  for (const std::uint8_t o : sketch.outputs) std::erase_if(common, [&](std::uint8_t v) { return !below[o].contains(v); });
  return !common.empty();
}

// Whether some operation is part of every output.
bool computes_together(const Universe& universe, const Sketch& sketch) {
  std::vector<std::set<std::uint8_t>> values(universe.leaves().size());  // of each value the first values of the operations below it
  std::size_t value = universe.leaves().size();
  for (const SketchNode& n : sketch.nodes) {
    std::set<std::uint8_t> below = {static_cast<std::uint8_t>(value)};
    for (const std::uint8_t o : n.operands) below.insert(values[o].begin(), values[o].end());
    for (std::size_t k = 0; k < universe.choice(n.choice).outputs; ++k) values.push_back(below);
    value += universe.choice(n.choice).outputs;
  }
  std::set<std::uint8_t> common = values[sketch.outputs[0]];
  for (const std::uint8_t o : sketch.outputs) std::erase_if(common, [&](std::uint8_t v) { return !values[o].contains(v); });
  return !common.empty();
}

}  // namespace

std::vector<Candidate> RuleCollector::in_order(const Universe& universe, std::vector<Candidate> candidates) {
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, int, std::size_t, Candidate>;
  std::vector<Key> order;
  for (Candidate& c : candidates) {
    const Rank source = rank_of(universe, c.source);
    const Rank target = rank_of(universe, c.target);
    const std::size_t most = std::max(source.operators, target.operators);
    const std::size_t reads = repeated(universe, c);
    if (source.weight < target.weight) std::swap(c.source, c.target);
    const std::size_t numbers = constants(universe, c);
    order.emplace_back(most, c.source.outputs.size(), reads, source.weight + target.weight, numbers, std::move(c));
  }
  std::sort(order.begin(), order.end());
  std::vector<Candidate> result;
  result.reserve(order.size());
  for (Key& key : order) result.push_back(std::move(std::get<Candidate>(key)));
  return result;
}

void RuleCollector::collect(const Universe& universe, std::size_t universe_number, std::span<const Candidate> candidates) {
  for (const Candidate& c : candidates) {
    ++counts_.candidates;
    const bool pair = c.source.outputs.size() > 1;
    if (pair && !(weight_of(universe, c.source) > weight_of(universe, c.target) && computes_together(universe, c.target) &&
                  is_connected(universe, c.source))) {
      ++counts_.no_gain;
      continue;
    }
    FlatEquation equation = GeneralShapes(universe, c).concrete(deriver_.vocabulary());
    const bool special = may_change_partial(universe, c);
    if (derives(equation, pair, special)) {
      ++counts_.derived;
      continue;
    }
    if (!open_.empty() && !pair) {
      for (const Open& o : open_) deriver_.enable(o.number, true);
      const bool follows = derives(equation, pair, special);
      for (const Open& o : open_) deriver_.enable(o.number, false);
      if (follows) {
        ++counts_.follow_from_unproved;
        continue;
      }
    }
    keep(universe, universe_number, c, std::move(equation));
  }
}

void RuleCollector::begin_again() { counts_.candidates = counts_.derived = counts_.no_gain = counts_.follow_from_unproved = 0; }

void RuleCollector::unproved(const Universe& universe, const Candidate& candidate, verifier::Verdict verdict, const std::string& text) {
  ++counts_.verdicts[verdict];
  constexpr std::size_t kSample = 200;
  if (unproved_.size() < kSample)
    unproved_.push_back(fmt::format("{}: {} = {}\n{}", verifier::name(verdict), to_string(universe, candidate.source),
                                    to_string(universe, candidate.target), text));
}

void RuleCollector::keep(const Universe& universe, std::size_t universe_number, const Candidate& candidate, FlatEquation equation) {
  const std::string base = name_of(universe, candidate);
  const int number = ++names_[base];
  const std::string name = number == 1 ? base : fmt::format("{}-{}", base, number);
  verifier::Verdict best = verifier::Verdict::ill_typed;
  std::string text;
  std::optional<rules::Rule> open;  // the last form that was neither proved nor refuted
  const Candidate reversed{candidate.target, candidate.source};
  std::string unwritten;
  bool written = false;
  for (const Candidate* direction : {&candidate, &reversed}) {
    if (direction == &reversed && candidate.source.outputs.size() > 1) break;
    if (!is_source(universe, direction->source, direction->target)) continue;
    const std::vector<WrittenRule> small = write_rule(universe, *direction, name, true, &unwritten);
    const std::vector<WrittenRule> full = write_rule(universe, *direction, name);
    for (std::size_t variant = 0; variant < small.size(); ++variant) {
      written = true;
      const std::string& shown = full[variant].text;
      // What is true for some sizes alone is looked at with such sizes.
      if (!full[variant].equal.empty()) {
        equation = GeneralShapes(universe, candidate, full[variant].equal).concrete(deriver_.vocabulary());
        if (derives(equation, direction->source.outputs.size() > 1, may_change_partial(universe, candidate))) {
          ++counts_.derived;
          return;
        }
      }
      const auto parsed = rules::parse_rules(small[variant].text, "generated");
      auto rule = rules::parse_rules(shown, "generated");
      if (!parsed || !rule) {
        if (text.empty()) text = shown + (parsed ? rule : parsed).error().text();
        continue;
      }
      verifier::RuleDecision decision = verifier::decide(parsed->front(), options_);
      if (decision.verdict == verifier::Verdict::unknown) {
        // Where a divisor is no 0. Guards on signs make rules of what the numbers of a fingerprint have in common by accident.
        const auto lacking = verifier::missing_value_guards(parsed->front(), options_);
        const bool divisors =
            std::all_of(lacking.begin(), lacking.end(), [](const rules::Guard& g) { return g.kind == rules::Guard::Kind::is_nonzero; });
        if (!lacking.empty() && divisors) {
          std::vector<rules::Guard> guards = rule->front().guards;
          guards.insert(guards.end(), lacking.begin(), lacking.end());
          if (auto guarded = verifier::with_guards(rule->front(), std::move(guards))) {
            rule->front() = *std::move(guarded);
            decision.verdict = verifier::Verdict::proved;
          }
        }
      }
      if (decision.verdict != verifier::Verdict::proved) {
        if (text.empty() || decision.verdict == verifier::Verdict::refuted) text = shown + decision.explanation();
        if (best != verifier::Verdict::refuted) best = decision.verdict;
        if (decision.verdict == verifier::Verdict::unknown) open = std::move(rule->front());
        continue;
      }
      const auto added = deriver_.add(rule->front());
      if (!added) {
        text = shown + added.error().text();
        continue;
      }
      // What it was made from must follow from it.
      if (!derives(equation, direction->source.outputs.size() > 1, true)) {
        deriver_.enable(*added, false);
        text = shown + "does not derive what it was found in";
        best = verifier::Verdict::unknown;
        continue;
      }
      deriver_.set_special(*added, changes_partial(universe, candidate));
      KeptRule kept;
      kept.universe = universe_number;
      kept.candidate = *direction;
      kept.name = name;
      kept.variant = variant;
      kept.rule = std::move(rule->front());
      kept.equation = std::move(equation);
      kept.equal = full[variant].equal;
      kept.special = may_change_partial(universe, candidate);
      kept.number = *added;
      kept.pair = direction->source.outputs.size() > 1;
      kept_.push_back(std::move(kept));
      ++counts_.kept;
      return;
    }
  }
  if (open && candidate.source.outputs.size() == 1) {
    // What follows from it is not looked at one by one.
    if (const auto added = deriver_.add(*open)) {
      deriver_.enable(*added, false);
      open_.push_back({*added, rules::print(*open)});
    }
  }
  if (!written)
    text = fmt::format("no form of it can be written: {}\n", unwritten.empty() ? "each side has an input of its own" : unwritten);
  unproved(universe, candidate, best, text);
}

bool RuleCollector::derives(const FlatEquation& equation, bool pair, bool special) {
  deriver_.use_special(special);
  return deriver_.derive(equation, limits_, false, pair).derived;
}

bool RuleCollector::prove(const std::function<const Universe&(const KeptRule&)>& universe_of) {
  bool same = true;
  for (KeptRule& k : kept_) {
    if (!k.needed || k.proved) continue;
    const Universe& universe = universe_of(k);
    const std::vector<WrittenRule> texts = write_rule(universe, k.candidate, k.name);
    verifier::Verdict verdict = verifier::Verdict::unknown;
    std::string why;
    for (std::size_t variant = k.variant; variant < texts.size() && !k.proved; ++variant) {
      auto parsed = rules::parse_rules(texts[variant].text, "generated");
      if (!parsed) continue;
      rules::Rule rule = std::move(parsed->front());
      if (variant == k.variant) rule = k.rule;  // with the guards on values that were found
      const verifier::RuleDecision decision = verifier::decide(rule, options_);
      if (decision.verdict != verifier::Verdict::proved) {
        verdict = decision.verdict;
        why = texts[variant].text + decision.explanation();
        continue;
      }
      // Guards without which it holds as well are left out.
      if (auto shorter = verifier::with_guards(rule, verifier::needed_guards(rule, options_))) rule = *std::move(shorter);
      const auto added = deriver_.add(rule);
      if (!added) continue;
      deriver_.set_special(*added, changes_partial(universe, k.candidate));
      same = same && variant == k.variant;
      deriver_.enable(k.number, false);
      k.number = *added;
      k.variant = variant;
      if (k.equal != texts[variant].equal) {
        k.equal = texts[variant].equal;
        k.equation = GeneralShapes(universe, k.candidate, k.equal).concrete(deriver_.vocabulary());
      }
      k.rule = std::move(rule);
      k.proved = true;
      ++counts_.verdicts[verifier::Verdict::proved];
    }
    if (k.proved) continue;
    k.needed = false;
    deriver_.enable(k.number, false);
    unproved(universe, k.candidate, verdict, why);
    same = false;
  }
  return same;
}

void RuleCollector::direct(const std::function<const Universe&(const KeptRule&)>& universe_of) {
  for (KeptRule& k : kept_) {
    if (!k.needed || !k.proved) continue;
    const Universe& universe = universe_of(k);
    k.gain = gain_of(universe, k.candidate);
    if (!k.gain.backwards || k.pair) continue;
    const Candidate reversed{k.candidate.target, k.candidate.source};
    for (const WrittenRule& written : write_rule(universe, reversed, k.name + "-back")) {
      // The other way round it holds for the same sizes.
      if (!written.equal.empty() && k.equal.empty()) break;
      auto parsed = rules::parse_rules(written.text, "generated");
      if (!parsed) continue;
      rules::Rule rule = std::move(parsed->front());
      if (verifier::decide(rule, options_).verdict != verifier::Verdict::proved) continue;
      if (auto shorter = verifier::with_guards(rule, verifier::needed_guards(rule, options_))) rule = *std::move(shorter);
      k.back = std::move(rule);
      break;
    }
  }
}

void RuleCollector::eliminate() {
  for (std::size_t k = kept_.size(); k-- > 0;) {
    if (!kept_[k].needed) continue;
    deriver_.enable(kept_[k].number, false);
    if (derives(kept_[k].equation, kept_[k].pair, kept_[k].special)) {
      kept_[k].needed = false;
      ++counts_.eliminated;
    } else {
      deriver_.enable(kept_[k].number, true);
    }
  }
}

namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Sketch& sketch) {
  ordered_json nodes = ordered_json::array();
  for (const SketchNode& n : sketch.nodes) {
    ordered_json node = {static_cast<int>(n.choice)};
    for (const std::uint8_t o : n.operands) node.push_back(o);
    nodes.push_back(std::move(node));
  }
  return {{"nodes", std::move(nodes)}, {"outputs", sketch.outputs}};
}

Sketch sketch_of(const ordered_json& json) {
  Sketch sketch;
  for (const ordered_json& n : json.at("nodes")) {
    SketchNode node;
    node.choice = static_cast<ChoiceId>(n.at(0).get<int>());
    for (std::size_t k = 1; k < n.size(); ++k) node.operands.push_back(n.at(k).get<std::uint8_t>());
    sketch.nodes.push_back(std::move(node));
  }
  sketch.outputs = json.at("outputs").get<std::vector<std::uint8_t>>();
  return sketch;
}

Result<rules::Rule> one_rule(const std::string& text) {
  XFLOW_TRY(std::vector<rules::Rule> parsed, rules::parse_rules(text, "generated"));
  if (parsed.size() != 1) return fail(ErrorCode::unreadable, "expected one rule");
  return std::move(parsed.front());
}

}  // namespace

std::string RuleCollector::save() const {
  ordered_json json;
  json["counts"] = {counts_.candidates, counts_.derived, counts_.no_gain, counts_.follow_from_unproved, counts_.kept};
  json["verdicts"] = ordered_json::array();
  for (const auto& [verdict, count] : counts_.verdicts) json["verdicts"].push_back({static_cast<int>(verdict), count});
  json["names"] = names_;
  json["unproved"] = unproved_;
  // In the order in which the deriver got them.
  json["rules"] = ordered_json::array();
  std::size_t next_open = 0;
  const auto add_open = [&](std::size_t before) {
    for (; next_open < open_.size() && open_[next_open].number < before; ++next_open)
      json["rules"].push_back({{"open", open_[next_open].text}});
  };
  for (const KeptRule& k : kept_) {
    add_open(k.number);
    json["rules"].push_back({{"text", rules::print(k.rule)},
                             {"name", k.name},
                             {"universe", k.universe},
                             {"variant", k.variant},
                             {"equal", k.equal},
                             {"source", to_json(k.candidate.source)},
                             {"target", to_json(k.candidate.target)}});
  }
  add_open(SIZE_MAX);
  return json.dump();
}

Result<void> RuleCollector::restore(const std::string& saved, std::span<const Universe> universes) {
  // A file that is whole was written by save(); exceptions of the library are for what is not.
  try {
    const ordered_json json = ordered_json::parse(saved);
    std::size_t at = 0;
    for (std::uint64_t* count : {&counts_.candidates, &counts_.derived, &counts_.no_gain, &counts_.follow_from_unproved, &counts_.kept})
      *count = json.at("counts").at(at++).get<std::uint64_t>();
    for (const ordered_json& v : json.at("verdicts"))
      counts_.verdicts[static_cast<verifier::Verdict>(v.at(0).get<int>())] = v.at(1).get<std::uint64_t>();
    names_ = json.at("names").get<std::map<std::string, int>>();
    unproved_ = json.at("unproved").get<std::vector<std::string>>();
    for (const ordered_json& r : json.at("rules")) {
      if (r.contains("open")) {
        XFLOW_TRY(const rules::Rule rule, one_rule(r.at("open").get<std::string>()));
        XFLOW_TRY(const std::size_t number, deriver_.add(rule));
        deriver_.enable(number, false);
        open_.push_back({number, r.at("open").get<std::string>()});
        continue;
      }
      KeptRule k;
      k.universe = r.at("universe").get<std::size_t>();
      k.candidate = {sketch_of(r.at("source")), sketch_of(r.at("target"))};
      k.name = r.at("name").get<std::string>();
      k.variant = r.at("variant").get<std::size_t>();
      XFLOW_TRY(k.rule, one_rule(r.at("text").get<std::string>()));
      XFLOW_TRY(k.number, deriver_.add(k.rule));
      k.equal = r.at("equal").get<EqualUnknowns>();
      k.equation = GeneralShapes(universes[k.universe], k.candidate, k.equal).concrete(deriver_.vocabulary());
      deriver_.set_special(k.number, changes_partial(universes[k.universe], k.candidate));
      k.pair = k.candidate.source.outputs.size() > 1;
      k.special = may_change_partial(universes[k.universe], k.candidate);
      kept_.push_back(std::move(k));
    }
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::unreadable, fmt::format("not what a job leaves: {}", e.what()));
  }
  return {};
}

}  // namespace xflow::generator
