// Proves that two values of an arena are equal, whatever the values are that both are computed from.
#pragma once

#include <xflow/verify.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/equivalence/constants.h"
#include "src/ir/graph.h"
#include "src/verifier/deadline.h"

namespace xflow::equivalence {

// What a proof found.
struct PartDecision {
  Verdict verdict = Verdict::unknown;  // proved, unknown or timeout
  std::string open;                    // if not proved
  std::uint64_t operations_a = 0;      // of the last attempt
  std::uint64_t operations_b = 0;
  // If constants of `b` were computed from those of `a`, and rounded otherwise, or numbers of the two were
  // taken for the fractions that they are rounded from.
  std::optional<Rounding> rounding = {};
};

class PartProver {
 public:
  // `known`: operations whose values a proof may take as given (the first model, whose sizes and demands
  // hold). The arguments must outlive this object.
  PartProver(ir::Arena& arena, const std::unordered_set<ir::NodeId>& known, Constants& constants)
      : arena_(arena), known_(known), constants_(constants) {}

  // Tries to prove that `b` equals `a`, a value of a known operation. Both are expressions of a cut, which
  // is moved towards the inputs until the proof succeeds, its operations are too many, or the deadline is
  // over.
  PartDecision prove(ir::ValueId a, ir::ValueId b, const verifier::Deadline& deadline);

 private:
  struct Cut {
    std::vector<ir::ValueId> values;  // given, in the order in which they were found
    std::vector<ir::NodeId> of_b;     // operations between them and `b`, operands before users
    std::vector<ir::NodeId> of_a;
    std::vector<ir::ValueId> unread;  // those that `b` is computed from, and `a` is not
  };
  // The operations from which `value` is computed, up to values where `stops` is true, which are added to
  // `leaves`. More than the limit if there are too many.
  std::vector<ir::NodeId> above(ir::ValueId value, const std::function<bool(ir::ValueId)>& stops, std::vector<ir::ValueId>& leaves) const;
  // Whether a value is computed from constants and sizes alone.
  bool is_closed(ir::ValueId value) const;
  Cut cut_at(ir::ValueId a, ir::ValueId b, const std::unordered_set<ir::ValueId>& opened) const;
  bool has_expressions(const Cut& cut) const;
  // The numbers in operations that are rounded fractions.
  std::set<double> fractions_of(const std::vector<ir::NodeId>& operations) const;
  // What the constants of an attempt are.
  struct Reading {
    bool computed = false;   // PartClaim::computed_constants
    bool fractions = false;  // PartClaim::fractions
  };
  PartDecision attempt(ir::ValueId a, ir::ValueId b, const Cut& cut, Reading reading, const verifier::Deadline& deadline);
  // With all constants given; then with fractions, if they differ in the two; then with expressions
  // computed.
  PartDecision attempt_all(ir::ValueId a, ir::ValueId b, const Cut& cut, const verifier::Deadline& deadline);

  ir::Arena& arena_;
  const std::unordered_set<ir::NodeId>& known_;
  Constants& constants_;
  mutable std::unordered_map<ir::NodeId, bool> closed_;
};

}  // namespace xflow::equivalence
