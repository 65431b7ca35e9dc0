// The cover of a graph that changes in place.
//
// What a cover says of a node depends on its neighbours alone: which composite it belongs to, which chain of operations runs as one kernel,
// in which layout values lie. So after a change only the chains that the change touches are cut again, and layouts are followed from there
// as far as they change. The result is the same as that of a cover made from scratch.
//
// The rules, from inputs to outputs:
// - A composite is taken if nobody else reads its inside and it is not inside another one.
// - A value that one pointwise operation alone reads is its link to it. An operation with several links takes the first that begins at a
//   convolution or product and has no operation with several operands yet, else the first that begins at one, else the first: of a sum
//   of convolutions each but the first adds what is there before. That makes paths; a path is cut into kernels from its beginning, as
//   Regions::best_prefix says for the layout in which its operand arrives.
// - A kernel that does not choose its layouts takes the one in which its first operand with layouts arrives. Values are converted once for
//   each layout in which they are asked for. Graph outputs are plain.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/cost/cover.h"
#include "src/cost/incremental_cost.h"
#include "src/cost/region.h"

namespace xflow::cost {

class IncrementalCover final : public IncrementalCost {
 public:
  // Both must outlive it.
  IncrementalCover(const ir::WorkGraph& graph, Regions& regions);

  void update(std::span<const ir::WorkGraph::Change> changes) override;
  Ticks time() const override { return sums_.time; }
  bool comparable() const override { return sums_.excess == 0; }
  std::size_t mark() override;
  void undo(std::size_t mark) override;
  std::span<const ir::NodeId> footprint() const override { return footprint_; }
  std::vector<ir::NodeId> changed(std::size_t mark) const override;

  std::size_t kernels() const { return sums_.kernels; }
  std::size_t unmeasured() const { return sums_.unmeasured; }
  // What could not be costed, and how often. It is 'excess' beyond the times given to accept().
  const std::map<std::string, std::size_t>& refusals() const { return refusals_; }
  void accept(std::map<std::string, std::size_t> accepted);
  // The cover in the order in which it would run, with the nodes of the work graph.
  std::vector<CoveredRegion> explain() const;
  // The same as launches with their operands.
  std::vector<CoveredLaunch> launches() const;

 private:
  struct Link {
    ir::NodeId node{};
    bool composite = false;
    friend bool operator==(const Link&, const Link&) = default;
  };
  struct Record : NodeRecord {
    std::vector<ir::NodeId> explored;
  };
  // A kernel of the cover: nodes in a row of which the last one's value leaves it.
  struct Region {
    std::vector<Link> links;
    FusedChain* kernel = nullptr;       // nullptr: nothing is launched (reshapes), or the node is refused
    std::vector<ir::ValueId> operands;  // in the order of the kernel
    ir::NodeId exit() const { return links.back().node; }
  };
  using Want = std::pair<ir::ValueId, Layout>;
  struct Price {
    Ticks time{};
    std::size_t kernels = 0;
    Layout operands = Layout::plain;
    Layout results = Layout::plain;
    std::vector<Want> wants;
    std::vector<std::string> refusals;
    const KernelCost* cost = nullptr;
  };
  struct Asked {
    std::uint32_t output = 0;
    Layout layout = Layout::plain;
    std::uint32_t count = 0;
  };
  // What is known of a node.
  struct Info {
    std::shared_ptr<const Record> record;  // null: not in the graph, or a constant
    std::shared_ptr<const Region> region;  // that it is a link of
    std::shared_ptr<const Price> price;    // of the region, if this is its exit
    std::shared_ptr<const Price> conversions;
    std::vector<ir::NodeId> readers;  // exits whose composite was looked for here
    std::vector<Asked> asked;         // layouts in which its outputs are wanted
    ir::NodeId owner{};               // exit of the composite that it is inside of
    std::optional<Link> follower;     // the next link of its path
    bool inside = false;
    bool selected = false;  // the composite that ends here is taken
    Layout layout = Layout::plain;
  };
  struct Sums {
    Ticks time{};
    std::size_t kernels = 0;
    std::size_t unmeasured = 0;
    std::size_t excess = 0;
  };

  static std::size_t index_of(ir::NodeId id) { return static_cast<std::size_t>(id); }
  const Info& read(ir::NodeId id);
  Info& edit(ir::NodeId id);
  void touch(ir::NodeId id);

  void start(ir::NodeId id);
  void record(ir::NodeId id);
  void forget_record(ir::NodeId id);
  void deselect(ir::NodeId exit);
  void select_composites();
  void touch_operands(const Composite& composite);
  bool closed(const Record& record) const;

  std::optional<Link> next(ir::NodeId id);
  std::vector<ir::NodeId> links_into(ir::NodeId id);
  bool chains(const Info& info) const;
  ShapeId shape_of(const Link& link);
  const ops::TensorSpec& result_of(ir::NodeId id);
  void dissolve(ir::NodeId id);
  void make_regions();
  std::vector<ir::NodeId> tree_of(ir::NodeId root);
  bool adds_residual(ir::NodeId id);
  void make_tree(ir::NodeId root);
  Layout arriving_layout(ir::NodeId begin);
  void cut(ir::NodeId begin);
  void add_region(std::vector<Link> links, const Chain& chain);

  void price_regions();
  void price(const Region& region);
  Price price_of(const Region& region);
  void set_price(ir::NodeId exit, const std::shared_ptr<const Price>& price);
  void set_conversions(ir::NodeId id);
  void want(const Want& want, bool more);
  void add(const Price& price, bool in);
  void refuse(const std::string& refusal, bool in);
  void update_outputs();
  std::vector<ir::NodeId> nodes_of(const Region& region) const;
  // All kernels in the order of the graph, and each conversion (once, with what it costs) before the kernel that asks for it first.
  void visit(const std::function<void(const Want&, const DatabaseEntry*)>& conversion,
             const std::function<void(const Info&)>& kernel) const;
  CoveredLaunch launch_of(const Region& region, const Price& price) const;
  void queue_users(ir::NodeId id);

  const ir::WorkGraph& graph_;
  const ir::Arena& arena_;
  Regions& regions_;
  std::vector<Info> infos_;
  Sums sums_;
  std::vector<ir::ValueId> outputs_;
  std::map<std::string, std::size_t> refusals_;
  std::map<std::string, std::size_t> accepted_;

  // Undo.
  struct Saved {
    ir::NodeId node{};
    Info info;
  };
  struct Moment {
    std::size_t saved;
    Sums sums;
    std::vector<ir::ValueId> outputs;
    std::optional<std::map<std::string, std::size_t>> refusals;  // if they changed since
  };
  std::vector<Saved> saved_;
  std::vector<std::uint64_t> saved_at_;  // by node: the moment of the last copy
  std::vector<Moment> moments_;
  std::uint64_t moment_ = 1;

  // While updating.
  std::vector<ir::NodeId> footprint_;
  std::vector<std::uint64_t> read_at_;     // by node
  std::vector<std::uint64_t> touched_at_;  // by node
  std::vector<std::uint64_t> tree_at_;     // by node
  std::uint64_t update_ = 0;
  std::vector<ir::NodeId> touched_;
  std::vector<ir::NodeId> pending_exits_;
  std::vector<std::pair<ir::NodeId, bool>> unpriced_;  // beginnings of chains to be cut (true), exits of kernels to be priced (false)
  std::vector<ir::NodeId> unconverted_;
};

}  // namespace xflow::cost
