// Kernels that interpret an operator's index notation, used when neither oneDNN nor a loop has the kernel.
#include <algorithm>
#include <cstring>

#include "src/devices/cpu/loop_kernel.h"
#include "src/eval/loop.h"
#include "src/kernels/kernel_graph.h"

namespace xflow::cost::cpu {
namespace {

class NotationKernel final : public LoopKernel {
 public:
  NotationKernel() : LoopKernel(Layout::plain) {}

  Result<void> prepare(const ops::KernelSpec& spec) {
    ir::Arena arena;
    XFLOW_TRY(const ir::NodeId operation, operation_of(arena, spec));
    XFLOW_CHECK(add_buffers(spec));
    for (std::size_t k = 0; k < results_.size(); ++k) {
      XFLOW_TRY(eval::Loop loop, eval::Loop::compile(arena, operation, static_cast<int>(k)));
      loops_.push_back(std::move(loop));
    }
    places_.resize(operands_.size());
    return {};
  }

  // Reads outside of a tensor have no value; the result is left unchanged then.
  void run() override {
    for (std::size_t k = 0; k < places_.size(); ++k) places_[k] = operands_[k].bytes.get();
    for (std::size_t k = 0; k < loops_.size(); ++k) {
      loops_[k].run(places_, results_[k].bytes.get());
      if (loops_[k].was_stopped()) return;
    }
  }
  void stop_when(const std::function<bool()>& stop) override {
    for (eval::Loop& loop : loops_) loop.stop_when(stop);
  }
  bool was_stopped() const override { return std::ranges::any_of(loops_, &eval::Loop::was_stopped); }
  std::size_t scratch_bytes() const override {
    std::size_t sum = 0;
    for (const eval::Loop& loop : loops_) sum += loop.bytes();
    return sum;
  }
  std::string_view implementation() const override { return "index notation, loop"; }

 private:
  std::vector<eval::Loop> loops_;
  std::vector<const std::byte*> places_;  // of the operands, during a run
};

// Results that depend on no operand are computed at build time; a launch copies them.
class TableKernel final : public LoopKernel {
 public:
  TableKernel() : LoopKernel(Layout::plain) {}

  Result<void> prepare(const ops::KernelSpec& spec) {
    ir::Arena arena;
    XFLOW_TRY(const ir::NodeId operation, operation_of(arena, spec));
    XFLOW_CHECK(add_buffers(spec));
    XFLOW_TRY(eval::Loop loop, eval::Loop::compile(arena, operation, 0));
    const std::span<std::byte> result = result_bytes(0);
    if (!loop.run({}, result.data())) return fail(ErrorCode::internal, "an element outside of its tensor was read");
    table_.assign(result.begin(), result.end());
    return {};
  }

  void run() override { std::memcpy(results_[0].bytes.get(), table_.data(), table_.size()); }

 private:
  std::vector<std::byte> table_;
};

}  // namespace

Result<std::unique_ptr<CpuKernel>> build_notation_kernel(const ops::KernelSpec& spec) {
  if (!spec.post.empty()) return fail(ErrorCode::unsupported, "cannot add post-operations to index notation");
  if (spec.operands.empty() && spec.results.size() == 1) {
    auto kernel = std::make_unique<TableKernel>();
    XFLOW_CHECK(kernel->prepare(spec));
    return std::unique_ptr<CpuKernel>(std::move(kernel));
  }
  auto kernel = std::make_unique<NotationKernel>();
  XFLOW_CHECK(kernel->prepare(spec));
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace xflow::cost::cpu
