// Kernels that oneDNN lacks, as plain loops over buffers.
#pragma once

#include <xflow/error.h>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "src/devices/cpu/cpu_kernel.h"

namespace xflow::cost::cpu {

// Must be raised with every change that makes the loops faster or slower or that times kernels differently:
// costs of different versions are not comparable.
inline constexpr int kLoopVersion = 8;

using Dims = std::vector<std::int64_t>;

// Chains of pointwise operators. A block stays in the first-level cache from the first operator to the last.
Result<std::unique_ptr<CpuKernel>> build_pointwise_loop(const ops::KernelSpec& spec, Layout layout);
// Kernels "copy" (transpose, concat, split, slice, pad, gather, expand, tile, reshape, nearest resize).
Result<std::unique_ptr<CpuKernel>> build_copy_loop(const ops::KernelSpec& spec, Layout layout);
// Kernels whose elements are looked up by a table or an operand (gather_elements, gather_nd, one_hot, trilu,
// nearest resize, pad by reflect, edge and wrap), and "cumsum".
Result<std::unique_ptr<CpuKernel>> build_index_loop(const ops::KernelSpec& spec, Layout layout);
// The index in operand 0 for each index along a dimension of a "copy:resize/nearest/..." kernel; nothing for
// other kernels.
std::optional<std::vector<std::int64_t>> nearest_places(const ops::KernelSpec& spec, std::size_t dimension);
// Whether `spec` is such a kernel and repeats every element equally often along each dimension.
bool repeats_elements(const ops::KernelSpec& spec);
// Matrix products of doubles and integers.
Result<std::unique_ptr<CpuKernel>> build_matmul_loop(const ops::KernelSpec& spec);
// Kernels "reduce" (sum, mean, max, min, l2) and "normalization" (layer, rms).
Result<std::unique_ptr<CpuKernel>> build_reduce_loop(const ops::KernelSpec& spec, Layout layout);

// Kernels "reduce" (sum, mean, max, min) of doubles and integers, "softmax" and "log_softmax" of doubles.
Result<std::unique_ptr<CpuKernel>> build_other_types_loop(const ops::KernelSpec& spec, Layout layout);

// A buffer that is owned or bound to memory of the caller.
class Memory {
 public:
  Memory() = default;
  // Allocates zeroed memory aligned to 64 bytes, with CpuKernel::kSlack bytes after it.
  explicit Memory(std::size_t bytes);
  std::byte* get() const { return place_; }
  void bind(std::byte* place) {
    own_.reset();
    place_ = place;
  }

 private:
  struct AlignedDelete {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte[], AlignedDelete> own_;
  std::byte* place_ = nullptr;
};

// Any kernel of a single operator, interpreted from its index notation. Slow. An operator without operands
// becomes a table that is copied.
Result<std::unique_ptr<CpuKernel>> build_notation_kernel(const ops::KernelSpec& spec);

// The error for a kernel that needs `what`, which the loops lack.
Unexpected no_loop(const ops::KernelSpec& spec, std::string_view what);

// The base class of the loops: buffers in a layout without padding, written and read in row-major order.
class LoopKernel : public CpuKernel {
 public:
  Result<void> write(std::size_t operand, std::span<const double> values) override;
  Result<std::vector<double>> read(std::size_t result) const override;
  std::string_view implementation() const override { return "loop"; }
  Layout operand_layout() const override { return layout_; }
  Layout result_layout() const override { return layout_; }
  std::span<std::byte> operand_bytes(std::size_t operand) override { return bytes_of(operands_.at(operand)); }
  std::span<std::byte> result_bytes(std::size_t result) override { return bytes_of(results_.at(result)); }
  void bind_operand(std::size_t operand, std::byte* place) override { operands_.at(operand).bytes.bind(place); }
  void bind_result(std::size_t result, std::byte* place) override { results_.at(result).bytes.bind(place); }
  Result<void> write_constant(std::size_t operand, const ir::Constant& constant) override;

 protected:
  struct Tensor {
    ops::TensorSpec spec;
    std::vector<std::int64_t> dims;     // of the rank of the result if the kernel broadcasts
    std::vector<std::int64_t> strides;  // in elements
    std::size_t element_size = 0;
    Memory bytes;
    std::size_t elements() const;
  };

  explicit LoopKernel(Layout layout) : layout_(layout) {}
  // Error::unsupported for element types without a byte size, more than 16 dimensions, and blocked layouts.
  Result<void> add_buffers(const ops::KernelSpec& spec, std::size_t broadcast_rank = 0);

  std::vector<Tensor> operands_;
  std::vector<Tensor> results_;

 private:
  static std::span<std::byte> bytes_of(Tensor& tensor) { return {tensor.bytes.get(), tensor.elements() * tensor.element_size}; }
  Result<Tensor> make(const ops::TensorSpec& spec, std::size_t rank) const;
  Layout layout_;
};

// The bytes of one element of a type. Error::unsupported for types smaller than a byte.
Result<std::vector<std::byte>> element_bytes(ir::DataType type, double value);

// One index per dimension of a loop nest, initially 0. Does not allocate, so that a run may use it.
class Indices {
 public:
  explicit Indices(std::size_t count) : count_(count) { assert(count <= kMost); }
  std::int64_t& operator[](std::size_t k) { return values_[k]; }
  std::size_t size() const { return count_; }
  static constexpr std::size_t kMost = 32;

 private:
  std::array<std::int64_t, kMost> values_{};
  std::size_t count_;
};

// The dimensions of a loop nest, with the strides of each tensor. Dimensions of size 1 are dropped, and
// neighbouring dimensions that are contiguous in every tensor are joined, so that the last dimension is as
// long as possible.
struct LoopNest {
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::int64_t>> strides;  // [tensor][dimension]
};
LoopNest collapse(const std::vector<std::int64_t>& dims, std::vector<std::vector<std::int64_t>> strides);

}  // namespace xflow::cost::cpu
