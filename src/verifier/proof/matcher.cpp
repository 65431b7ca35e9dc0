#include "src/verifier/proof/matcher.h"

#include <algorithm>
#include <map>

#include "src/verifier/faults.h"
#include "src/verifier/proof/alignment.h"
#include "src/verifier/proof/demands.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ir::Symbols;

namespace {

constexpr std::size_t kPairings = 48;
constexpr std::size_t kSolutions = 24;
constexpr std::size_t kAlternatives = 6;
constexpr std::size_t kCombinations = 64;
constexpr int kMatchDepth = 12;

}  // namespace

Matcher::Matcher(Normalizer& normalizer, Checker& checker, Scalar scalar)
    : normalizer_(normalizer), checker_(checker), scalar_(std::move(scalar)) {}

std::optional<Certificate> Matcher::zero(const std::vector<NormalTerm>& terms, const Condition& context, std::vector<std::size_t>* left) {
  std::vector<std::size_t> open;
  if (auto certificate = zero_by_alignment(terms, context, &open)) return certificate;
  // The terms that remain after alignment may be 0 by arithmetic on values; if not, perhaps all terms
  // together.
  Certificate certificate;
  std::vector<std::size_t> all;
  all.reserve(terms.size());
  for (std::size_t k = 0; k < terms.size(); ++k) all.push_back(k);
  for (const bool whole : {false, true}) {
    if (whole && open.size() == terms.size()) break;
    const std::vector<std::size_t>& chosen = whole ? all : open;
    std::vector<NormalTerm> rest;
    rest.reserve(chosen.size());
    for (const std::size_t k : chosen) rest.push_back(terms[k]);
    auto components = broken(Fault::matcher_without_arithmetic) ? std::nullopt : scalar_(rest, context);
    if (!components) continue;
    if (!whole) {
      std::vector<NormalTerm> matched;
      std::vector<std::size_t> numbers;
      for (const std::size_t k : all) {
        if (std::find(open.begin(), open.end(), k) != open.end()) continue;
        matched.push_back(terms[k]);
        numbers.push_back(k);
      }
      auto found = zero_by_alignment(matched, context);
      if (!found) continue;
      certificate = *std::move(found);
      for (Cluster& c : certificate.clusters)
        for (Member& m : c.members) m.term = broken(Fault::matcher_terms_keep_numbers) ? m.term : numbers[m.term];
    }
    certificate.arithmetic = {chosen, *std::move(components)};
    return certificate;
  }
  if (left != nullptr) *left = std::move(open);
  return std::nullopt;
}

std::optional<Certificate> Matcher::zero_by_alignment(const std::vector<NormalTerm>& terms, const Condition& context,
                                                      std::vector<std::size_t>* left) {
  if (depth_ > kMatchDepth) return std::nullopt;
  ++depth_;
  std::map<std::string, Group> groups;
  for (std::size_t k = 0; k < terms.size(); ++k) groups[signature(terms[k])].push_back(k);
  Certificate certificate;
  std::vector<std::size_t> open;
  for (auto& [head, group] : groups) {
    // The term with the most binders determines the space of a cluster.
    std::stable_sort(group.begin(), group.end(), [&](std::size_t a, std::size_t b) {
      return terms[a].binders.size() > terms[b].binders.size() && !broken(Fault::matcher_space_of_the_first);
    });
    const Group whole = group;
    Certificate attempt = certificate;
    match_group(terms, group, context, true, attempt);
    if (!group.empty() && group.size() < whole.size() && !broken(Fault::matcher_keeps_first_pairs)) {
      // The first pairs may have broken up a larger cluster.
      Group retried = whole;
      Certificate other = certificate;
      match_group(terms, retried, context, false, other);
      if (retried.size() < group.size()) {
        group = retried;
        attempt = std::move(other);
      }
    }
    certificate = std::move(attempt);
    open.insert(open.end(), group.begin(), group.end());
  }
  --depth_;
  if (open.empty()) return certificate;
  std::sort(open.begin(), open.end());
  if (left != nullptr) *left = std::move(open);
  return std::nullopt;
}

void Matcher::match_group(const std::vector<NormalTerm>& terms, Group& group, const Condition& context, bool pairs_first,
                          Certificate& certificate) {
  for (const bool pair : {true, false}) {
    if ((pair && !pairs_first) || (!pair && broken(Fault::matcher_pairs_alone))) continue;
    Group kept;
    while (!group.empty()) {
      const std::size_t representative = group.front();
      const Group others(group.begin() + 1, group.end());
      const auto cluster = find_cluster(terms, representative, others, pair, context);
      if (!cluster) {
        kept.push_back(representative);
        group.erase(group.begin());
        continue;
      }
      for (const Member& m : cluster->members) std::erase(group, m.term);
      certificate.clusters.push_back(*cluster);
    }
    group = kept;
  }
}

Cluster Matcher::start_cluster(const std::vector<NormalTerm>& terms, std::size_t representative) {
  Cluster cluster;
  Member first;
  first.term = representative;
  for (std::size_t k = 0; k < terms[representative].binders.size(); ++k) {
    cluster.space.push_back(normalizer_.symbols().fresh(SymbolKind::parameter, "z"));
    first.maps.emplace_back(cluster.space.back());
  }
  cluster.members.push_back(std::move(first));
  return cluster;
}

