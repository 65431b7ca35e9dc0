// What the matcher found, as data that the checker replays without search.
//
// A certificate says why a sum of terms is 0: the terms are grouped in clusters whose bodies are equal after a change of summation
// indices, and in each cluster the coefficients cancel wherever the conditions hold.
#pragma once

#include <cstddef>
#include <vector>

#include "src/verifier/normal.h"

namespace xflow::verifier {

struct FactorProof;

// A term written over the space of its cluster: binder k of the term is maps[k], a polynomial over the space and the free symbols.
struct Member {
  std::size_t term;                  // number in the list of terms
  std::vector<Poly> maps;            // one for each binder
  std::vector<std::size_t> pairing;  // factor k of the first member equals factor pairing[k] of this one
  std::vector<FactorProof> factors;  // why, one for each factor of the first member
};

struct Cluster {
  std::vector<SymbolId> space;  // new symbols that range over all integers
  std::vector<Member> members;
};

struct Certificate {
  std::vector<Cluster> clusters;
  // Terms whose sum is 0 by arithmetic on their values: maxima, booleans, reciprocals (see scalar.h).
  std::vector<std::size_t> scalar;
};

// Why the elements of one piece of a maximum are among those of other pieces: for each of `by`, its binders as polynomials over the
// covered piece's binders, and why the bodies are equal.
struct Cover {
  struct By {
    std::size_t piece;
    std::vector<Poly> maps;
    Certificate body;
  };
  std::vector<SymbolId> space;  // new symbols for the binders of the covered piece
  std::vector<By> by;
};

// Why two factors with the same head are equal. Reads and integers need no proof but their indices.
struct FactorProof {
  std::vector<Certificate> arguments;  // of a function, one for each argument
  std::vector<Cover> forward;          // of a maximum: each piece of the first covered by pieces of the second
  std::vector<Cover> backward;         // and the other way round
};

}  // namespace xflow::verifier
