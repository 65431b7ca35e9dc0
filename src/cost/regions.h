// Fused kernels: chains of operations as one kernel.
//
// The caches depend neither on a node nor on its arena. Nodes of one operator with equal attributes and
// operand types share a shape, and a chain of shapes is one kernel.
#pragma once

#include <xflow/error.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/cost/kernel_costs.h"
#include "src/ir/graph.h"
#include "src/kernels/node_launch.h"
#include "src/kernels/pattern.h"
#include "src/support/acceptance.h"

namespace xflow::cost {

// The role of a node in a kernel cover.
enum class Role : std::uint8_t {
  absent,     // inputs, constants, expressions of constants: no kernel
  free,       // changes the type only: reshape, identity
  anchor,     // convolution or product: other nodes may be fused into it
  pointwise,  // may be fused into an anchor or a chain
  single,     // a separate kernel
  refused,    // the device cannot run it, or it is opaque
};

enum class ShapeId : std::uint32_t {};

// The common properties of nodes of one kind.
struct NodeShape {
  ShapeId id{};
  Role role = Role::absent;
  ops::KernelSpec spec;       // empty for refused nodes
  Acceptance supported = {};  // or the reason why the device cannot run it
  ops::StepFunction step;     // of a pointwise kernel: its function as a post-operation
  std::vector<double> reals;  // of a pointwise kernel, in the order of the signature
  bool commutative = false;
  bool view = false;  // of a single kernel: its results are views of its operand where that is row-major
};

// The kernel of a node, and the composite that ends at it.
struct NodeRecord {
  const NodeShape* shape = nullptr;
  std::vector<ir::ValueId> operands;   // the operands of the spec
  std::optional<Composite> composite;  // the composite whose exit is this node
  const NodeShape* composite_shape = nullptr;
};

// A kernel of a chain and the number of the operand through which it reads the previous value.
struct Element {
  static constexpr std::uint32_t kFirst = 0xFFFF;  // the first kernel of a chain has no previous value
  ShapeId shape{};
  std::uint32_t position = kFirst;
  friend bool operator==(const Element&, const Element&) = default;
};
// Kernels that each read the result of the previous one.
using Chain = std::vector<Element>;

// A chain fused into one kernel.
struct FusedChain {
  Chain chain;
  ops::KernelSpec spec;
  bool chooses = false;  // whether the library chooses its layouts
  // For each operand, including those of post-operations: whether it is in the kernel's layout.
  std::vector<bool> takes;
  std::array<bool, 6> works{};                   // by layout: whether the kernel works in it
  std::array<const DatabaseEntry*, 6> prices{};  // by layout; null until known
  // By layout: the least price of a kernel that contains this one and was priced before this one was timed.
  std::array<std::optional<Nanoseconds>, 6> ceilings{};
  std::optional<Nanoseconds> estimate;  // at least so long, if it was asked for
};

// Builds, caches and prices fused kernels on one device at one choice of sizes.
class Regions {
 public:
  // The arenas of all nodes that are passed in must share their symbols.
  Regions(KernelCosts& costs, ir::Symbols::Valuation sizes) : costs_(costs), sizes_(std::move(sizes)) {}

  // Describes a node. A node that cannot be described at these sizes is refused with a reason. `explored`
  // receives the nodes that were read to find the composite that ends at the node.
  NodeRecord record(const ir::Arena& arena, const ir::GraphView& graph, ir::NodeId node, std::vector<ir::NodeId>& explored);
  // The fused kernel of a chain; nullptr if the device cannot run the chain in one launch.
  FusedChain* region(const Chain& chain);
  // The number of leading elements of the chain that are best run as one kernel. The chain starts at an
  // anchor or at a pointwise kernel, and its operand arrives in layout `arrives`.
  std::size_t best_prefix(const Chain& chain, Layout arrives);
  // The price of a kernel: the maximum of its own time and the prices of the kernels that it contains. These
  // are the same chain without one element; an anchor stays. So a kernel with less work never has a higher
  // price, whatever was measured. With estimates, contained kernels are not timed for it: those that were
  // not timed count when they are, and then their price is at most that of the kernels that contain them.
  const DatabaseEntry& cost(FusedChain& region, Layout layout);
  // The time of converting a value of a node of this shape between layouts; nullptr if its size is unknown.
  const DatabaseEntry* reorder(const ir::Arena& arena, const NodeShape& shape, ir::ValueId value, Layout from, Layout to);
  std::optional<ops::TensorSpec> tensor(const ir::Arena& arena, ir::ValueId value);
  // Whether the price of a kernel was bounded by that of one that contains it.
  bool is_outdated() const { return is_outdated_; }

