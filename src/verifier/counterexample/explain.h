// Proofs in readable index notation.
#pragma once

#include <string>
#include <vector>

#include "src/verifier/proof/proof.h"

namespace xflow::verifier {

// Prints the parts of a proof with indices i, j, k, ... instead of generated names: output indices first,
// then the binders of each term in the order in which they occur. The range of a binder is written
// "sum(k < K: x[i, k] * v[k, j])", other conditions "[i < N]".
class Readable {
 public:
  // `free`: the output indices, which have the same name everywhere.
  Readable(const Names& names, const std::vector<SymbolId>& free);

  std::string poly(const Poly& p) const;
  std::string expression(const Expression& e) const;
  std::string condition(const Condition& c) const;
  // A demand (demands.h): "s[i] is not 0 where i < N".
  std::string demand(const Piece& demand) const;
  // "y[i, j]", the element that a proof is about, with the conditions that are not ranges of output indices.
  std::string element(const std::string& output, const Proof::OutputProof& proof) const;
  // The numbered terms of source - target, and how they cancel:
  //   0: sum(k < K: x[i, k] * v[k, j])
  //   1: -1 * sum(k < K: x[i, k] * v[k, j])
  //   0 and 1 cancel
  std::string certificate(const Proof::OutputProof& proof) const;

 private:
  std::string terms(const Proof::OutputProof& proof) const;
  class Printer;
  Names names_;
  std::vector<std::string> letters_;  // not used by the rule
  std::vector<SymbolId> free_;
};

// Readable::certificate() of one output.
std::string explain(const Names& names, const Proof::OutputProof& proof);

}  // namespace xflow::verifier
