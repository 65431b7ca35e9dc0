// Queries to Z3. Only z3/queries.cpp uses Z3. A build without Z3 has no_z3/queries.cpp instead, which
// answers every query with no: that is never wrong, it only proves less.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "src/verifier/proof/solver.h"

namespace xflow::verifier {

// The queries of a Solver with the same names. `real`: products of symbols are kept, which may take long;
// otherwise they are abstracted. A query that is not decided within the limit is answered with no.
class Queries {
 public:
  // `symbols` and `elements` must outlive this object. A query is interrupted at `deadline`, and not started
  // after it. If the deadline has a stop callback, it is called on the caller's thread every 20 ms while a
  // query runs on another thread.
  Queries(const ir::Symbols& symbols, const Ranges::ElementRanges& elements, std::uint64_t resource_limit, const Deadline& deadline);
  ~Queries();
  Queries(const Queries&) = delete;
  Queries& operator=(const Queries&) = delete;

  void assume(const ops::Atom& fact);

  bool contradictory(std::span<const ops::Atom> condition, bool real);
  bool implies_one_of(std::span<const ops::Atom> condition, std::span<const ops::Condition> goals, bool real);
  bool vanishes(std::span<const ops::Atom> condition, std::span<const Indicator> indicators, bool real);
  bool is_zero(std::span<const ops::Atom> condition, std::span<const RealClause> clauses, const RealExpr& value);
  // The number of models that were neither found nor shown not to exist.
  std::size_t undecided_models() const;
  std::optional<Solver::Model> model(std::span<const ops::Atom> condition, std::span<const ir::SymbolId> wanted);

 private:
  class Encoder;
  std::unique_ptr<Encoder> encoder_;
};

// The version of Z3: "5.4.0"; "none" in a build without it.
std::string solver_version();

}  // namespace xflow::verifier
