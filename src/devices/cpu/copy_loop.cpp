#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/devices/cpu/loop_kernel.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

namespace xflow::cost::cpu {
namespace {

// A copy between two strided views of the same size.
struct StridedCopy {
  std::size_t operand = 0;
  std::size_t result = 0;
  std::int64_t from = 0;  // offsets and strides are in elements
  std::int64_t to = 0;
  LoopNest nest;  // strides of the source and the target
};

constexpr std::int64_t kTile = 16;

// target[i, j] = source[i, j], with the source contiguous along i and the target along j.
template <typename T>
void transpose_tile(const T* source, T* target, std::int64_t rows, std::int64_t columns, std::int64_t source_stride,
                    std::int64_t target_stride) {
  for (std::int64_t i0 = 0; i0 < rows; i0 += kTile) {
    const std::int64_t i1 = std::min(i0 + kTile, rows);
    for (std::int64_t j0 = 0; j0 < columns; j0 += kTile) {
      const std::int64_t j1 = std::min(j0 + kTile, columns);
      for (std::int64_t i = i0; i < i1; ++i) {
        for (std::int64_t j = j0; j < j1; ++j) target[i * target_stride + j] = source[i + j * source_stride];
      }
    }
  }
}

template <typename T>
void copy_row(const T* source, T* target, std::int64_t n, std::int64_t from, std::int64_t to) {
  if (from == 1 && to == 1) {
    std::memcpy(target, source, static_cast<std::size_t>(n) * sizeof(T));
  } else if (from == 0 && to == 1) {
    std::fill_n(target, n, *source);
  } else {
    for (std::int64_t i = 0; i < n; ++i) target[i * to] = source[i * from];
  }
}

template <typename T>
void copy_strided(const StridedCopy& copy, const std::byte* source, std::byte* target) {
  const LoopNest& nest = copy.nest;
  const std::size_t rank = nest.dims.size();
  const std::size_t last = rank - 1;
  // In a transposition the source is contiguous along another dimension than the last.
  std::size_t other = last;
  if (nest.strides[0][last] != 1 && nest.strides[1][last] == 1) {
    for (std::size_t k = 0; k < last; ++k) other = nest.strides[0][k] == 1 ? k : other;
  }
  Indices index(rank);
  const T* from = reinterpret_cast<const T*>(source) + copy.from;
  T* to = reinterpret_cast<T*>(target) + copy.to;
  while (true) {
    if (other != last) {
      transpose_tile(from, to, nest.dims[other], nest.dims[last], nest.strides[0][last], nest.strides[1][other]);
    } else {
      copy_row(from, to, nest.dims[last], nest.strides[0][last], nest.strides[1][last]);
    }
    std::size_t k = last;
    while (k-- > 0) {
      if (k == other) continue;
      from += nest.strides[0][k];
      to += nest.strides[1][k];
      if (++index[k] < nest.dims[k]) break;
      from -= nest.dims[k] * nest.strides[0][k];
      to -= nest.dims[k] * nest.strides[1][k];
      index[k] = 0;
    }
    if (k == static_cast<std::size_t>(-1)) return;
  }
}

class CopyLoop final : public LoopKernel {
 public:
  explicit CopyLoop(Layout layout) : LoopKernel(layout) {}

