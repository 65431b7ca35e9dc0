#include "src/runtime/plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "src/kernels/node_launch.h"
#include "src/kernels/view_support.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using ir::NodeId;
using ir::ValueId;

std::size_t aligned(std::size_t bytes, std::size_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

bool is_view(ops::Op op) { return op == ops::Op::Reshape || op == ops::Op::Identity || op == ops::Op::Dropout; }

class Planner {
 public:
  Planner(const ir::Arena& arena, const ir::Graph& graph, const ir::Symbols::Valuation& sizes)
      : arena_(arena), graph_(graph), sizes_(sizes) {}

  Plan make(const std::vector<CoveredLaunch>& cover) {
    for (const CoveredLaunch& launch : cover) add(launch);
    for (const ValueId output : graph_.outputs) {
      Plan::Output planned{output, std::nullopt};
      const auto tensor = tensor_of(arena_, output, sizes_);
      const bool is_string = arena_.type(output).data_type == ir::DataType::string;  // strings are not computed
      if (!arena_.is_constant(output) && tensor && !is_string) planned.buffer = operand(output, *tensor, Layout::plain);
      plan_.outputs.push_back(planned);
    }
    return std::move(plan_);
  }

 private:
  using Key = std::tuple<ValueId, Layout>;

  BufferId add_buffer(ops::TensorSpec tensor, Layout layout, Buffer::Kind kind, ValueId value) {
    const auto id = static_cast<BufferId>(plan_.buffers.size());
    tensor.constant = false;
    plan_.buffers.push_back({std::move(tensor), layout, kind, value, id});
    known_.insert_or_assign(Key(value, layout), id);
    if (kind == Buffer::Kind::input) plan_.inputs.push_back(id);
    return id;
  }

  BufferId add_view(ops::TensorSpec tensor, Layout layout, ValueId value, BufferId of, std::size_t offset = 0) {
    const BufferId id = add_buffer(std::move(tensor), layout, Buffer::Kind::value, value);
    plan_.buffer(id).memory = plan_.memory_of(of);
    plan_.buffer(id).offset = plan_.buffer(of).offset + offset;
    return id;
  }

  std::optional<BufferId> find(ValueId value, Layout layout) const {
    const auto found = known_.find(Key(value, layout));
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  // The buffer of a value that a launch reads. A value that no launch wrote is an input or is not computed.
  BufferId operand(ValueId value, const ops::TensorSpec& tensor, Layout layout) {
    if (const auto known = find(value, layout)) return *known;
    // The value may exist in a layout with equal bytes. Otherwise it was never computed.
    for (const Layout other : {Layout::plain, Layout::channels_last, Layout::blocked4, Layout::blocked8, Layout::blocked16}) {
      const auto known = find(value, other);
      if (known && same_bytes(tensor, other, layout)) return add_view(tensor, layout, value, *known);
    }
    return add_buffer(tensor, layout, arena_.node(value).kind == ir::NodeKind::input ? Buffer::Kind::input : Buffer::Kind::seeded, value);
  }

  void add(const CoveredLaunch& launch) {
    const bool reorder = launch.spec.is(ops::KernelFamily::reorder);
    if (launch.spec.is(ops::KernelFamily::none)) return add_free(launch);
    if (!reorder) plan_.nodes += launch.nodes.size();
    if (!launch.supported) {
      plan_.refusals.push_back(launch.supported.reason);
      return;
    }
    if (!reorder) plan_.nodes_run += launch.nodes.size();
    PlannedLaunch planned;
    planned.spec = launch.spec;
    planned.operand_layout = launch.operand_layout;
    planned.result_layout = launch.result_layout;
    planned.values = launch.operands;
    planned.predicted = launch.cost.median;
    std::size_t next = 0;
    const auto bind = [&](const ops::TensorSpec& tensor) {
      const std::size_t k = next++;
      planned.operands.emplace_back();
      if (!arena_.is_constant(launch.operands[k])) planned.operands[k] = operand(launch.operands[k], tensor, launch.layouts[k]);
    };
    for (const ops::TensorSpec& tensor : launch.spec.operands) bind(tensor);
    for (const ops::PostOperation& post : launch.spec.post)
      for (const ops::TensorSpec& tensor : post.operands) bind(tensor);
    if (reorder && same_bytes(launch.spec.operands[0], launch.operand_layout, launch.result_layout)) {
      add_view(launch.spec.results[0], launch.result_layout, launch.results[0], *planned.operands[0]);
      return;
    }
    for (std::size_t k = 0; k < launch.results.size(); ++k) {
      const Layout layout = has_layouts(launch.spec.results[k]) ? launch.result_layout : Layout::plain;
      planned.results.push_back(add_buffer(launch.spec.results[k], layout, Buffer::Kind::value, launch.results[k]));
    }
    plan_.predicted += launch.cost.median;
    plan_.launches.push_back(std::move(planned));
  }

  // Adds a node that costs nothing: a view of its operand, or a value that depends on sizes alone.
  void add_free(const CoveredLaunch& launch) {
    if (const auto offsets = view_offsets(launch.spec)) {
      const BufferId whole = operand(launch.operands[0], launch.spec.operands[0], Layout::plain);
      for (std::size_t k = 0; k < offsets->size(); ++k)
        add_view(launch.spec.results[k], Layout::plain, launch.results[k], whole, (*offsets)[k]);
      return;
    }
    const ops::TensorSpec& result = launch.spec.results[0];
    const bool view = is_view(ops::get(arena_.node(launch.results[0]).op).op) && !arena_.is_constant(launch.operands[0]);
    if (view) {
      const BufferId seen = operand(launch.operands[0], launch.spec.operands[0], launch.layouts[0]);
      add_view(result, launch.result_layout, launch.results[0], seen);
    } else {
      add_buffer(result, Layout::plain, Buffer::Kind::sized, launch.results[0]);
    }
  }

  const ir::Arena& arena_;
  const ir::Graph& graph_;
  const ir::Symbols::Valuation& sizes_;
  std::map<Key, BufferId> known_;
  Plan plan_;
};

// The launches between which a piece of memory is needed.
struct Span {
  std::size_t first = 0;
  std::size_t last = 0;
  bool kept = false;  // during the whole run
  bool read = false;  // after the run: it holds an output
  bool used = false;
};

std::vector<Span> spans_of(const Plan& plan) {
  std::vector<Span> spans(plan.buffers.size());
  const auto at = [&](BufferId id) -> Span& { return spans[static_cast<std::size_t>(plan.memory_of(id))]; };
  for (std::size_t k = 0; k < plan.buffers.size(); ++k) {
    if (plan.buffers[k].kind != Buffer::Kind::value) at(static_cast<BufferId>(k)).kept = true;
  }
  const auto use = [&](BufferId id, std::size_t launch) {
    Span& span = at(id);
    if (!span.used) span.first = launch;
    span.last = launch;
    span.used = true;
  };
  for (std::size_t k = 0; k < plan.launches.size(); ++k) {
    for (const auto& operand : plan.launches[k].operands)
      if (operand) use(*operand, k);
    for (const BufferId result : plan.launches[k].results) use(result, k);
  }
  for (const Plan::Output& output : plan.outputs)
    if (output.buffer) at(*output.buffer).read = true;
  return spans;
}

// The buffers whose memory has one of the chosen spans; others have no place.
Placement place_those(const Plan& plan, const std::vector<Span>& spans, std::size_t slack, std::size_t alignment,
                      const std::function<bool(const Span&)>& is_chosen) {
  std::vector<Lifetime> lifetimes(plan.buffers.size());
  const std::size_t end = plan.launches.empty() ? 0 : plan.launches.size() - 1;
  for (std::size_t k = 0; k < plan.buffers.size(); ++k) {
    const auto memory = static_cast<std::size_t>(plan.buffers[k].memory);
    const Span& span = spans[memory];
    if (!is_chosen(span)) continue;
    Lifetime& life = lifetimes[memory];
    life.bytes = std::max(life.bytes, plan.buffers[k].offset + bytes_of(plan.buffers[k].tensor, plan.buffers[k].layout) + slack);
    life.first = span.kept ? 0 : span.first;
    life.last = span.kept || span.read ? end : span.last;
  }
  Placement placement = place(lifetimes, alignment);
  for (std::size_t k = 0; k < plan.buffers.size(); ++k)
    if (plan.buffers[k].memory != static_cast<BufferId>(k))
      placement.offsets[k] = placement.offsets[static_cast<std::size_t>(plan.buffers[k].memory)] + plan.buffers[k].offset;
  return placement;
}

}  // namespace

Placement place(std::span<const Lifetime> lifetimes, std::size_t alignment) {
  Placement placement;
  placement.offsets.resize(lifetimes.size());
  std::vector<std::size_t> order(lifetimes.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<std::size_t> placed;  // in ascending order of offset
  for (const std::size_t k : order) {
    const Lifetime& own = lifetimes[k];
    const std::size_t bytes = aligned(own.bytes, alignment);
    if (bytes == 0) continue;
    std::size_t end = 0;  // end of the pieces visited so far
    std::optional<std::size_t> best;
    std::size_t least = 0;
    for (const std::size_t other : placed) {
      if (lifetimes[other].first > own.last || lifetimes[other].last < own.first) continue;
      const std::size_t begin = placement.offsets[other];
      if (begin >= end + bytes && (!best || begin - end < least)) {
        best = end;
        least = begin - end;
      }
      end = std::max(end, begin + aligned(lifetimes[other].bytes, alignment));
    }
    placement.offsets[k] = best.value_or(end);
    placement.bytes = std::max(placement.bytes, placement.offsets[k] + bytes);
    const auto after = std::ranges::upper_bound(placed, placement.offsets[k], {}, [&](std::size_t p) { return placement.offsets[p]; });
    placed.insert(after, k);
  }
  return placement;
}

Plan make_plan(const ir::Arena& arena, const ir::Graph& graph, const std::vector<CoveredLaunch>& cover,
               const ir::Symbols::Valuation& sizes) {
  return Planner(arena, graph, sizes).make(cover);
}

std::size_t complete_before(const Plan& plan, std::size_t output) {
  const auto& buffer = plan.outputs[output].buffer;
  if (!buffer) return 0;
  for (std::size_t launch = plan.launches.size(); launch > 0; --launch) {
    for (const BufferId result : plan.launches[launch - 1].results)
      if (plan.memory_of(result) == plan.memory_of(*buffer)) return launch;
  }
  return 0;
}

std::size_t needed_before(const Plan& plan, ir::ValueId input) {
  const auto is_input = [&](const std::optional<BufferId>& buffer) {
    if (!buffer) return false;
    const Buffer& memory = plan.buffer(plan.memory_of(*buffer));
    return memory.kind == Buffer::Kind::input && memory.value == input;
  };
  if (std::ranges::any_of(plan.outputs, is_input, &Plan::Output::buffer)) return 0;
  for (std::size_t launch = 0; launch < plan.launches.size(); ++launch)
    if (std::ranges::any_of(plan.launches[launch].operands, is_input)) return launch;
  return plan.launches.size();
}

bool run_alike(const Plan& a, const Plan& b) {
  if (a.launches.size() != b.launches.size()) return false;
  // Compares memory by the order of first use: views have separate buffer numbers, but cost nothing.
  std::map<BufferId, BufferId> partners;
  std::map<BufferId, BufferId> back;
  const auto same_memory = [&](BufferId x, BufferId y) {
    const BufferId from = a.memory_of(x);
    const BufferId to = b.memory_of(y);
    if (a.buffer(x).offset != b.buffer(y).offset) return false;
    return partners.try_emplace(from, to).first->second == to && back.try_emplace(to, from).first->second == from;
  };
  for (std::size_t k = 0; k < a.launches.size(); ++k) {
    const PlannedLaunch& one = a.launches[k];
    const PlannedLaunch& other = b.launches[k];
    if (one.spec != other.spec || one.operand_layout != other.operand_layout || one.result_layout != other.result_layout) return false;
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
      if (one.operands[i].has_value() != other.operands[i].has_value()) return false;
      if (one.operands[i] && !same_memory(*one.operands[i], *other.operands[i])) return false;
    }
    for (std::size_t i = 0; i < one.results.size(); ++i)
      if (!same_memory(one.results[i], other.results[i])) return false;
  }
  return true;
}

bool dies_at(const Plan& plan, std::size_t launch, std::size_t operand) {
  const PlannedLaunch& own = plan.launches[launch];
  if (!own.operands[operand]) return false;
  const BufferId memory = plan.memory_of(*own.operands[operand]);
  for (std::size_t k = 0; k < own.operands.size(); ++k) {
    if (k != operand && own.operands[k] && plan.memory_of(*own.operands[k]) == memory) return false;
  }
  const Span span = spans_of(plan)[static_cast<std::size_t>(memory)];
  return !span.kept && !span.read && span.last == launch;
}

void put_in_place(Plan& plan, std::size_t launch, std::size_t operand) {
  PlannedLaunch& own = plan.launches[launch];
  own.in_place = operand;
  const BufferId from = plan.memory_of(own.results[0]);
  const BufferId to = plan.memory_of(*own.operands[operand]);
  const std::size_t offset = plan.buffer(*own.operands[operand]).offset;
  // Views of the result move with it.
  for (Buffer& buffer : plan.buffers) {
    if (buffer.memory != from) continue;
    buffer.memory = to;
    buffer.offset += offset;
  }
}

Placement place(const Plan& plan, std::size_t slack, std::size_t alignment) {
  return place_those(plan, spans_of(plan), slack, alignment, [](const Span&) { return true; });
}

DividedPlacement place_divided(const Plan& plan, std::size_t slack, std::size_t alignment) {
  const std::vector<Span> spans = spans_of(plan);
  const auto is_kept = [](const Span& span) { return span.kept || span.read; };
  DividedPlacement divided;
  divided.kept = place_those(plan, spans, slack, alignment, is_kept);
  divided.passing = place_those(plan, spans, slack, alignment, [&](const Span& span) { return !is_kept(span); });
  for (const Buffer& buffer : plan.buffers) divided.is_kept.push_back(is_kept(spans[static_cast<std::size_t>(buffer.memory)]));
  return divided;
}

std::size_t bytes_of(const ops::TensorSpec& tensor, Layout layout) {
  const std::int64_t block = layout == Layout::blocked4 ? 4 : layout == Layout::blocked8 ? 8 : layout == Layout::blocked16 ? 16 : 1;
  std::size_t elements = 1;
  for (std::size_t k = 0; k < tensor.dims.size(); ++k) {
    const std::int64_t d = tensor.dims[k];
    elements *= static_cast<std::size_t>(k == 1 && has_layouts(tensor) ? (d + block - 1) / block * block : d);
  }
  return elements * static_cast<std::size_t>(std::max(ir::bits(tensor.data_type), 8)) / 8;
}

}  // namespace xflow::cost
