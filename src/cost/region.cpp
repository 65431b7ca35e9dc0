#include "src/cost/region.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using ir::NodeId;
using ir::ValueId;

bool is_anchor(const ops::KernelSpec& spec) {
  return spec.kernel == "matmul" || spec.kernel == "convolution" || spec.kernel == "transposed_convolution";
}

bool is_pointwise(const ops::KernelSpec& spec) { return spec.kernel.starts_with("pointwise/"); }

}  // namespace

std::size_t Regions::ChainHash::operator()(const Chain& chain) const {
  std::size_t hash = chain.size();
  for (const Link& link : chain) hash = hash * 0x9E3779B97F4A7C15ULL + std::hash<NodeId>()(link.node) + (link.composite ? 1 : 0);
  return hash;
}

Result<const NodeRecord*> Regions::record(NodeId id) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= records_.size()) records_.resize(std::max(arena_.size(), index + 1));
  if (!records_[index]) {
    XFLOW_TRY(NodeRecord made, make_record(id));
    records_[index] = std::make_unique<NodeRecord>(std::move(made));
  }
  return records_[index].get();
}

Result<NodeRecord> Regions::make_record(NodeId id) {
  const ir::Node& node = arena_.node(id);
  NodeRecord record;
  if (node.is_constant || node.is_absent || node.kind == ir::NodeKind::input || node.kind == ir::NodeKind::constant) return record;
  if (node.kind == ir::NodeKind::opaque) {
    record.role = Role::refused;
    record.refusal = fmt::format("cannot run opaque node {} here", node.serial);
    return record;
  }
  Result<NodeKernel> kernel = kernel_of(arena_, id, sizes_);
  if (!kernel) {  // a size that is not known, a combination that the operator has no kernel for: nothing to measure
    record.role = Role::refused;
    record.refusal = fmt::format("{}: {}", ops::get(node.op).signature.name, kernel.error().message);
    return record;
  }
  record.kernel = *std::move(kernel);
  const ops::KernelSpec& spec = record.kernel.spec;
  record.role = Role::single;
  if (spec.kernel == "none") {
    record.role = Role::free;
  } else if (is_anchor(spec)) {
    record.role = Role::anchor;
  } else if (is_pointwise(spec)) {
    record.role = Role::pointwise;
    record.reals = step_reals(node);
    record.composite = find_composite(arena_, id);
  }
  return record;
}

Result<ops::TensorSpec> Regions::tensor(ValueId value) {
  const ir::TensorType& type = arena_.type(value);
  ops::TensorSpec spec{type.data_type, {}, arena_.is_constant(value)};
  for (const ir::Poly& dim : type.shape) {
    const auto known = arena_.symbols().evaluate(dim, sizes_);
    if (!known)
      return fail(ErrorCode::unsupported,
                  fmt::format("cannot cost a graph: {} has no value at these sizes", arena_.symbols().to_string(dim)));
    spec.dims.push_back(*known);
  }
  return spec;
}

// The link as a kernel of its own.
Result<NodeKernel> Regions::link_kernel(const Link& link) {
  XFLOW_TRY(const NodeRecord* record, this->record(link.node));
  if (!link.composite) return record->kernel;
  const Composite& composite = *record->composite;
  NodeKernel kernel;
  kernel.spec.kernel = composite.kernel;
  kernel.spec.word = composite.word;
  kernel.operands = {composite.entry};
  kernel.operands.insert(kernel.operands.end(), composite.parameters.begin(), composite.parameters.end());
  for (const ValueId value : kernel.operands) {
    XFLOW_TRY(ops::TensorSpec spec, tensor(value));
    kernel.spec.operands.push_back(std::move(spec));
  }
  XFLOW_TRY(ops::TensorSpec result, tensor(ValueId{link.node, 0}));
  kernel.spec.results = {std::move(result)};
  if (!composite.axes.empty()) kernel.spec.integers = {{"axes", composite.axes}};
  return kernel;
}

Result<std::optional<ops::PostOperation>> Regions::post_of(const Link& link, ValueId running, std::vector<ValueId>& operands) {
  XFLOW_TRY(const NodeRecord* record, this->record(link.node));
  ops::PostOperation post;
  if (link.composite) {
    if (!is_pointwise(ops::KernelSpec{record->composite->kernel, {}, {}, {}, {}, {}, {}}) || record->composite->entry != running) {
      return std::optional<ops::PostOperation>();
    }
    post.name = parse_step(record->composite->kernel).operation;
    return std::optional(std::move(post));
  }
  const NodeKernel& kernel = record->kernel;
  const auto reads = static_cast<std::size_t>(std::ranges::count(kernel.operands, running));
  if (reads != 1 || !is_pointwise(kernel.spec)) return std::optional<ops::PostOperation>();
  const auto position = static_cast<std::size_t>(std::ranges::find(kernel.operands, running) - kernel.operands.begin());
  // Where the order of operands does not matter, all orders have one name.
  const bool in_order = position == 0 || ops::get(arena_.node(link.node).op).signature.commutative;
  const std::string_view operation = parse_step(kernel.spec.kernel).operation;
  post.name = in_order ? std::string(operation) : fmt::format("{}@{}", operation, position);
  post.reals = record->reals;
  for (std::size_t k = 0; k < kernel.operands.size(); ++k) {
    if (k == position) continue;
    post.operands.push_back(kernel.spec.operands[k]);
    operands.push_back(kernel.operands[k]);
  }
  return std::optional(std::move(post));
}