  Result<void> prepare(const ops::KernelSpec& spec) {
    const auto cannot = [&](std::string_view what) {
      return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: there is no loop for {}", ops::to_string(spec), what));
    };
    if (!spec.post.empty()) return cannot("copies with post-operations");
    XFLOW_CHECK(add_buffers(spec));
    if (operands_.empty() || !spec.function.op) return cannot(ops::kernel_variant(spec));
    const ops::Op op = *spec.function.op;
    const auto integers = [&](const char* name, const Dims& otherwise) {
      const Dims* found = spec.find(name);
      return found == nullptr ? otherwise : *found;
    };
    const Tensor& x = operands_[0];
    const std::size_t rank = x.dims.size();
    const auto axis_of = [&] {
      const std::int64_t axis = integers("axis", {0})[0];
      return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
    };
    if (op == ops::Op::Reshape) {
      // In row-major order only the dimensions change.
      const Dims flat = {static_cast<std::int64_t>(x.elements())};
      add(0, 0, flat, {1}, {1}, 0, 0);
    } else if (op == ops::Op::Transpose) {
      const Dims perm = integers("perm", {});
      if (perm.size() != rank) return cannot("this permutation");
      Dims from;
      for (const std::int64_t p : perm) from.push_back(x.strides[static_cast<std::size_t>(p)]);
      add(0, 0, results_[0].dims, from, results_[0].strides, 0, 0);
    } else if (op == ops::Op::Concat || op == ops::Op::Split) {
      const std::size_t axis = axis_of();
      const bool concat = op == ops::Op::Concat;
      std::int64_t position = 0;
      for (std::size_t k = 0; k < (concat ? operands_ : results_).size(); ++k) {
        const Tensor& part = concat ? operands_[k] : results_[k];
        const Tensor& whole = concat ? results_[0] : x;
        const std::int64_t offset = position * whole.strides[axis];
        if (concat) add(k, 0, part.dims, part.strides, whole.strides, 0, offset);
        if (!concat) add(0, k, part.dims, whole.strides, part.strides, offset, 0);
        position += part.dims[axis];
      }
    } else if (op == ops::Op::Slice) {
      if (!add_slice(integers("starts", Dims(rank, 0)), integers("steps", Dims(rank, 1)))) return cannot("this slice");
    } else if (op == ops::Op::Pad) {
      return prepare_pad(integers("begins", {}), integers("ends", {}), spec);
    } else if (op == ops::Op::Expand) {
      const Dims own = padded_to(x.dims, results_[0].dims.size());
      const Dims strides = padded_strides(x.strides, own.size());
      Dims from;
      for (std::size_t k = 0; k < own.size(); ++k) from.push_back(own[k] == 1 ? 0 : strides[k]);
      add(0, 0, results_[0].dims, from, results_[0].strides, 0, 0);
    } else if (op == ops::Op::Tile) {
      add_tile();
    } else if (op == ops::Op::DepthToSpace || op == ops::Op::SpaceToDepth) {
      add_space_copy(integers("block", {1})[0], op == ops::Op::DepthToSpace, spec.word("order") == "depth_first");
    } else if (op == ops::Op::Gather && operands_.size() == 2 && operands_[1].element_size >= 4) {
      gather_axis_ = static_cast<std::ptrdiff_t>(axis_of());
      if (operand_layout() != Layout::plain) return cannot("gather in this layout");
      spread_indices();
    } else if (op == ops::Op::Resize) {
      return prepare_resize(spec);
    } else {
      return cannot(ops::kernel_variant(spec));
    }
    return {};
  }

  void run() override {
    if (!fill_.empty()) fill();
    for (const StridedCopy& copy : copies_) {
      const std::byte* from = operands_[copy.operand].bytes.get();
      std::byte* to = results_[copy.result].bytes.get();
      switch (operands_[copy.operand].element_size) {
        case 1:
          copy_strided<std::uint8_t>(copy, from, to);
          break;
        case 2:
          copy_strided<std::uint16_t>(copy, from, to);
          break;
        case 4:
          copy_strided<std::uint32_t>(copy, from, to);
          break;
        default:
          copy_strided<std::uint64_t>(copy, from, to);
          break;
      }
    }
    if (gather_axis_ >= 0) gather();
  }

 private:
  // Returns false if starts or steps do not cover all dimensions.
  bool add_slice(const Dims& starts, const Dims& steps) {
    const Tensor& x = operands_[0];
    const std::size_t rank = x.dims.size();
    if (starts.size() != rank || steps.size() != rank) return false;
    Dims from = x.strides;
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      offset += starts[k] * x.strides[k];
      from[k] *= steps[k];
    }
    add(0, 0, results_[0].dims, from, results_[0].strides, offset, 0);
    return true;
  }

