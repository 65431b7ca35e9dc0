// The run of a graph as plain data, independent of the device: kernels in order, numbered buffers, one block
// of memory.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/ir/graph.h"

namespace xflow::cost {

// Memory ---------------------------------------------------------------------------------------------------------------------------

// A piece of memory that is needed from launch `first` to launch `last`, inclusive.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

// The offset of each piece in one block.
struct Placement {
  std::vector<std::size_t> offsets;  // in bytes, multiples of the alignment
  std::size_t bytes = 0;             // of the block
};

// Places pieces so that those with overlapping lifetimes do not overlap in memory. The largest pieces are
// placed first, each in the smallest gap that fits. Deterministic.
Placement place(std::span<const Lifetime> lifetimes, std::size_t alignment = 64);

// Plans ----------------------------------------------------------------------------------------------------------------------------

enum class BufferId : std::uint32_t {};

// A tensor in memory.
struct Buffer {
  enum class Kind : std::uint8_t {
    value,   // written by a launch
    input,   // written by the caller before a run
    sized,   // written once before the runs: a value that depends on sizes alone
    seeded,  // written once before the runs: arbitrary values in place of a result that is not computed
  };
  ops::TensorSpec tensor;
  Layout layout = Layout::plain;
  Kind kind = Kind::value;
  ir::ValueId value;
  BufferId memory{};       // the buffer that owns its memory: itself, or the buffer that it is a view of
  std::size_t offset = 0;  // in that memory, in bytes
};

// A kernel with its buffers.
struct PlannedLaunch {
  ops::KernelSpec spec;
  Layout operand_layout = Layout::plain;
  Layout result_layout = Layout::plain;
  // By operand, those of post-operations last. nullopt: a constant, which is written before the run.
  std::vector<std::optional<BufferId>> operands;
  std::vector<ir::ValueId> values;  // of the operands
  std::vector<BufferId> results;
  std::optional<std::size_t> in_place;  // the operand whose memory result 0 reuses
  Nanoseconds predicted{};
};

// The launches of a graph and their buffers.
struct Plan {
  struct Output {
    ir::ValueId value;
    std::optional<BufferId> buffer;  // nullopt: a constant, or a value of unknown size
  };
  std::vector<Buffer> buffers;
  std::vector<PlannedLaunch> launches;
  std::vector<BufferId> inputs;  // buffers of kind input
  std::vector<Output> outputs;

  // The parts of the graph that are not run: operations without a kernel on this device, opaque nodes, and
  // nodes of unknown size.
  std::vector<std::string> refusals;  // the reasons, one for each missing kernel
  std::size_t nodes = 0;              // operations of the graph, without those that launch nothing
  std::size_t nodes_run = 0;          // the number of them that the launches compute
  Nanoseconds predicted{};            // the sum over the launches

  Buffer& buffer(BufferId id) { return buffers[static_cast<std::size_t>(id)]; }
  const Buffer& buffer(BufferId id) const { return buffers[static_cast<std::size_t>(id)]; }
  BufferId memory_of(BufferId id) const { return buffer(id).memory; }
  // The fraction of the nodes that are not run.
  double share_not_run() const { return nodes == 0 ? 0 : 1 - static_cast<double>(nodes_run) / static_cast<double>(nodes); }
};

// The plan of a kernel cover. Reshapes, layout conversions that change no byte, and the splits and slices
// that the cover launches as "none" become views. If a kernel reads a value that is not computed, because
// its node is opaque or has no kernel on this device, the value gets a buffer of kind seeded. `sizes` must
// be those of the cover.
Plan make_plan(const ir::Arena& arena, const ir::Graph& graph, const std::vector<CoveredLaunch>& cover,
               const ir::Symbols::Valuation& sizes);

// The number of the first launch before which an output has its value; 0 for a value that no launch writes.
std::size_t complete_before(const Plan& plan, std::size_t output);
// The number of the first launch that reads an input, or a part or another layout of it: 0 if it is an
// output, plan.launches.size() if none does.
std::size_t needed_before(const Plan& plan, ir::ValueId input);

// Whether both plans launch the same kernels in the same order with the same sharing of memory between
// launches. Then both take the same time, whatever they compute.
bool run_alike(const Plan& a, const Plan& b);

// Whether the launch may write result 0 over the operand: no later launch reads that memory or a part of
// it, and no other operand is in it.
bool dies_at(const Plan& plan, std::size_t launch, std::size_t operand);
// Places result 0 of the launch in the memory of the operand. Requires dies_at, equal sizes, and no earlier
// in_place of this launch.
void put_in_place(Plan& plan, std::size_t launch, std::size_t operand);

// Places the buffers of a plan. Buffers that are written before a run keep their memory throughout, and
// outputs keep theirs to the end. `slack` bytes follow each buffer.
Placement place(const Plan& plan, std::size_t slack, std::size_t alignment = 64);

// Placements of a plan in two blocks. A buffer has its offset in one of them.
struct DividedPlacement {
  Placement kept;             // what is written before a run or read after it
  Placement passing;          // what is written and read in a run alone; programs may share it
  std::vector<bool> is_kept;  // by buffer
};
DividedPlacement place_divided(const Plan& plan, std::size_t slack, std::size_t alignment = 64);

// The size of a tensor in a layout in bytes, including the padding of blocked layouts.
std::size_t bytes_of(const ops::TensorSpec& tensor, Layout layout);

}  // namespace xflow::cost
