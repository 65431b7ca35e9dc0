// Regions of a cover as kernels, built from nodes and remembered.
#pragma once

#include <xflow/result.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/cost/kernel_costs.h"
#include "src/cost/node_kernel.h"
#include "src/cost/pattern.h"
#include "src/ir/graph.h"

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

struct NodeRecord {
  Role role = Role::absent;
  NodeKernel kernel;                   // not for absent and refused
  std::string refusal;                 // of a refused node
  std::optional<Composite> composite;  // with this node as the exit
  std::vector<double> reals;           // of a pointwise node
};

// One element of a chain: a node, or the composite of which it is the exit.
struct Link {
  ir::NodeId node{};
  bool composite = false;
  friend auto operator<=>(const Link&, const Link&) = default;
};
using Chain = std::vector<Link>;

// A region as one kernel.
struct Region {
  Chain chain;
  ops::KernelSpec spec;
  std::vector<ir::ValueId> operands;            // of the spec and its post-operations, in order
  std::array<const DatabaseEntry*, 6> costs{};  // by layout, once known
};

class Regions {
 public:
  Regions(const ir::Arena& arena, KernelCosts& costs, ir::Symbols::Valuation sizes)
      : arena_(arena), costs_(costs), sizes_(std::move(sizes)) {}

  // A node that cannot be described at these sizes is refused, with the reason.
  Result<const NodeRecord*> record(ir::NodeId node);
  // The region of this chain; nullptr if the device cannot run it as one kernel.
  Result<Region*> region(const Chain& chain);
  // How many links of the chain, which starts at an anchor or pointwise node, are best run as one kernel.
  Result<std::size_t> best_prefix(const Chain& chain);
  const DatabaseEntry& cost(Region& region, Layout layout);
  // The time of bringing a value from one layout to another.
  Result<const DatabaseEntry*> reorder(ir::ValueId value, Layout from, Layout to);
  Result<ops::TensorSpec> tensor(ir::ValueId value);

 private:
  struct ChainHash {
    std::size_t operator()(const Chain& chain) const;
  };

  Result<NodeRecord> make_record(ir::NodeId node);
  Result<std::unique_ptr<Region>> make_region(const Chain& chain);
  Result<NodeKernel> link_kernel(const Link& link);
  // The link as a post-operation on the value `running`; nothing if it reads it more than once.
  Result<std::optional<ops::PostOperation>> post_of(const Link& link, ir::ValueId running, std::vector<ir::ValueId>& operands);
  // The least time for the chain from link `first` on, as pointwise kernels in `layout`: all in one, or each alone.
  Result<std::optional<Nanoseconds>> pointwise_time(const Chain& chain, std::size_t first, Layout layout);
  Layout work_layout(const ops::KernelSpec& spec, Layout wanted) const;

  const ir::Arena& arena_;
  KernelCosts& costs_;
  ir::Symbols::Valuation sizes_;
  std::vector<std::unique_ptr<NodeRecord>> records_;
  std::unordered_map<Chain, std::unique_ptr<Region>, ChainHash> regions_;
  std::unordered_map<Chain, std::size_t, ChainHash> decisions_;
  struct ReorderKey {
    ir::ValueId value;
    Layout from;
    Layout to;
    friend auto operator<=>(const ReorderKey&, const ReorderKey&) = default;
  };
  std::map<ReorderKey, const DatabaseEntry*> reorders_;
};

}  // namespace xflow::cost
