// Kernels that oneDNN lacks, as plain loops of ours over real buffers.
#pragma once

#include <xflow/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "src/cost/cpu/kernel.h"

namespace xflow::cost::cpu {

// Raises with every change that makes the loops faster or slower, or that times kernels in another way: costs of other versions are not
// comparable.
inline constexpr int kLoopVersion = 4;

// Chains of pointwise operators, blocks of which stay in the first-level cache from the first operator to the last.
Result<std::unique_ptr<Kernel>> build_pointwise_loop(const ops::KernelSpec& spec, Layout layout);
// Kernels "copy" (transpose, concat, split, slice, pad, gather, expand, tile, reshape, nearest resize).
Result<std::unique_ptr<Kernel>> build_copy_loop(const ops::KernelSpec& spec, Layout layout);
// Kernels whose elements come from places that a table or an operand names: gather_elements, gather_nd, one_hot, trilu, nearest resizing,
// padding by reflection, the edge and around; and "cumsum".
Result<std::unique_ptr<Kernel>> build_index_loop(const ops::KernelSpec& spec, Layout layout);
// Products of doubles and integers.
Result<std::unique_ptr<Kernel>> build_matmul_loop(const ops::KernelSpec& spec);
// Kernels "reduce" (sum, mean, max, min, l2) and "normalization" (layer, rms).
Result<std::unique_ptr<Kernel>> build_reduce_loop(const ops::KernelSpec& spec, Layout layout);

// Kernels "reduce" (sum, mean, max, min) of doubles and integers, "softmax" and "log_softmax" of doubles.
Result<std::unique_ptr<Kernel>> build_other_types_loop(const ops::KernelSpec& spec, Layout layout);

// What these kernels share: buffers in a layout that is not padded, written and read in row-major order.
class LoopKernel : public Kernel {
 public:
  Result<void> write(std::size_t operand, std::span<const double> values) override;
  Result<std::vector<double>> read(std::size_t result) const override;
  std::string_view implementation() const override { return "loop"; }
  Layout operand_layout() const override { return layout_; }
  Layout result_layout() const override { return layout_; }
  std::span<std::byte> operand_bytes(std::size_t operand) override { return bytes_of(operands_.at(operand)); }
  std::span<std::byte> result_bytes(std::size_t result) override { return bytes_of(results_.at(result)); }

 protected:
  struct AlignedDelete {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
  };
  struct Tensor {
    ops::TensorSpec spec;
    std::vector<std::int64_t> dims;     // as the kernel sees them: of the rank of the result where the kernel broadcasts
    std::vector<std::int64_t> strides;  // in elements
    std::size_t element_size = 0;
    std::unique_ptr<std::byte[], AlignedDelete> bytes;
    std::size_t elements() const;
  };

  explicit LoopKernel(Layout layout) : layout_(layout) {}
  // Error::unsupported for element types without a byte size, and for blocked layouts.
  Result<void> add_buffers(const ops::KernelSpec& spec, std::size_t broadcast_rank = 0);

  std::vector<Tensor> operands_;
  std::vector<Tensor> results_;

 private:
  static std::span<std::byte> bytes_of(Tensor& tensor) { return {tensor.bytes.get(), tensor.elements() * tensor.element_size}; }
  Result<Tensor> make(const ops::TensorSpec& spec, std::size_t rank) const;
  Layout layout_;
};

// One element of a type as it lies in memory. Error::unsupported for types of less than a byte.
Result<std::vector<std::byte>> element_bytes(ir::DataType type, double value);

// Dimensions that a loop nest walks, with the strides of each tensor in it. Dimensions of size 1 are dropped and neighbours that are
// contiguous in every tensor are joined, so that the last dimension is as long as it can be.
struct LoopNest {
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::int64_t>> strides;  // [tensor][dimension]
};
LoopNest collapse(const std::vector<std::int64_t>& dims, std::vector<std::vector<std::int64_t>> strides);

}  // namespace xflow::cost::cpu
