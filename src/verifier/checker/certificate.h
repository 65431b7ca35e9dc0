// Certificates: what the matcher found, as data that the checker replays without search.
//
// A certificate says why a sum of terms is 0: the terms are grouped in clusters whose bodies are equal after
// a change of summation indices, and in each cluster the coefficients cancel wherever the conditions hold.
// Terms that no alignment cancels may be 0 by arithmetic on the values of their components.
#pragma once

#include <cstddef>
#include <vector>

#include "src/verifier/algebra/normal.h"

namespace xflow::verifier {

struct Component;
struct FactorProof;
struct DemandProof;

// A term written over the space of its cluster: binder k of the term is maps[k], a polynomial over the space
// and the free symbols.
struct Member {
  std::size_t term;                  // index in the list of terms
  std::vector<Poly> maps;            // one per binder; then those of added binders, which are 0, if the space is larger
  std::vector<std::size_t> pairing;  // factor k of the first member equals factor pairing[k] of this one; empty: factor k
  std::vector<FactorProof> factors;  // why, one per factor of the first member; empty: no factor needs a proof
};

struct Cluster {
  std::vector<SymbolId> space;  // new symbols that range over all integers
  std::vector<Member> members;
};

// Terms whose sum is 0 by arithmetic on their values: maxima, booleans, reciprocals. The checker splits the
// terms into components (products of factors that binders connect, or single factors). Each component
// becomes a real variable; equal components share one.
struct Arithmetic {
  std::vector<std::size_t> terms;     // indices in the list of terms; empty: no claim
  std::vector<Component> components;  // in the order in which the checker reaches them
};

struct Certificate {
  std::vector<Cluster> clusters;
  Arithmetic arithmetic;
  std::vector<DemandProof> demands;  // of an output: one per demand of the target
};

// Identifies one component: with the earlier component `number`, because their difference is 0, or as a new
// component with the next number.
struct Component {
  std::size_t number;
  Certificate equal;  // of (earlier component) - (this one); empty if these are equal up to names, and for a new component
};

// Why the values of one piece of a maximum are among those of other pieces. For each piece of `by`: its
// binders as polynomials over the binders of the covered piece, and why the bodies are equal.
struct Cover {
  struct By {
    std::size_t piece;
    std::vector<Poly> maps;
    Certificate body;
  };
  std::vector<SymbolId> space;  // new symbols for the binders of the covered piece
  std::vector<By> by;
};

// Why a demand of the target holds (demands.h): the demand with the listed guards is covered by demands of
// the source.
struct DemandProof {
  std::vector<std::size_t> guards;  // ascending
  Cover cover;                      // by candidates among the demands of the source
};

// Why two factors with the same head are equal. Reads and integers need no proof: the checker compares their
// indices. Factors that are equal up to the names of their binders need no proof either.
struct FactorProof {
  std::vector<Certificate> arguments;  // of a function: one per argument
  std::vector<Cover> forward;          // of a maximum: each piece of the first, covered by pieces of the second
  std::vector<Cover> backward;         // and vice versa
};

}  // namespace xflow::verifier
