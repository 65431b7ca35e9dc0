// Questions to Z3: everything that knows it is in z3/queries.cpp. A build without Z3 has no_z3/queries.cpp instead, which says no to all of
// them: that is never wrong, it only proves less.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "src/verifier/proof/solver.h"

namespace xflow::verifier {

// As the questions of a Solver of these names. `real`: with products of symbols as they are, which may take long; otherwise they are
// abstracted. What is not decided within the limit is a no.
class Queries {
 public:
  // Both must outlive it. After `deadline` a question is interrupted, and not asked at all where the time is up already. Where the caller
  // may stop, it is asked on its thread every 20 ms while a question runs on another one.
  Queries(const ir::Symbols& symbols, const Ranges::ElementRanges& elements, std::uint64_t resource_limit, const Deadline& deadline);
  ~Queries();
  Queries(const Queries&) = delete;
  Queries& operator=(const Queries&) = delete;

  void assume(const ops::Atom& fact);

  bool contradictory(std::span<const ops::Atom> condition, bool real);
  bool implies_one_of(std::span<const ops::Atom> condition, std::span<const ops::Condition> goals, bool real);
  bool vanishes(std::span<const ops::Atom> condition, std::span<const Indicator> indicators, bool real);
  bool is_zero(std::span<const ops::Atom> condition, std::span<const RealClause> clauses, const RealExpr& value);
  // How many models were neither found nor known not to exist.
  std::size_t undecided_models() const;
  std::optional<Solver::Model> model(std::span<const ops::Atom> condition, std::span<const ir::SymbolId> wanted);

 private:
  class Encoder;
  std::unique_ptr<Encoder> encoder_;
};

// The version of Z3: "5.4.0"; "none" in a build without it.
std::string solver_version();

}  // namespace xflow::verifier
