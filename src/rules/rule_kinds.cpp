#include "src/rules/rule_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "src/ops/operator.h"
#include "src/rules/build.h"
#include "src/rules/float_class.h"

namespace xflow::rules {
namespace {

// The properties that find_kinds() computes over all terms of one side.
struct Census {
  bool pointwise = true;   // every operator is pointwise, without list operands
  bool moves_data = true;  // every operator moves data
  bool literals = false;
};

void take_census(const Term& term, Census& census) {
  if (term.kind == Term::Kind::list) census.pointwise = false;
  if (term.kind == Term::Kind::literal) census.literals = true;
  if (term.kind != Term::Kind::application) return;
  const ops::Signature& signature = *find_signature(term.name);
  census.pointwise = census.pointwise && signature.pointwise;
  census.moves_data = census.moves_data && signature.moves_data;
  for (const Term& operand : term.operands) take_census(operand, census);
}

std::uint64_t fnv1a(std::string_view text, std::uint64_t basis) {
  std::uint64_t hash = basis;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash ^ (hash >> 29);
}

// A rule may claim the class rounding where xflow cannot bound its error or cannot compare all elements, but
// not where it changes more than that.
Result<void> accept_claim(Rule& rule) {
  if (!rule.claims_rounding || rule.float_class != FloatClass::special) return {};
  constexpr std::array<std::string_view, 4> kBounds = {"computes with ", "re-associates", "can cancel", "has too many cases to compare"};
  for (const std::string& effect : rule.number_effects) {
    if (std::ranges::any_of(kBounds, [&](std::string_view b) { return effect.starts_with(b); })) continue;
    return fail(ErrorCode::ill_typed, fmt::format("the rule says 'numbers rounding', but {}", effect), place_text(rule.file, rule.place));
  }
  rule.float_class = FloatClass::rounding;
  rule.number_effects.insert(rule.number_effects.begin(), "claimed by the rule");
  return {};
}

}  // namespace

void find_kinds(Rule& rule) {
  Census source;
  Census target;
  for (const Statement& statement : rule.source) take_census(statement.term, source);
  for (const Statement& statement : rule.target) take_census(statement.term, target);
  const bool shapes = std::any_of(rule.names.begin(), rule.names.end(),
                                  [](const auto& n) { return n.second == NameKind::dimension || n.second == NameKind::sequence; });
  bool relations = false;
  for (const Guard& guard : rule.guards) relations = relations || guard.value.empty();
  rule.pointwise = source.pointwise && target.pointwise && !shapes && !relations && rule.declarations.empty();
  rule.moves_data = source.moves_data && target.moves_data && !source.literals && !target.literals;
  Rule bare = rule;
  bare.comment.clear();
  const std::string text = print(bare);
  rule.hash.words = {fnv1a(text, 0xCBF29CE484222325ULL), fnv1a(text, 0x9AE16A3B2F90404FULL)};
}

Result<void> find_float_class(Rule& rule, std::span<const ClassifiedRule> classified) {
  const auto known = std::ranges::lower_bound(classified, rule.hash, {}, &ClassifiedRule::rule);
  if (known == classified.end() || known->rule != rule.hash) {
    NumberClass numbers = classify(rule);
    rule.float_class = numbers.float_class;
    rule.number_effects = std::move(numbers.effects);
    return accept_claim(rule);
  }
  rule.float_class = known->float_class;
  rule.number_effects.clear();
  std::string_view rest = known->number_effects;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    rule.number_effects.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace xflow::rules
