// A kernel that is ready to run on this CPU: what the device times, and what tests compare with a naive computation.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/ir/constant.h"
#include "src/kernels/device.h"

namespace xflow::cost::cpu {

// Owns its buffers until it is bound to others. Constant operands are packed when they are written, outside of `run`.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // One launch on what the buffers hold. What it needs was made before: it allocates nothing of ours.
  virtual void run() = 0;
  // Memory that a run takes besides operands and results, as far as it is known: of index notation.
  virtual std::size_t scratch_bytes() const { return 0; }

  // Operand k of the spec, followed by the operands of its post-operations in order; `values` are row-major in the spec's dimensions and
  // are rounded to the operand's type.
  virtual Result<void> write(std::size_t operand, std::span<const double> values) = 0;
  virtual Result<std::vector<double>> read(std::size_t result) const = 0;

  // The memory of operand k or of a result, as it lies in the kernel's layout. Constant operands may lie packed.
  virtual std::span<std::byte> operand_bytes(std::size_t operand) = 0;
  virtual std::span<std::byte> result_bytes(std::size_t result) = 0;
  // The operand that lies where the result does and is lost in a launch, if there is one.
  virtual std::optional<std::size_t> overwritten() const { return std::nullopt; }
  // Whether operand k may lie where result 0 does: each element of the result is written when what lies in its place was read.
  virtual bool works_in_place(std::size_t /*operand*/) const { return false; }

  // From now on operand k, or a result, lies where the caller says, aligned to 64 bytes: as many bytes as operand_bytes has, and kSlack
  // more that a vector may read. The memory that the kernel had for it is freed. nullptr frees alone: then there is nothing to run on.
  virtual void bind_operand(std::size_t operand, std::byte* place) = 0;
  virtual void bind_result(std::size_t result, std::byte* place) = 0;
  static constexpr std::size_t kSlack = 64;

  // The same kernel on the same memory, to be bound elsewhere; nullptr where binding before each launch costs nothing.
  virtual std::unique_ptr<Kernel> copy() const { return nullptr; }

  // As `write`, the elements exactly as the constant has them. Its type is that of the operand.
  virtual Result<void> write_constant(std::size_t operand, const ir::Constant& constant);

  // Asked now and then within a launch, by kernels of ours that may take long: true ends it, and the results hold nothing then. It must
  // outlive the kernel. Kernels of a library cannot be ended.
  virtual void stop_when(const std::function<bool()>& /*stop*/) {}
  virtual bool was_stopped() const { return false; }  // in the last launch

  virtual std::string_view implementation() const = 0;  // "brgconv:avx512_core", "loop"
  virtual Layout operand_layout() const = 0;            // of operands that have layouts
  virtual Layout result_layout() const = 0;
};

// One operator of a pointwise kernel. Operand numbers count as in ops::all_operands, without the running value.
struct Step {
  ops::StepFunction function;
  std::size_t position = 0;  // operand number of the running value in the operation; for step 0 always 0: operand 0 is the running value
  std::vector<double> reals;
  std::vector<std::size_t> operands;
};

// The steps of a pointwise kernel, its own operator first.
std::vector<Step> pointwise_steps(const ops::KernelSpec& spec);
// The steps of the post-operations of any kernel.
std::vector<Step> post_steps(const ops::KernelSpec& spec);

// The strides, in elements, of a tensor of size `dims` in a layout that is not blocked.
std::vector<std::int64_t> layout_strides(const std::vector<std::int64_t>& dims, Layout layout);
// `dims` with ones in front up to `rank`.
std::vector<std::int64_t> padded_to(std::vector<std::int64_t> dims, std::size_t rank);

}  // namespace xflow::cost::cpu
