// What the matcher found, as data that the checker replays without search.
//
// A certificate says why a sum of terms is 0: the terms are grouped in clusters whose bodies are equal after a change of summation
// indices, and in each cluster the coefficients cancel wherever the conditions hold. Terms that no alignment cancels may be 0 by
// arithmetic on the values of their components.
#pragma once

#include <cstddef>
#include <vector>

#include "src/verifier/algebra/normal.h"

namespace xflow::verifier {

struct Component;
struct FactorProof;
struct DemandProof;

// A term written over the space of its cluster: binder k of the term is maps[k], a polynomial over the space and the free symbols.
struct Member {
  std::size_t term;                  // number in the list of terms
  std::vector<Poly> maps;            // one for each binder; of an added binder that is 0, where the space is larger
  std::vector<std::size_t> pairing;  // factor k of the first member equals factor pairing[k] of this one; none: factor k
  std::vector<FactorProof> factors;  // why, one for each factor of the first member; none: no factor needs a proof
};

struct Cluster {
  std::vector<SymbolId> space;  // new symbols that range over all integers
  std::vector<Member> members;
};

// Terms whose sum is 0 by arithmetic on their values: maxima, booleans, reciprocals. The checker walks over them and meets components
// (products of factors that binders connect, single factors); each becomes a real variable, equal ones the same.
struct Arithmetic {
  std::vector<std::size_t> terms;     // numbers in the list of terms; none: nothing is claimed
  std::vector<Component> components;  // in the order in which the checker meets them
};

struct Certificate {
  std::vector<Cluster> clusters;
  Arithmetic arithmetic;
  std::vector<DemandProof> demands;  // of an output, one for each demand of the target
};

// What one component is: that of an earlier number, because their difference is 0; or the next number, a new one.
struct Component {
  std::size_t number;
  Certificate equal;  // of (the earlier component) - (this one); empty where these are the same but for names, and for a new one
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

// Why a demand of the target holds (demands.h): the demand with these of its guards is covered by demands of the source.
struct DemandProof {
  std::vector<std::size_t> guards;  // ascending
  Cover cover;                      // by the candidates for it among those of the source
};

// Why two factors with the same head are equal. Reads and integers need no proof but their indices; nor do factors that are the same but
// for the names of their binders.
struct FactorProof {
  std::vector<Certificate> arguments;  // of a function, one for each argument
  std::vector<Cover> forward;          // of a maximum: each piece of the first covered by pieces of the second
  std::vector<Cover> backward;         // and the other way round
};

}  // namespace xflow::verifier
