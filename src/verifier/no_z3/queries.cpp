#include "src/verifier/proof/queries.h"

namespace xflow::verifier {

class Queries::Encoder {};

std::string solver_version() { return "none"; }

Queries::Queries(const ir::Symbols& /*symbols*/, const Ranges::ElementRanges& /*elements*/, std::uint64_t /*resource_limit*/,
                 const Deadline& /*deadline*/) {}
Queries::~Queries() = default;

void Queries::assume(const ops::Atom& /*fact*/) {}

bool Queries::contradictory(std::span<const ops::Atom> /*condition*/, bool /*real*/) { return false; }
bool Queries::implies_one_of(std::span<const ops::Atom> /*condition*/, std::span<const ops::Condition> /*goals*/, bool /*real*/) {
  return false;
}
bool Queries::vanishes(std::span<const ops::Atom> /*condition*/, std::span<const Indicator> /*indicators*/, bool /*real*/) { return false; }
bool Queries::is_zero(std::span<const ops::Atom> /*condition*/, std::span<const RealClause> /*clauses*/, const RealExpr& /*value*/) {
  return false;
}
std::size_t Queries::undecided_models() const { return 0; }
std::optional<Solver::Model> Queries::model(std::span<const ops::Atom> /*condition*/, std::span<const ir::SymbolId> /*wanted*/) {
  return std::nullopt;
}

}  // namespace xflow::verifier