Result<Region*> Regions::region(const Chain& chain) {
  const auto found = regions_.find(chain);
  if (found != regions_.end()) return found->second.get();
  XFLOW_TRY(std::unique_ptr<Region> made, make_region(chain));
  return regions_.emplace(chain, std::move(made)).first->second.get();
}

Result<std::unique_ptr<Region>> Regions::make_region(const Chain& chain) {
  auto region = std::make_unique<Region>();
  region->chain = chain;
  XFLOW_TRY(NodeKernel base, link_kernel(chain[0]));
  region->spec = std::move(base.spec);
  region->operands = std::move(base.operands);
  ValueId running{chain[0].node, 0};
  for (std::size_t k = 1; k < chain.size(); ++k) {
    XFLOW_TRY(const std::optional<ops::PostOperation> post, post_of(chain[k], running, region->operands));
    running = ValueId{chain[k].node, 0};
    XFLOW_TRY(const ops::TensorSpec result, tensor(running));
    if (!post || !(result == region->spec.results[0]) || !costs_.device().can_fuse(region->spec, *post)) return std::unique_ptr<Region>();
    region->spec.post.push_back(*post);
  }
  return region;
}

Layout Regions::work_layout(const ops::KernelSpec& spec, Layout wanted) const {
  if (costs_.device().chooses_layout(spec)) return Layout::any;
  return wanted != Layout::any && costs_.device().works_in(spec, wanted) ? wanted : Layout::plain;
}

const DatabaseEntry& Regions::cost(Region& region, Layout layout) {
  const DatabaseEntry*& entry = region.costs[static_cast<std::size_t>(layout)];
  if (entry == nullptr) entry = &costs_.of(region.spec, layout);
  return *entry;
}

Result<std::optional<Nanoseconds>> Regions::pointwise_time(const Chain& chain, std::size_t first, Layout layout) {
  if (first >= chain.size()) return std::optional(Nanoseconds{});
  std::optional<Nanoseconds> best;
  const auto consider = [&](Region* region) -> std::optional<Nanoseconds> {
    if (region == nullptr) return std::nullopt;
    const DatabaseEntry& entry = cost(*region, work_layout(region->spec, layout));
    if (!entry.refusal.empty()) return std::nullopt;
    return entry.cost.median;
  };
  XFLOW_TRY(Region * whole, region(Chain(chain.begin() + static_cast<std::ptrdiff_t>(first), chain.end())));
  best = consider(whole);
  if (chain.size() - first == 1) return best;
  std::optional<Nanoseconds> sum = Nanoseconds{};
  for (std::size_t k = first; k < chain.size() && sum; ++k) {
    XFLOW_TRY(Region * part, region(Chain{chain[k]}));
    const auto time = consider(part);
    sum = time ? std::optional(*sum + *time) : std::nullopt;
  }
  if (sum && (!best || *sum < *best)) best = sum;
  return best;
}

Result<std::size_t> Regions::best_prefix(const Chain& chain) {
  if (chain.size() == 1) return std::size_t{1};
  if (const auto found = decisions_.find(chain); found != decisions_.end()) return found->second;
  // The most links that the device takes in one launch.
  std::size_t most = 1;
  for (std::size_t k = 2; k <= chain.size(); ++k) {
    XFLOW_TRY(const Region* longer, region(Chain(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(k))));
    if (longer == nullptr) break;
    most = k;
  }
  std::size_t best = 1;
  if (most > 1) {
    // All that can be fused, nothing, and for anchors the first (the bias) alone.
    std::vector<std::size_t> choices = {most};
    XFLOW_TRY(const NodeRecord* first, record(chain[0].node));
    if (first->role == Role::anchor && most > 2) choices.push_back(2);
    choices.push_back(1);
    XFLOW_TRY(Region * alone, region(Chain{chain[0]}));
    const Layout request = work_layout(alone->spec, Layout::plain);
    const DatabaseEntry& base = cost(*alone, request);
    const Layout layout = request == Layout::any ? base.cost.results : request;
    std::optional<Nanoseconds> least;
    for (const std::size_t links : choices) {
      XFLOW_TRY(Region * fused, region(Chain(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(links))));
      const DatabaseEntry& entry = cost(*fused, request);
      if (!entry.refusal.empty()) continue;
      XFLOW_TRY(const std::optional<Nanoseconds> rest, pointwise_time(chain, links, layout));
      if (!rest) continue;
      const Nanoseconds time = entry.cost.median + *rest;
      if (!least || time < *least) {
        least = time;
        best = links;
      }
    }
  }
  decisions_.emplace(chain, best);
  return best;
}

Result<const DatabaseEntry*> Regions::reorder(ValueId value, Layout from, Layout to) {
  const ReorderKey key{value, from, to};
  if (const auto found = reorders_.find(key); found != reorders_.end()) return found->second;
  XFLOW_TRY(ops::TensorSpec spec, tensor(value));
  spec.constant = false;
  const DatabaseEntry* entry = &costs_.of(reorder_spec(spec, from, to), Layout::any);
  reorders_.emplace(key, entry);
  return entry;
}

}  // namespace xflow::cost