std::optional<Cluster> Matcher::find_cluster(const std::vector<NormalTerm>& terms, std::size_t representative, const Group& others,
                                             bool pair, const Condition& context) {
  Cluster cluster = start_cluster(terms, representative);
  NormalTerm first = over_space(normalizer_.symbols(), terms[representative], cluster.members[0].maps);
  // The representative equals itself.
  std::vector<std::size_t> identity;
  identity.reserve(first.factors.size());
  for (std::size_t k = 0; k < first.factors.size(); ++k) identity.push_back(k);
  cluster.members[0].pairing = identity;
  const auto self = prove_factors(first, first, identity, joined(context, first.conditions));
  if (!self) return std::nullopt;
  cluster.members[0].factors = *self;
  const bool alone = !pair && !broken(Fault::matcher_empty_terms_stay);
  if (alone && checker_.cancels(terms, cluster, context)) return cluster;  // a term with an empty range
  std::vector<std::vector<Member>> alternatives;
  for (const std::size_t t : others) {
    normalizer_.step();
    if (pair && terms[t].binders.size() != terms[representative].binders.size()) continue;
    if (pair && !(plus(terms[t].coefficient, terms[representative].coefficient) == Rational(0))) continue;
    std::vector<Member> found = align(terms, t, first, cluster.space, context, kAlternatives);
    if (found.empty()) continue;
    if (!pair) {
      alternatives.push_back(std::move(found));
      continue;
    }
    for (Member& m : found) {
      Cluster both = cluster;
      both.members.push_back(std::move(m));
      if (checker_.cancels(terms, both, context)) return both;
    }
  }
  if (pair || alternatives.empty()) return std::nullopt;
  // All terms that align, in the first combination of alternatives that cancels.
  std::vector<std::size_t> choice(alternatives.size(), 0);
  for (std::size_t n = 0; n < kCombinations; ++n) {
    Cluster all = cluster;
    for (std::size_t k = 0; k < alternatives.size(); ++k) all.members.push_back(alternatives[k][choice[k]]);
    if (checker_.cancels(terms, all, context)) return all;
    std::size_t k = 0;
    while (k < choice.size() && ++choice[k] == alternatives[k].size()) choice[k++] = 0;
    if (k == choice.size() || broken(Fault::matcher_first_alternatives_alone)) break;
  }
  return std::nullopt;
}

// A term with fewer binders than the space is a sum over a single point of the remaining symbols. The
// equations that its binders do not solve determine the point.
void Matcher::add_points(const NormalTerm& term, const std::vector<Poly>& equations, const std::vector<SymbolId>& space,
                         std::vector<Poly>& maps) {
  if (maps.size() == space.size() || broken(Fault::matcher_points_are_not_added)) return;
  Symbols& symbols = normalizer_.symbols();
  Symbols::Substitution by;
  for (std::size_t k = 0; k < maps.size(); ++k) by.emplace(term.binders[k], maps[k]);
  std::vector<Poly> open;
  open.reserve(equations.size());
  for (const Poly& e : equations) open.push_back(symbols.substitute(e, by));
  for (std::size_t k = 0; k < open.size() && maps.size() < space.size(); ++k) {
    for (const SymbolId z : space) {
      const auto linear = open[k].linear_in(z);
      if (!linear || (!(linear->first == Poly(1)) && !(linear->first == Poly(-1))) || symbols.occurs(linear->second, z)) continue;
      maps.push_back(open[k]);
      const Symbols::Substitution point = {{z, linear->first.is_one() ? -linear->second : linear->second}};
      for (std::size_t j = k + 1; j < open.size(); ++j) open[j] = symbols.substitute(open[j], point);
      break;
    }
  }
}

std::vector<Member> Matcher::align(const std::vector<NormalTerm>& terms, std::size_t term, const NormalTerm& first,
                                   const std::vector<SymbolId>& space, const Condition& context, std::size_t wanted) {
  std::vector<Member> result;
  const NormalTerm& t = terms[term];
  if (t.binders.size() > space.size()) return result;
  for (const std::vector<std::size_t>& pairing : pairings(first, t, broken(Fault::matcher_first_pairing_alone) ? 1 : kPairings)) {
    std::vector<Poly> open;
    std::vector<SymbolId> inner;
    for (std::size_t k = 0; k < pairing.size(); ++k) equations(*first.factors[k].factor, *t.factors[pairing[k]].factor, open, inner);
    for (std::vector<Poly>& maps :
         solve(normalizer_.symbols(), open, t.binders, inner, space, broken(Fault::matcher_first_order_alone) ? 1 : kSolutions)) {
      normalizer_.step();
      add_points(t, open, space, maps);
      const auto bijection = [&] { return checker_.unimodular(maps, space) || broken(Fault::matcher_maps_of_any_determinant); };
      if (maps.size() != space.size() || !bijection()) continue;
      const NormalTerm mapped = over_space(normalizer_.symbols(), t, maps);
      auto proofs = prove_factors(mapped, first, pairing, joined(context, mapped.conditions));
      if (!proofs) continue;
      result.push_back(Member{term, std::move(maps), pairing, *std::move(proofs)});
      if (result.size() >= wanted) return result;
    }
  }
  return result;
}

