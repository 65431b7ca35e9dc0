// A run of a graph as plain data: kernels in order, buffers by number, one block of memory. The same for every device.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/cost/cover.h"
#include "src/ir/graph.h"

namespace xflow::cost {

// Memory ---------------------------------------------------------------------------------------------------------------------------

// Memory that is needed from one launch to another, both included.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

// Where each lies in one block.
struct Placement {
  std::vector<std::size_t> offsets;  // in bytes, multiples of the alignment
  std::size_t bytes = 0;             // of the block
};

// What lives at the same time does not overlap. The largest are placed first, each in the smallest gap that is left to it. Deterministic.
Placement place(std::span<const Lifetime> lifetimes, std::size_t alignment = 64);

// Plans ----------------------------------------------------------------------------------------------------------------------------

enum class BufferId : std::uint32_t {};

// A tensor in memory.
struct Buffer {
  enum class Kind : std::uint8_t {
    value,   // a launch makes it
    input,   // written by the caller before a run
    sized,   // written once: what sizes alone decide
    seeded,  // written once: anything, in the place of what is not run
  };
  ops::TensorSpec tensor;
  Layout layout = Layout::plain;
  Kind kind = Kind::value;
  ir::ValueId value;
  BufferId memory{};  // in whose memory it lies: itself, or what it is another view of
};

// One kernel with its buffers.
struct PlannedLaunch {
  ops::KernelSpec spec;
  Layout operand_layout = Layout::plain;
  Layout result_layout = Layout::plain;
  std::vector<std::optional<BufferId>> operands;  // those of post-operations after; nothing: a constant, which is written before the run
  std::vector<ir::ValueId> values;                // of the operands
  std::vector<BufferId> results;
  std::optional<std::size_t> in_place;  // the operand in whose memory result 0 lies
  Nanoseconds predicted{};
};

struct Plan {
  struct Output {
    ir::ValueId value;
    std::optional<BufferId> buffer;  // nothing: a constant, or a value of unknown size
  };
  std::vector<Buffer> buffers;
  std::vector<PlannedLaunch> launches;
  std::vector<BufferId> inputs;  // buffers of kind input
  std::vector<Output> outputs;

  // What is not run: operations without a kernel here, opaque nodes, and what has no known size.
  std::vector<std::string> refusals;  // the reasons, one for each kernel that is missing
  std::size_t nodes = 0;              // operations of the graph that do something
  std::size_t nodes_run = 0;          // of these, how many the launches compute
  Nanoseconds predicted{};            // the sum over the launches

  Buffer& buffer(BufferId id) { return buffers[static_cast<std::size_t>(id)]; }
  const Buffer& buffer(BufferId id) const { return buffers[static_cast<std::size_t>(id)]; }
  BufferId memory_of(BufferId id) const { return buffer(id).memory; }
  // The share of the nodes that are not run.
  double share_not_run() const { return nodes == 0 ? 0 : 1 - static_cast<double>(nodes_run) / static_cast<double>(nodes); }
};

// The plan of a cover. Reshapes and changes of layout that change no byte are views. What a kernel reads that was not run, because it is
// opaque or nothing here runs it, gets a buffer of its own of kind seeded. `sizes` as for the cover.
Plan make_plan(const ir::Arena& arena, const ir::Graph& graph, const std::vector<CoveredLaunch>& cover,
               const ir::Symbols::Valuation& sizes);

// Whether both launch the same kernels in the same order, each on memory that the others use alike: whatever they compute, one run takes as
// long as the other.
bool run_alike(const Plan& a, const Plan& b);

// Whether the launch may put result 0 where its operand lies: nobody reads that memory afterwards, and no other operand lies there.
bool dies_at(const Plan& plan, std::size_t launch, std::size_t operand);
// Puts result 0 of the launch where the operand lies. Requires dies_at, equal sizes, and no earlier in_place of this launch.
void put_in_place(Plan& plan, std::size_t launch, std::size_t operand);

// The memory of a plan. What is written before a run keeps its own throughout, outputs keep theirs to the end; `slack` bytes follow each
// buffer.
Placement place(const Plan& plan, std::size_t slack, std::size_t alignment = 64);

// Bytes of a tensor in a layout, with the padding of blocked ones.
std::size_t bytes_of(const ops::TensorSpec& tensor, Layout layout);

}  // namespace xflow::cost