 private:
  struct ChainHash {
    std::size_t operator()(const Chain& chain) const;
  };

  // The key of a node's shape: for operations all fields, for constants and inputs the types, for opaque
  // nodes the serial number.
  struct ShapeKey {
    ir::NodeKind kind{};
    std::uint32_t serial = 0;
    ir::OperatorId op{};
    ir::Attributes attributes;
    std::vector<std::pair<ir::TensorType, bool>> operands;  // with a flag for constants
    std::vector<ir::TensorType> outputs;
    std::optional<double> exponent;  // of a power, if it is a constant of one element
  };

  const NodeShape* find_shape(const ir::Arena& arena, ir::NodeId node);
  static ShapeKey key_of(const ir::Arena& arena, const ir::Node& node);
  static bool fits(const ShapeKey& key, const ir::Arena& arena, const ir::Node& node);
  std::unique_ptr<NodeShape> make_shape(const ir::Arena& arena, ir::NodeId node);
  const NodeShape* add_shape(std::unique_ptr<NodeShape> shape);
  const NodeShape* shape_of(const ir::Arena& arena, const Composite& composite);
  std::unique_ptr<FusedChain> make_region(const Chain& chain);
  struct Launch {
    Nanoseconds time{};
    Layout results;
  };
  // The chain as one kernel whose operand arrives in `arrives`, including the reorder that it may need.
  std::optional<Launch> launch(Chain chain, Layout arrives);
  // The least time of the chain over all ways to cut it. `links` receives the length of the first part.
  std::optional<Nanoseconds> least_time(const Chain& chain, Layout arrives, std::size_t* links);
  const DatabaseEntry& measured(const FusedChain& region, Layout layout);
  // As measured(), if the kernel was timed; null if it was not.
  const DatabaseEntry* timed(const FusedChain& region, Layout layout);
  bool is_timed(const FusedChain& region, Layout layout) { return !costs_.may_leave_out() || timed(region, layout) != nullptr; }
  // The kernels that this one contains directly, in a layout in which they work.
  std::vector<FusedChain*> contained_in(const FusedChain& region, Layout layout);
  // The highest price of a timed kernel in this one; null if there is none.
  const DatabaseEntry* highest_in(FusedChain& region, Layout layout, std::vector<const FusedChain*>& seen);
  // Bounds the prices of the kernels in this one that are timed later.
  void bound_contained(const FusedChain& region, Layout layout, Nanoseconds price);
  // Bounds of the time of a kernel in any layout, of launch() and of least_time(), without timing anything.
  // Where the layout is not given, it may be any.
  Nanoseconds estimate_of(FusedChain& region);
  Nanoseconds launch_at_least(Chain chain, Layout arrives);
  Nanoseconds time_at_least(const Chain& chain, std::optional<Layout> arrives);
  bool begins_with_anchor(const Chain& chain) const { return shape(chain[0].shape).role == Role::anchor; }
  const NodeShape& shape(ShapeId id) const { return *shapes_[static_cast<std::size_t>(id)]; }

  KernelCosts& costs_;
  ir::Symbols::Valuation sizes_;
  std::vector<std::unique_ptr<NodeShape>> shapes_;  // by id
  std::unordered_multimap<std::size_t, std::pair<ShapeKey, ShapeId>> shape_index_;
  std::map<std::string, ShapeId> composite_shapes_;  // by kernel text
  std::unordered_map<Chain, std::unique_ptr<FusedChain>, ChainHash> regions_;
  std::array<std::unordered_map<Chain, std::size_t, ChainHash>, 6> decisions_;  // by layout
  std::map<std::tuple<ShapeId, std::uint32_t, Layout, Layout>, const DatabaseEntry*> reorders_;
  std::deque<DatabaseEntry> changed_;  // prices taken from another kernel
  bool is_outdated_ = false;
};

}  // namespace xflow::cost