  // Dimension d repeated r times is equal to two dimensions r, d.
  void add_tile() {
    const Tensor& x = operands_[0];
    Dims dims;
    Dims from;
    Dims to;
    for (std::size_t k = 0; k < x.dims.size(); ++k) {
      dims.insert(dims.end(), {results_[0].dims[k] / std::max<std::int64_t>(x.dims[k], 1), x.dims[k]});
      from.insert(from.end(), {0, x.strides[k]});
      to.insert(to.end(), {results_[0].strides[k] * x.dims[k], results_[0].strides[k]});
    }
    add(0, 0, dims, from, to, 0, 0);
  }

  static Dims padded_strides(Dims strides, std::size_t rank) {
    strides.insert(strides.begin(), rank - strides.size(), 0);
    return strides;
  }

  void add(std::size_t operand, std::size_t result, const Dims& dims, const Dims& from, const Dims& to, std::int64_t from_offset,
           std::int64_t to_offset) {
    if (std::ranges::find(dims, 0) != dims.end()) return;
    StridedCopy copy;
    copy.operand = operand;
    copy.result = result;
    copy.from = from_offset;
    copy.to = to_offset;
    // Dimensions in the order of the target's memory.
    std::vector<std::size_t> order(dims.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return to[a] > to[b]; });
    Dims sorted;
    std::vector<Dims> strides(2);
    for (const std::size_t k : order) {
      sorted.push_back(dims[k]);
      strides[0].push_back(from[k]);
      strides[1].push_back(to[k]);
    }
    copy.nest = collapse(sorted, std::move(strides));
    copies_.push_back(std::move(copy));
  }

  // Fills the whole result, then copies the inside. Other modes than constant are index loops.
  Result<void> prepare_pad(const Dims& begins, const Dims& ends, const ops::KernelSpec& spec) {
    const Tensor& x = operands_[0];
    const Tensor& y = results_[0];
    const std::size_t rank = x.dims.size();
    if (begins.size() != rank || ends.size() != rank || spec.word("mode") != "constant") {
      return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: there is no loop for it", ops::to_string(spec)));
    }
    std::int64_t from = 0;
    std::int64_t to = 0;
    Dims dims = x.dims;
    for (std::size_t k = 0; k < rank; ++k) {  // negative padding crops
      from += std::max<std::int64_t>(-begins[k], 0) * x.strides[k];
      to += std::max<std::int64_t>(begins[k], 0) * y.strides[k];
      dims[k] += std::min<std::int64_t>(begins[k], 0) + std::min<std::int64_t>(ends[k], 0);
      if (dims[k] < 0) dims[k] = 0;
    }
    XFLOW_TRY(fill_, element_bytes(y.spec.data_type, spec.real("value").value_or(0)));
    add(0, 0, dims, x.strides, y.strides, from, to);
    return {};
  }

  // [N, C, H, W] as [N, b, b, C', H, W] (or [N, C', b, b, H, W] for order column-row-depth) <->
  // [N, C', H, b, W, b].
  void add_space_copy(std::int64_t block, bool to_space, bool depth_first) {
    const Tensor& deep = to_space ? operands_[0] : results_[0];
    const Tensor& wide = to_space ? results_[0] : operands_[0];
    const std::int64_t channels = wide.dims[1];
    const std::int64_t c = deep.strides[1];
    const bool outer = depth_first || !to_space;
    const Dims dims = {deep.dims[0], channels, deep.dims[2], block, deep.dims[3], block};
    const Dims d = {deep.strides[0], outer ? c : c * block * block, deep.strides[2], outer ? c * channels * block : c * block,
                    deep.strides[3], outer ? c * channels : c};
    const Dims w = {wide.strides[0], wide.strides[1], wide.strides[2] * block, wide.strides[2], wide.strides[3] * block, wide.strides[3]};
    if (to_space) add(0, 0, dims, d, w, 0, 0);
    if (!to_space) add(0, 0, dims, w, d, 0, 0);
  }

