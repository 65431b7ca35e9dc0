// The kernel cover of a graph that changes in place.
//
// The cover of a node depends on its neighbourhood only: which composite it belongs to, which chain of
// operations runs as one kernel, and the layout of its values. So an update cuts only the chains that a
// change touches, and propagates layouts from there until they no longer change. The result equals that of a
// cover made from scratch.
//
// The rules, from inputs to outputs:
// - A composite is taken if no node outside reads its inner nodes and it is not inside another composite.
// - A value that is read by one pointwise operation only is a link to it. An operation with several links
//   takes the first one that begins at a convolution or product and has no operation with several operands
//   yet, else the first that begins at one, else the first. So in a sum of convolutions each convolution but
//   the first adds the previous partial sum. The links form paths. A path is cut into kernels from its
//   beginning by Regions::best_prefix for the layout in which its operand arrives.
// - A kernel that does not choose its layouts takes the layout in which its first operand with layouts
//   arrives. A value is converted once for each layout that is requested. Graph outputs are plain.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/cost/incremental_cost.h"
#include "src/cost/regions.h"

namespace xflow::cost {

// Implements IncrementalCost by a kernel cover.
class IncrementalCover final : public IncrementalCost {
 public:
  // The graph and the regions must outlive it.
  IncrementalCover(const ir::WorkGraph& graph, Regions& regions);

  void update(std::span<const ir::WorkGraph::Change> changes) override;
  Ticks time() const override { return sums_.time; }
  bool comparable() const override { return sums_.excess == 0; }
  bool complete() const override { return sums_.unmeasured == 0 && refusals_.empty(); }
  Ticks time_of(std::span<const ir::NodeId> nodes) const override;
  std::size_t mark() override;
  void undo(std::size_t mark) override;
  std::span<const ir::NodeId> footprint() const override { return footprint_; }
  std::vector<ir::NodeId> changed(std::size_t mark) const override;

  std::size_t kernels() const { return sums_.kernels; }
  std::size_t unmeasured() const { return sums_.unmeasured; }
  // The kernels that could not be costed, by message, with their counts. Counts above those passed to
  // accept() are the excess.
  const std::map<std::string, std::size_t>& refusals() const { return refusals_; }
  void accept(std::map<std::string, std::size_t> accepted);
  // The kernels of the cover in execution order, with nodes of the work graph.
  std::vector<CoveredRegion> explain() const;
  // The launches of the cover with their operands, in execution order.
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
  // A kernel of the cover: consecutive nodes of which only the last one's value leaves the kernel.
  struct Region {
    std::vector<Link> links;
    FusedChain* kernel = nullptr;       // nullptr: nothing is launched (reshapes), or the node is refused
    std::vector<ir::ValueId> operands;  // in the operand order of the kernel
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
    friend bool operator==(const Price&, const Price&) = default;
  };
  struct Asked {
    std::uint32_t output = 0;
    Layout layout = Layout::plain;
    std::uint32_t count = 0;
  };
  // The data of a node.
  struct Info {
    std::shared_ptr<const Record> record;  // null: not in the graph, or a constant
    std::shared_ptr<const Region> region;  // the region that contains the node
    std::shared_ptr<const Price> price;    // of the region, if the node is its exit
    std::shared_ptr<const Price> conversions;
    std::vector<ir::NodeId> readers;  // exits whose search for a composite read this node
    std::vector<Asked> asked;         // layouts in which its outputs are requested
    ir::NodeId owner{};               // exit of the composite that contains the node
    std::optional<Link> follower;     // the next link of its path
    bool inside = false;
    bool selected = false;  // the composite that ends at the node is taken
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
  // Visits all kernels in graph order. Each conversion is visited once, with its cost, before the first
  // kernel that requests it.
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
    std::optional<std::map<std::string, std::size_t>> refusals;  // at the mark, if changed since
  };
  std::vector<Saved> saved_;
  std::vector<std::uint64_t> saved_at_;  // by node: the moment of the last copy
  std::vector<Moment> moments_;
  std::uint64_t moment_ = 1;

  // State of the current update.
  std::vector<ir::NodeId> footprint_;
  std::vector<std::uint64_t> read_at_;     // by node
  std::vector<std::uint64_t> touched_at_;  // by node
  std::vector<std::uint64_t> tree_at_;     // by node
  std::uint64_t update_ = 0;
  std::vector<ir::NodeId> touched_;
  std::vector<ir::NodeId> pending_exits_;
  // Beginnings of chains to cut (true) and exits of kernels to price (false).
  std::vector<std::pair<ir::NodeId, bool>> unpriced_;
  std::vector<ir::NodeId> unconverted_;
};

}  // namespace xflow::cost
