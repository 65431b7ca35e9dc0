// Searches for certificates. Nothing here is trusted: the checker replays what is found.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "src/verifier/algebra/simplify.h"
#include "src/verifier/checker/certificate.h"
#include "src/verifier/checker/checker.h"

namespace xflow::verifier {

class Matcher {
 public:
  // Finds why terms sum to 0 by arithmetic on their values; see scalar.h.
  using Scalar = std::function<std::optional<std::vector<Component>>(const std::vector<NormalTerm>& terms, const Condition& context)>;
  Matcher(Normalizer& normalizer, Checker& checker, Scalar scalar);

  // Finds why the terms sum to 0 wherever `context` holds; nullopt if no reason is found. `left` receives
  // the terms that remain.
  std::optional<Certificate> zero(const std::vector<NormalTerm>& terms, const Condition& context, std::vector<std::size_t>* left = nullptr);
  // The same without arithmetic on values.
  std::optional<Certificate> zero_by_alignment(const std::vector<NormalTerm>& terms, const Condition& context,
                                               std::vector<std::size_t>* left = nullptr);
  // Finds why the demand follows from those of `given` wherever `context` holds.
  std::optional<DemandProof> demand(const Piece& wanted, const std::vector<Piece>& given, const Condition& context);
  std::optional<FactorProof> equal(const Factor& a, const Factor& b, const Condition& context);

 private:
  using Group = std::vector<std::size_t>;
  // Moves clusters out of a group of terms with equal signatures. `group` keeps the terms that remain.
  void match_group(const std::vector<NormalTerm>& terms, Group& group, const Condition& context, bool pairs_first,
                   Certificate& certificate);
  std::optional<Cluster> find_cluster(const std::vector<NormalTerm>& terms, std::size_t representative, const Group& others, bool pair,
                                      const Condition& context);
  Cluster start_cluster(const std::vector<NormalTerm>& terms, std::size_t representative);
  std::vector<Member> align(const std::vector<NormalTerm>& terms, std::size_t term, const NormalTerm& first,
                            const std::vector<SymbolId>& space, const Condition& context, std::size_t wanted);
  void add_points(const NormalTerm& term, const std::vector<Poly>& equations, const std::vector<SymbolId>& space, std::vector<Poly>& maps);
  std::optional<std::vector<FactorProof>> prove_factors(const NormalTerm& mapped, const NormalTerm& first,
                                                        const std::vector<std::size_t>& pairing, const Condition& context);
  std::optional<std::vector<Cover>> find_covers(const Factor& a, const Factor& b, const Condition& context);
  std::optional<Cover> find_cover(const Piece& piece, const std::vector<Piece>& pieces, const Condition& context);

  Normalizer& normalizer_;
  Checker& checker_;
  Scalar scalar_;
  int depth_ = 0;
};

}  // namespace xflow::verifier
