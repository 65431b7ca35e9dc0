// A queue of time-saving rewrites, ordered by their gain. It persists while the graph goes from state to
// state, so rewrites that a step does not touch are not examined again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "src/search/workspace.h"

namespace xflow::search {

// A rewrite that saves time.
struct Improvement {
  cost::Ticks change{};  // negative
  ir::NodeId root{};
  std::uint32_t index = 0;  // index among the candidates at `root`
  std::shared_ptr<const Candidate> candidate;
};

class Improvements {
 public:
  // Adds the candidates at `root` that save time. All of them must be known in the current graph
  // (Workspace::is_known).
  void add(ir::NodeId root, const Candidates& list);
  // Removes and returns the rewrite that saves most; ties go to the smallest root and index. Merges of
  // whole sets of siblings come last: a pair may be the better choice, and descents in the order of the
  // graph begin with sets. The entry can be stale: the rewrite is already done, or another rewrite changed
  // its gain and it was added again after that.
  std::optional<Improvement> take();

  // put_aside() sets a rewrite aside whose constants exceed the bytes that are left. take_up() puts those
  // back into the queue that fit into `bytes`.
  void put_aside(Improvement improvement);
  void take_up(std::int64_t bytes);

 private:
  struct Order {
    static auto key(const Improvement& i) {
      return std::tuple(i.candidate->rewrite.merge == Merge::all, i.change, i.root, i.index, i.candidate.get());
    }
    bool operator()(const Improvement& a, const Improvement& b) const { return key(a) < key(b); }
  };
  std::set<Improvement, Order> queue_;
  std::multimap<std::int64_t, Improvement> aside_;  // by the bytes of constants that they add
};

}  // namespace xflow::search
