// A kernel that is ready to run on this CPU. The device times it; tests compare it with a naive computation.
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

// Owns its buffers until they are bound to other memory. Constant operands are packed when they are written,
// not in `run`.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;

  // Launches the kernel once on its buffers. Everything it needs exists already: xflow's code allocates
  // nothing here.
  virtual void run() = 0;
  // Bytes that a run takes in addition to operands and results. Known for kernels in index notation only.
  virtual std::size_t scratch_bytes() const { return 0; }

  // Writes operand k of the spec; the operands of the post-operations follow those of the spec in order.
  // `values` are row-major in the spec's dimensions and are rounded to the operand's type.
  virtual Result<void> write(std::size_t operand, std::span<const double> values) = 0;
  virtual Result<std::vector<double>> read(std::size_t result) const = 0;

  // The memory of an operand or a result, in the kernel's layout. Constant operands may be packed.
  virtual std::span<std::byte> operand_bytes(std::size_t operand) = 0;
  virtual std::span<std::byte> result_bytes(std::size_t result) = 0;
  // The operand that shares the buffer of the result and is overwritten by a launch, if there is one.
  virtual std::optional<std::size_t> overwritten() const { return std::nullopt; }
  // Whether operand k may share the buffer of result 0: the kernel reads an element before it writes the
  // result to the same place.
  virtual bool works_in_place(std::size_t /*operand*/) const { return false; }

  // Binds an operand or a result to memory of the caller, aligned to 64 bytes. It must have the size of
  // operand_bytes or result_bytes plus kSlack bytes, which vector loads may read. Frees the kernel's own
  // buffer. nullptr only frees the buffer; the kernel cannot run until it is bound again.
  virtual void bind_operand(std::size_t operand, std::byte* place) = 0;
  virtual void bind_result(std::size_t result, std::byte* place) = 0;
  static constexpr std::size_t kSlack = 64;

  // A copy of the kernel on the same memory, to be bound to other memory. nullptr if binding before each
  // launch costs nothing.
  virtual std::unique_ptr<CpuKernel> copy() const { return nullptr; }

  // Like `write`, but copies the elements exactly. The constant must have the operand's type.
  virtual Result<void> write_constant(std::size_t operand, const ir::Constant& constant);

  // Sets a function that long-running loops call from time to time within a launch. If it returns true, the
  // launch ends and the results are undefined. `stop` must outlive the kernel. Kernels of a library cannot
  // be stopped.
  virtual void stop_when(const std::function<bool()>& /*stop*/) {}
  virtual bool was_stopped() const { return false; }  // by `stop`, in the last launch

  virtual std::string_view implementation() const = 0;  // "brgconv:avx512_core", "loop"
  virtual Layout operand_layout() const = 0;            // of operands that have layouts
  virtual Layout result_layout() const = 0;
};

// One operator of a pointwise kernel. Operands are numbered as in ops::all_operands, without the running
// value.
struct Step {
  ops::StepFunction function;
  // Operand number of the running value in the operation. Always 0 for step 0: operand 0 is the running
  // value.
  std::size_t position = 0;
  std::vector<double> reals;
  std::vector<std::size_t> operands;
};

// The steps of a pointwise kernel, starting with its own operator.
std::vector<Step> pointwise_steps(const ops::KernelSpec& spec);
// The steps of the post-operations of any kernel.
std::vector<Step> post_steps(const ops::KernelSpec& spec);

// The strides, in elements, of a tensor of size `dims` in a layout that is not blocked.
std::vector<std::int64_t> layout_strides(const std::vector<std::int64_t>& dims, Layout layout);
// `dims` with leading ones added up to `rank`.
std::vector<std::int64_t> padded_to(std::vector<std::int64_t> dims, std::size_t rank);

}  // namespace xflow::cost::cpu