  Result<void> prepare_resize(const ops::KernelSpec& spec) {
    const Tensor& x = operands_[0];
    const Tensor& y = results_[0];
    Dims dims;
    Dims from;
    Dims to;
    const bool repeats = repeats_elements(spec);
    for (std::size_t k = 0; repeats && k < x.dims.size(); ++k) {
      dims.insert(dims.end(), {x.dims[k], y.dims[k] / x.dims[k]});
      from.insert(from.end(), {x.strides[k], 0});
      to.insert(to.end(), {y.strides[k] * (y.dims[k] / x.dims[k]), y.strides[k]});
    }
    if (!repeats) return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: there is no loop for it", ops::to_string(spec)));
    add(0, 0, dims, from, to, 0, 0);
    return {};
  }

  // Spreads the initial indices over the axis, so that a launch does not read the same row again and again.
  void spread_indices() {
    const std::int64_t extent = std::max<std::int64_t>(operands_[0].dims[static_cast<std::size_t>(gather_axis_)], 1);
    for (std::size_t k = 0; k < operands_[1].elements(); ++k) {
      const std::int64_t index = static_cast<std::int64_t>(k * 7919) % extent;
      if (operands_[1].element_size == 8) {
        reinterpret_cast<std::int64_t*>(operands_[1].bytes.get())[k] = index;
      } else {
        reinterpret_cast<std::int32_t*>(operands_[1].bytes.get())[k] = static_cast<std::int32_t>(index);
      }
    }
  }

  void fill() {
    std::byte* to = results_[0].bytes.get();
    const std::size_t bytes = results_[0].elements() * fill_.size();
    if (std::ranges::all_of(fill_, [](std::byte b) { return b == std::byte{0}; })) {
      std::memset(to, 0, bytes);
      return;
    }
    for (std::size_t at = 0; at < bytes; at += fill_.size()) std::memcpy(to + at, fill_.data(), fill_.size());
  }

  void gather() {
    const Tensor& x = operands_[0];
    const auto axis = static_cast<std::size_t>(gather_axis_);
    if (x.elements() == 0) return;
    std::size_t outer = 1;
    for (std::size_t k = 0; k < axis; ++k) outer *= static_cast<std::size_t>(x.dims[k]);
    std::size_t row = x.element_size;
    for (std::size_t k = axis + 1; k < x.dims.size(); ++k) row *= static_cast<std::size_t>(x.dims[k]);
    const auto extent = static_cast<std::size_t>(x.dims[axis]);
    const std::size_t count = operands_[1].elements();
    const std::byte* indices = operands_[1].bytes.get();
    std::byte* to = results_[0].bytes.get();
    for (std::size_t o = 0; o < outer; ++o) {
      const std::byte* from = x.bytes.get() + o * extent * row;
      for (std::size_t k = 0; k < count; ++k, to += row) {
        std::int64_t index = operands_[1].element_size == 8 ? reinterpret_cast<const std::int64_t*>(indices)[k]
                                                            : reinterpret_cast<const std::int32_t*>(indices)[k];
        // Out-of-range indices read the nearest element.
        index = std::clamp<std::int64_t>(index < 0 ? index + static_cast<std::int64_t>(extent) : index, 0,
                                         static_cast<std::int64_t>(extent) - 1);
        std::memcpy(to, from + static_cast<std::size_t>(index) * row, row);
      }
    }
  }

  std::vector<StridedCopy> copies_;
  std::vector<std::byte> fill_;  // the value of result elements that no copy writes
  std::ptrdiff_t gather_axis_ = -1;
};

}  // namespace

bool repeats_elements(const ops::KernelSpec& spec) {
  if (spec.operands.empty() || spec.results.empty()) return false;
  const Dims& x = spec.operands[0].dims;
  const Dims& y = spec.results[0].dims;
  if (x.size() != y.size()) return false;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (x[k] == 0 || y[k] % x[k] != 0) return false;
    const auto places = nearest_places(spec, k);
    if (!places) return false;
    for (std::size_t i = 0; i < places->size(); ++i)
      if ((*places)[i] != static_cast<std::int64_t>(i) / (y[k] / x[k])) return false;
  }
  return true;
}

Result<std::unique_ptr<CpuKernel>> build_copy_loop(const ops::KernelSpec& spec, Layout layout) {
  auto kernel = std::make_unique<CopyLoop>(layout);
  XFLOW_CHECK(kernel->prepare(spec));
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace xflow::cost::cpu

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