std::optional<std::vector<FactorProof>> Matcher::prove_factors(const NormalTerm& mapped, const NormalTerm& first,
                                                               const std::vector<std::size_t>& pairing, const Condition& context) {
  std::vector<FactorProof> proofs;
  for (std::size_t k = 0; k < pairing.size(); ++k) {
    auto proof = equal(*mapped.factors[pairing[k]].factor, *first.factors[k].factor, context);
    if (!proof) return std::nullopt;
    proofs.push_back(*std::move(proof));
  }
  return proofs;
}

std::optional<FactorProof> Matcher::equal(const Factor& a, const Factor& b, const Condition& context) {
  if (a.kind != b.kind) return std::nullopt;
  FactorProof proof;
  switch (a.kind) {
    case FactorKind::read:
    case FactorKind::integer:
    case FactorKind::real:
      return checker_.equal(a, b, context, proof) ? std::optional(proof) : std::nullopt;
    case FactorKind::predicate:
    case FactorKind::function:
      if (equal_up_to_renaming(normalizer_.symbols(), a, b)) return proof;
      if (a.name != b.name || a.function != b.function || a.data_type != b.data_type || a.arguments.size() != b.arguments.size())
        return std::nullopt;
      for (std::size_t k = 0; k < a.arguments.size(); ++k) {
        auto argument = zero(difference(a.arguments[k], b.arguments[k]), context);
        if (!argument) return std::nullopt;
        proof.arguments.push_back(*std::move(argument));
      }
      return proof;
    case FactorKind::maximum:
      break;
  }
  if (equal_up_to_renaming(normalizer_.symbols(), a, b)) return proof;
  auto forward = find_covers(a, b, context);
  if (!forward) return std::nullopt;
  auto backward = find_covers(b, a, context);
  if (!backward) return std::nullopt;
  proof.forward = *std::move(forward);
  proof.backward = *std::move(backward);
  return proof;
}

std::optional<std::vector<Cover>> Matcher::find_covers(const Factor& a, const Factor& b, const Condition& context) {
  std::vector<Cover> covers;
  for (const Piece& p : a.pieces) {
    auto cover = find_cover(p, b.pieces, context);
    if (!cover) return std::nullopt;
    covers.push_back(*std::move(cover));
  }
  return covers;
}

std::optional<DemandProof> Matcher::demand(const Piece& wanted, const std::vector<Piece>& given, const Condition& context) {
  constexpr std::size_t kGuards = 4;
  const auto count = guard_count(wanted);
  if (!count || *count > kGuards) return std::nullopt;
  // Tries all guards first, then fewer.
  for (std::size_t left_out = 0; left_out < std::size_t{1} << *count; ++left_out) {
    DemandProof proof;
    for (std::size_t k = 0; k < *count; ++k)
      if ((left_out >> k & 1U) == 0) proof.guards.push_back(k);
    const Piece kept = *with_guards(wanted, proof.guards);
    auto cover = find_cover(kept, candidates_for(kept, given), context);
    if (!cover) continue;
    proof.cover = *std::move(cover);
    return proof;
  }
  return std::nullopt;
}

std::optional<Cover> Matcher::find_cover(const Piece& piece, const std::vector<Piece>& pieces, const Condition& context) {
  Cover cover;
  std::vector<Poly> renamed;
  for (std::size_t k = 0; k < piece.binders.size(); ++k) {
    cover.space.push_back(normalizer_.symbols().fresh(SymbolKind::parameter, "z"));
    renamed.emplace_back(cover.space.back());
  }
  const Piece covered = over_space(normalizer_.symbols(), piece, renamed);
  // Equations between the bodies, as for the arguments of a function.
  const auto as_factor = [](const Piece& p) {
    Factor f;
    f.kind = FactorKind::function;
    f.arguments.push_back(p.body);
    return f;
  };
  std::vector<Condition> domains;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    std::vector<Poly> open;
    std::vector<SymbolId> inner;
    equations(as_factor(covered), as_factor(pieces[k]), open, inner);
    for (const std::vector<Poly>& maps : solve(normalizer_.symbols(), open, pieces[k].binders, inner, cover.space, kSolutions)) {
      normalizer_.step();
      const Piece mapped = over_space(normalizer_.symbols(), pieces[k], maps);
      const Condition here = joined(joined(context, covered.conditions), mapped.conditions);
      auto body = zero(difference(mapped.body, covered.body), here);
      if (!body) continue;
      cover.by.push_back({k, maps, *std::move(body)});
      domains.push_back(mapped.conditions);
      if (checker_.one_holds(joined(context, covered.conditions), domains)) return cover;
      if (broken(Fault::matcher_covers_by_one)) return std::nullopt;
      break;
    }
  }
  return std::nullopt;
}

}  // namespace xflow::verifier
