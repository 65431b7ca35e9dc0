// Rewrites that save time, by how much, while a graph goes from one state to the next: what a rewrite does not touch is not looked at
// again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "src/search/workspace.h"

namespace xflow::search {

struct Improvement {
  cost::Ticks change{};  // negative
  ir::NodeId root{};
  std::uint32_t index = 0;  // among the candidates at the root
  std::shared_ptr<const Candidate> candidate;
};

class Improvements {
 public:
  // Takes up those of the candidates at `root` that save time. All of them are known in the graph as it is (Workspace::is_known).
  void add(ir::NodeId root, const Candidates& list);
  // The one that saves most, of several the first by root and index. It is taken out. What it says may hold no more: the rewrite is done,
  // or another one changed what it would save and was added after that.
  std::optional<Improvement> take();

  // Puts one aside that needs `bytes` more of constants than there is room for, and takes those up again for which there is room now.
  void put_aside(Improvement improvement);
  void take_up(std::int64_t bytes);

 private:
  struct Order {
    static auto key(const Improvement& i) { return std::tuple(i.change, i.root, i.index, i.candidate.get()); }
    bool operator()(const Improvement& a, const Improvement& b) const { return key(a) < key(b); }
  };
  std::set<Improvement, Order> queue_;
  std::multimap<std::int64_t, Improvement> aside_;  // by the bytes that they add
};

}  // namespace xflow::search
