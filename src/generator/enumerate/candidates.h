// Pairs of graphs that seem to compute the same: what rules are made of.
//
// A graph may ignore an input that it reads: x / x, and x (z / x), which is z but has the shape of both. It
// is compared with what reads less, as a constant of the signature, but with nothing if nothing does; graphs
// of which it is a part are compared with nothing.
//
// Sums with an identity, or with its product with one number for each channel or column, are for products to
// read, (x + I) z = x z + z; graphs that use them otherwise are left out.
//
// A graph of two outputs is the target of a candidate, whose source has the representative of each output;
// only what gains as one rewrite is one (pairs.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/generator/enumerate/enumerate.h"
#include "src/generator/enumerate/graph_edits.h"

namespace xflow::generator {

// Two graphs on the same inputs, output by output.
struct RuleCandidate {
  SmallGraph source;
  SmallGraph target;
  friend auto operator<=>(const RuleCandidate&, const RuleCandidate&) = default;
};

struct CandidateCounts {
  std::uint64_t graphs = 0;     // different ones, up to the names of inputs
  std::uint64_t classes = 0;    // of equal fingerprints
  std::uint64_t pairs = 0;      // member and representative, renamings of a representative to itself, and graphs of two outputs
  std::uint64_t reducible = 0;  // of these, follow from a smaller candidate: a part is replaced by its representative
  std::uint64_t accidents = 0;  // of the others, those that differ on other numbers and larger tensors
  std::uint64_t dropped = 0;    // one side reads an input that the other does not, and the other way round
  std::uint64_t idle = 0;       // of the pairs, all their class ignores an input that it reads, or a part is such or a constant
  std::uint64_t no_gain = 0;    // of the pairs, those of two outputs that gain nothing as one rewrite (pairs.h)
  std::uint64_t in_vain = 0;    // graphs left out before: a sum with an identity is read by other operations than products
};

class Candidates {
 public:
  Candidates(const GraphSignature& signature, const EnumerationOptions& options);

  // Records of all graphs with fewer operators than the most: what parts of graphs are no representatives.
  // Sorts them. Once.
  void learn(std::vector<Record>& smaller);
  // Groups records by fingerprint; those of one fingerprint all at once, others as one likes. Calls `found`
  // for every candidate, in an order that depends on the records alone, and `folded` for every candidate of
  // which the target, unlike the representative, costs least where parameters are constants. Sorts the
  // records, and leaves one of each structure.
  using Found = std::function<void(RuleCandidate)>;
  void find(std::vector<Record>& records, const Found& found, const Found& folded = {});
  std::vector<RuleCandidate> find(std::vector<Record>& records);
  // Of the last call of find.
  const CandidateCounts& counts() const { return counts_; }
  // What enumerates and keeps values.
  Evaluator& evaluator() { return evaluator_; }

 private:
  struct Class {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t representative = 0;
  };
  std::vector<Class> classes(std::vector<Record>& records) const;
  // What is known of a value of a graph.
  struct Part {
    bool is_idle = false;               // in a class whose representative ignores an input that it reads, or reads nothing
    std::optional<SmallGraph> smaller;  // of what is no representative: the representative on the same inputs
  };
  // What is known of a graph of one output.
  struct Known {
    std::uint64_t named = 0;  // its code under the names that give the fingerprint
    std::uint64_t value = 0;  // the fingerprint
    std::uint64_t check = 0;  // with these names, on other numbers and larger tensors
    bool has_values = false;
    bool is_alone = false;  // in its class
    bool is_idle = false;   // has a part that is
    bool ignores = false;   // of a representative: an input that it reads
    bool is_reducible = false;
  };
  // Fills parts_ for the values of the first `nodes` operations of a graph, from what it has in common with
  // the last.
  void find_parts(const SmallGraph& graph, std::size_t nodes);
  static std::size_t nodes_of_parts(const SmallGraph& graph);
  // Whether the same graph with the representative of its class in the place of some part is smaller.
  bool follows_from_smaller(const SmallGraph& graph, std::uint64_t structure);
  bool is_less(const SmallGraph& graph, const Rank& rank, std::size_t separate) const;
  // Removes graphs that use an identity in vain.
  void leave_out(std::vector<Record>& records) const;
  // Whether some part of a graph, but the whole, is in a class whose representative does so or reads
  // nothing.
  bool has_idle_part(const SmallGraph& graph);
  void consider(const Record& record, bool is_representative, Known& known, const Found& found);
  void pair(const Known& member, const Known& representative, const Found& found);
  // Pairs the members of a class with the one that costs least where parameters are constants, unless that
  // is the representative.
  void pair_folded(const std::vector<Record>& records, const Class& members, const std::vector<Known>& known, const Found& folded);
  static bool seem_equal(const Known& a, const Known& b);
  // The candidate of two graphs of a class; nothing if each reads an input that the other does not.
  std::optional<RuleCandidate> candidate_of(const Known& source, const Known& target) const;
  // A graph of two outputs and the smallest graphs of each of them.
  void pair_apart(const SmallGraph& target, std::uint64_t structure, const Found& found);
  // Whether both sides are equal on other numbers and larger tensors, output by output.
  bool is_confirmed(const RuleCandidate& candidate);
  std::optional<Naming> first_naming(const SmallGraph& graph);
  // The representative of what computes the same as a graph of one output, on its inputs; nothing where none
  // has fewer operators than the most, or where all ignore an input that they read.
  std::optional<SmallGraph> smallest_like(const SmallGraph& part);
  // `smallest`, which computes the same as a graph of one output, or one as small that ends with the
  // operations of that graph.
  SmallGraph with_ends_of(const SmallGraph& part, SmallGraph smallest);

  const GraphSignature& signature_;
  EnumerationOptions options_;
  GraphCodec codec_;
  Evaluator evaluator_;
  Evaluator confirmation_;  // on other numbers, larger tensors
  // By structure, of what is no representative: the code of the representative of its class, on the inputs
  // that structure_of gives it.
  std::unordered_map<std::uint64_t, std::uint64_t> representative_of_;
  std::unordered_set<std::uint64_t> idle_;                         // structures of graphs that are no part of others
  std::vector<std::pair<std::uint64_t, std::uint64_t>> smallest_;  // representatives: fingerprints, ascending, and codes
  std::vector<SmallGraphNode> parts_nodes_;
  std::vector<Part> parts_;  // by value of these operations
  CandidateCounts counts_;
};

}  // namespace xflow::generator
