// Regions of a cover as kernels.
//
// What is remembered depends neither on the node nor on its arena: nodes of one operator with equal attributes and operand types share a
// shape, and a chain of shapes is one kernel.
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

// How a node takes part in a cover.
enum class Role : std::uint8_t {
  absent,     // inputs, constants, expressions of constants: no region
  free,       // changes nothing but the type: reshape, identity
  anchor,     // convolution or product: others may be fused into it
  pointwise,  // may be fused into an anchor or a chain
  single,     // a kernel of its own
  refused,    // nothing here can run it, or it is opaque
};

enum class ShapeId : std::uint32_t {};

// What nodes of one kind have in common.
struct NodeShape {
  ShapeId id{};
  Role role = Role::absent;
  ops::KernelSpec spec;       // not of refused nodes
  Acceptance supported = {};  // else why nothing here can run it
  ops::StepFunction step;     // of a pointwise kernel: as a post-operation
  std::vector<double> reals;  // of a pointwise kernel, in the order of the signature
  bool commutative = false;
};

struct NodeRecord {
  const NodeShape* shape = nullptr;
  std::vector<ir::ValueId> operands;   // of the spec
  std::optional<Composite> composite;  // with this node as the exit
  const NodeShape* composite_shape = nullptr;
};

// A kernel in a chain and how it reads the value before it: which of its operands that is.
struct Element {
  static constexpr std::uint32_t kFirst = 0xFFFF;  // there is no value before it
  ShapeId shape{};
  std::uint32_t position = kFirst;
  friend bool operator==(const Element&, const Element&) = default;
};
using Chain = std::vector<Element>;

// A chain as one kernel.
struct FusedChain {
  Chain chain;
  ops::KernelSpec spec;
  bool chooses = false;                          // the library chooses its layouts
  std::vector<bool> takes;                       // for each operand, those of post-operations included: it lies in the kernel's layout
  std::array<bool, 6> works{};                   // layouts that it works in
  std::array<const DatabaseEntry*, 6> prices{};  // by layout, once known
};

class Regions {
 public:
  // All arenas whose nodes are asked for share their symbols.
  Regions(KernelCosts& costs, ir::Symbols::Valuation sizes) : costs_(costs), sizes_(std::move(sizes)) {}

  // A node that cannot be described at these sizes is refused, with the reason. `explored` gets the nodes that were read to find the
  // composite that ends here.
  NodeRecord record(const ir::Arena& arena, const ir::GraphView& graph, ir::NodeId node, std::vector<ir::NodeId>& explored);
  // The kernel of this chain; nullptr if the device cannot run it in one launch.
  FusedChain* region(const Chain& chain);
  // How many elements of the chain, which starts at an anchor or at a pointwise kernel whose operand arrives in `arrives`, are best run as
  // one kernel.
  std::size_t best_prefix(const Chain& chain, Layout arrives);
  // What the kernel is priced at: the longest of its own time and the prices of the kernels that it contains, which are the same chain
  // without one of its elements (but an anchor stays). A kernel with less to do is never dearer, whatever was measured.
  const DatabaseEntry& cost(FusedChain& region, Layout layout);
  // The time of bringing a value of a node of this shape from one layout to another; nullptr if its size is not known.
  const DatabaseEntry* reorder(const ir::Arena& arena, const NodeShape& shape, ir::ValueId value, Layout from, Layout to);
  std::optional<ops::TensorSpec> tensor(const ir::Arena& arena, ir::ValueId value);

 private:
  struct ChainHash {
    std::size_t operator()(const Chain& chain) const;
  };

  // What decides the shape of a node: of operations that run all of it, of constants and inputs the type, of opaque nodes which it is.
  struct ShapeKey {
    ir::NodeKind kind{};
    std::uint32_t serial = 0;
    ir::OperatorId op{};
    ir::Attributes attributes;
    std::vector<std::pair<ir::TensorType, bool>> operands;  // and whether they are constant
    std::vector<ir::TensorType> outputs;
    std::optional<double> exponent;  // of a power, if it is one constant number
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
  // The chain as one kernel, where its value arrives in `arrives`: with the reorder that it may need.
  std::optional<Launch> launch(Chain chain, Layout arrives);
  // The least time for the chain, cut anywhere; `links`: where that cuts first.
  std::optional<Nanoseconds> least_time(const Chain& chain, Layout arrives, std::size_t* links);
  const DatabaseEntry& measured(const FusedChain& region, Layout layout);
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
  std::deque<DatabaseEntry> raised_;  // prices that are those of a contained kernel
};

}  // namespace xflow::cost
