// Loops for operators whose elements are looked up by a table or an operand: gathers by element, resize, pad
// by reflection, triangles, one-hot vectors, cumulative sums.
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

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

// Calls body(row, offset) for each index of all dimensions but the last, in row-major order. `offset`: the
// sum of index times stride.
template <typename Body>
void for_each_row(const Dims& dims, const Dims& strides, const Body& body) {
  const std::size_t outer = dims.empty() ? 0 : dims.size() - 1;
  Indices index(outer);
  const std::int64_t rows = product(std::span(dims).first(outer));
  std::int64_t offset = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    body(row, offset);
    for (std::size_t k = outer; k-- > 0;) {
      offset += strides[k];
      if (++index[k] < dims[k]) break;
      offset -= dims[k] * strides[k];
      index[k] = 0;
    }
  }
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The source coordinate u = above / below of index i (docstring of src/ops/operators/resize.cpp).
struct SourceCoordinate {
  std::int64_t above;
  std::int64_t below;
};
SourceCoordinate source_coordinate(std::int64_t i, std::int64_t size, std::int64_t result, std::int64_t numerator, std::int64_t denominator,
                                   std::string_view coordinates) {
  if (coordinates == "asymmetric") return {i * denominator, numerator};
  if (coordinates == "align_corners") return {i * (size - 1), std::max<std::int64_t>(result - 1, 1)};
  if (coordinates == "half_pixel_symmetric") return {(2 * i + 1 - result) * denominator + (size - 1) * numerator, 2 * numerator};
  if (coordinates == "pytorch_half_pixel" && result == 1) return {0, 1};
  return {(2 * i + 1) * denominator - numerator, 2 * numerator};
}

Dims resized_places(std::int64_t size, std::int64_t result, std::int64_t numerator, std::int64_t denominator, std::string_view coordinates,
                    std::string_view rounding) {
  Dims table;
  for (std::int64_t i = 0; i < result; ++i) {
    if (numerator == denominator) {
      table.push_back(i);
      continue;
    }
    const SourceCoordinate u = source_coordinate(i, size, result, numerator, denominator, coordinates);
    const std::int64_t at = rounding == "floor"               ? floor_div(u.above, u.below)
                            : rounding == "ceil"              ? floor_div(u.above + u.below - 1, u.below)
                            : rounding == "round_prefer_ceil" ? floor_div(2 * u.above + u.below, 2 * u.below)
                                                              : floor_div(2 * u.above + u.below - 1, 2 * u.below);
    table.push_back(std::clamp<std::int64_t>(at, 0, size - 1));
  }
  return table;
}

// Base class of the loops in this file: row-major buffers, and access to integers of the spec.
class IndexLoop : public LoopKernel {
 public:
  IndexLoop() : LoopKernel(Layout::plain) {}
  virtual Result<void> prepare(const ops::KernelSpec& spec) = 0;

 protected:
  static Dims integers(const ops::KernelSpec& spec, const char* name, const Dims& otherwise) {
    const Dims* found = spec.find(name);
    return found == nullptr ? otherwise : *found;
  }
  static std::int64_t integer(const ops::KernelSpec& spec, const char* name, std::int64_t otherwise) {
    return integers(spec, name, {otherwise})[0];
  }
  static double real(const ops::KernelSpec& spec, const char* name, double otherwise) { return spec.real(name).value_or(otherwise); }
  static Unexpected cannot(const ops::KernelSpec& spec) {
    return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: there is no loop for it", ops::to_string(spec)));
  }

  // Calls run(T()) with the unsigned integer type that has the size of operand 0's elements.
  template <typename Run>
  static void with_elements_of(std::size_t size, const Run& run) {
    if (size == 1) return run(std::uint8_t());
    if (size == 2) return run(std::uint16_t());
    if (size == 4) return run(std::uint32_t());
    run(std::uint64_t());
  }
  template <typename T>
  const T* from(std::size_t operand) const {
    return reinterpret_cast<const T*>(operands_[operand].bytes.get());
  }
  template <typename T>
  T* to() {
    return reinterpret_cast<T*>(results_[0].bytes.get());
  }

  // Fills `operand` with indices; index k is below the element of `extents` at k modulo their number.
  // Spreads them so that a launch does not read the same row again and again.
  void spread_indices(std::size_t operand, const Dims& extents) {
    const std::size_t n = operands_[operand].elements();
    for (std::size_t k = 0; k < n; ++k) {
      const std::int64_t extent = std::max<std::int64_t>(extents[k % extents.size()], 1);
      set_index(operand, k, static_cast<std::int64_t>(k * 7919) % extent);
    }
  }
  void set_index(std::size_t operand, std::size_t k, std::int64_t index) {
    std::byte* bytes = operands_[operand].bytes.get();
    if (operands_[operand].element_size == 8) {
      reinterpret_cast<std::int64_t*>(bytes)[k] = index;
    } else {
      reinterpret_cast<std::int32_t*>(bytes)[k] = static_cast<std::int32_t>(index);
    }
  }
  // The position that an index names; out-of-range indices are clamped to the nearest element.
  static std::int64_t place_of(std::int64_t index, std::int64_t extent) {
    return std::clamp<std::int64_t>(index < 0 ? index + extent : index, 0, extent - 1);
  }
  bool has_indices(std::size_t operand) const {
    return operands_.size() > operand &&
           (operands_[operand].spec.data_type == ir::DataType::int64 || operands_[operand].spec.data_type == ir::DataType::int32);
  }
  // Calls run(I()) with the type of the indices in `operand`.
  template <typename Run>
  void with_indices_of(std::size_t operand, const Run& run) const {
    if (operands_[operand].element_size == 8) return run(std::int64_t());
    run(std::int32_t());
  }
};

// y[i] = x[i with i[axis] replaced by indices[i]].
class GatherElementsLoop final : public IndexLoop {
 public:
  Result<void> prepare(const ops::KernelSpec& spec) override {
    XFLOW_CHECK(add_buffers(spec));
    if (!has_indices(1) || operands_[0].dims.empty()) return cannot(spec);
    const auto rank = static_cast<std::int64_t>(operands_[0].dims.size());
    const std::int64_t axis = integer(spec, "axis", 0);
    axis_ = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    spread_indices(1, {operands_[0].dims[axis_]});
    strides_ = operands_[0].strides;
    strides_[axis_] = 0;  // the index replaces this part of the offset
    return {};
  }
  void run() override {
    with_elements_of(operands_[0].element_size,
                     [&](auto element) { with_indices_of(1, [&](auto index) { gather<decltype(element), decltype(index)>(); }); });
  }

 private:
  template <typename T, typename I>
  void gather() {
    const Tensor& x = operands_[0];
    const Dims& dims = operands_[1].dims;
    if (x.elements() == 0) return;
    const std::int64_t along = x.strides[axis_];
    const std::int64_t step = strides_.back();
    const std::int64_t n = dims.back();
    const std::int64_t extent = x.dims[axis_];
    for_each_row(dims, strides_, [&](std::int64_t row, std::int64_t offset) {
      const I* indices = from<I>(1) + row * n;
      const T* source = from<T>(0) + offset;
      T* target = to<T>() + row * n;
      for (std::int64_t k = 0; k < n; ++k) {
        target[k] = source[place_of(indices[k], extent) * along + k * step];
      }
    });
  }
  std::size_t axis_ = 0;
  Dims strides_;
};

// y[b, j, r] = x[b, indices[b, j, 0], ..., indices[b, j, n - 1], r].
class GatherNdLoop final : public IndexLoop {
 public:
  Result<void> prepare(const ops::KernelSpec& spec) override {
    XFLOW_CHECK(add_buffers(spec));
    if (!has_indices(1) || operands_[1].dims.empty()) return cannot(spec);
    batch_ = static_cast<std::size_t>(integer(spec, "batch", 0));
    const Dims& x = operands_[0].dims;
    named_ = static_cast<std::size_t>(operands_[1].dims.back());
    if (named_ == 0 || batch_ + named_ > x.size()) return cannot(spec);
    spread_indices(1, Dims(x.begin() + static_cast<std::ptrdiff_t>(batch_), x.begin() + static_cast<std::ptrdiff_t>(batch_ + named_)));
    return {};
  }
  void run() override {
    with_indices_of(1, [&](auto index) { gather<decltype(index)>(); });
  }

 private:
  template <typename I>
  void gather() {
    const Tensor& x = operands_[0];
    const Dims& dims = operands_[1].dims;
    if (x.elements() == 0) return;
    const std::int64_t batches = product(std::span(dims).first(batch_));
    const std::int64_t places = product(std::span(dims).subspan(batch_, dims.size() - 1 - batch_));
    const std::int64_t whole = product(std::span(x.dims).subspan(batch_));
    const std::size_t bytes = static_cast<std::size_t>(product(std::span(x.dims).subspan(batch_ + named_))) * x.element_size;
    const I* indices = from<I>(1);
    std::byte* target = results_[0].bytes.get();
    for (std::int64_t b = 0; b < batches; ++b) {
      const std::byte* source = x.bytes.get() + static_cast<std::size_t>(b * whole) * x.element_size;
      for (std::int64_t j = 0; j < places; ++j, indices += named_, target += bytes) {
        std::int64_t offset = 0;
        for (std::size_t k = 0; k < named_; ++k) {
          const std::int64_t extent = x.dims[batch_ + k];
          offset += place_of(indices[k], extent) * x.strides[batch_ + k];
        }
        std::memcpy(target, source + static_cast<std::size_t>(offset) * x.element_size, bytes);
      }
    }
  }
  std::size_t batch_ = 0;
  std::size_t named_ = 0;
};

// y = `on` at the position along `axis` that each index names, `off` elsewhere.
class OneHotLoop final : public IndexLoop {
 public:
  Result<void> prepare(const ops::KernelSpec& spec) override {
    XFLOW_CHECK(add_buffers(spec));
    if (!has_indices(0) || results_[0].dims.empty()) return cannot(spec);
    axis_ = static_cast<std::size_t>(integer(spec, "axis", 0));
    XFLOW_TRY(on_, element_bytes(results_[0].spec.data_type, real(spec, "on", 1)));
    XFLOW_TRY(off_, element_bytes(results_[0].spec.data_type, real(spec, "off", 0)));
    spread_indices(0, {results_[0].dims[axis_]});
    return {};
  }
  void run() override {
    with_elements_of(results_[0].element_size,
                     [&](auto element) { with_indices_of(0, [&](auto index) { mark<decltype(element), decltype(index)>(); }); });
  }

 private:
  template <typename T, typename I>
  void mark() {
    T on;
    T off;
    std::memcpy(&on, on_.data(), sizeof(T));
    std::memcpy(&off, off_.data(), sizeof(T));
    const Dims& dims = results_[0].dims;
    std::fill_n(to<T>(), results_[0].elements(), off);
    const std::int64_t depth = dims[axis_];
    const std::int64_t inner = product(std::span(dims).subspan(axis_ + 1));
    const std::int64_t outer = product(std::span(dims).first(axis_));
    const I* indices = from<I>(0);
    for (std::int64_t o = 0; o < outer; ++o) {
      T* target = to<T>() + o * depth * inner;
      for (std::int64_t i = 0; i < inner; ++i, ++indices) {
        const std::int64_t index = *indices < 0 ? *indices + depth : *indices;
        if (index >= 0 && index < depth) target[index * inner + i] = on;
      }
    }
  }
  std::size_t axis_ = 0;
  std::vector<std::byte> on_;
  std::vector<std::byte> off_;
};

// The upper or lower triangle of each matrix, 0 elsewhere.
class TriangleLoop final : public IndexLoop {
 public:
  Result<void> prepare(const ops::KernelSpec& spec) override {
    XFLOW_CHECK(add_buffers(spec));
    if (operands_[0].dims.size() < 2) return cannot(spec);
    diagonal_ = integer(spec, "diagonal", 0);
    upper_ = integer(spec, "upper", 1) != 0;
    return {};
  }
  void run() override {
    const Tensor& x = operands_[0];
    const std::int64_t rows = x.dims[x.dims.size() - 2];
    const std::int64_t columns = x.dims.back();
    for_each_row(x.dims, x.strides, [&](std::int64_t row, std::int64_t offset) {
      const std::int64_t edge = std::clamp<std::int64_t>(row % rows + diagonal_ + (upper_ ? 0 : 1), 0, columns);
      const auto at = [&](std::int64_t column) { return static_cast<std::size_t>(offset + column) * x.element_size; };
      const std::int64_t begin = upper_ ? edge : 0;
      const std::int64_t end = upper_ ? columns : edge;
      std::byte* target = results_[0].bytes.get();
      std::memset(target + at(0), 0, at(begin) - at(0));
      std::memcpy(target + at(begin), x.bytes.get() + at(begin), at(end) - at(begin));
      std::memset(target + at(end), 0, at(columns) - at(end));
    });
  }

 private:
  std::int64_t diagonal_ = 0;
  bool upper_ = true;
};

// y[i] = x[table[0][i[0]], table[1][i[1]], ...]: nearest resize; pad by reflect, edge and wrap.
class PlacesLoop final : public IndexLoop {
 public:
  Result<void> prepare(const ops::KernelSpec& spec) override {
    XFLOW_CHECK(add_buffers(spec));
    const Dims& x = operands_[0].dims;
    const Dims& y = results_[0].dims;
    if (x.size() != y.size() || x.empty()) return cannot(spec);
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (spec.is(ops::Op::Resize)) {
        const auto places = nearest_places(spec, k);
        if (!places) return cannot(spec);
        tables_.push_back(*places);
      } else if (spec.is(ops::Op::Pad)) {
        XFLOW_TRY(Dims table, padded_places(spec, k));
        tables_.push_back(std::move(table));
      } else {
        return cannot(spec);
      }
      for (std::int64_t& place : tables_.back()) place *= operands_[0].strides[k];
    }
    const Dims& last = tables_.back();
    contiguous_ = std::ranges::adjacent_find(last, [](std::int64_t a, std::int64_t b) { return b != a + 1; }) == last.end();
    return {};
  }
  void run() override {
    with_elements_of(operands_[0].element_size, [&](auto element) { read<decltype(element)>(); });
  }

 private:
  Result<Dims> padded_places(const ops::KernelSpec& spec, std::size_t k) const {
    const Dims& x = operands_[0].dims;
    const Dims begins = integers(spec, "begins", {});
    if (begins.size() != x.size() || x[k] == 0) return cannot(spec);
    const std::string_view mode = spec.word("mode");
    Dims table;
    for (std::int64_t i = 0; i < results_[0].dims[k]; ++i) {
      std::int64_t place = i - begins[k];
      if (mode == "edge") {
        place = std::clamp<std::int64_t>(place, 0, x[k] - 1);
      } else if (mode == "wrap") {
        place = (place % x[k] + x[k]) % x[k];
      } else if (mode == "reflect") {
        const std::int64_t period = std::max<std::int64_t>(2 * (x[k] - 1), 1);
        place = (place % period + period) % period;
        place = std::min(place, period - place);
        if (x[k] == 1) place = 0;
      } else {
        return cannot(spec);
      }
      table.push_back(place);
    }
    return table;
  }

  template <typename T>
  void read() {
    const Dims& dims = results_[0].dims;
    const std::int64_t n = dims.back();
    if (results_[0].elements() == 0) return;
    Indices index(dims.size() - 1);
    const Dims& last = tables_.back();
    const std::int64_t rows = product(std::span(dims).first(dims.size() - 1));
    T* target = to<T>();
    for (std::int64_t row = 0; row < rows; ++row, target += n) {
      const T* source = from<T>(0);
      for (std::size_t k = 0; k < index.size(); ++k) source += tables_[k][static_cast<std::size_t>(index[k])];
      if (contiguous_) {
        std::memcpy(target, source + last[0], static_cast<std::size_t>(n) * sizeof(T));
      } else {
        for (std::int64_t i = 0; i < n; ++i) target[i] = source[last[static_cast<std::size_t>(i)]];
      }
      for (std::size_t k = index.size(); k-- > 0;) {
        if (++index[k] < dims[k]) break;
        index[k] = 0;
      }
    }
  }
  std::vector<Dims> tables_;
  bool contiguous_ = false;
};

// Cumulative sums along an axis.
class CumsumLoop final : public IndexLoop {
 public:
  Result<void> prepare(const ops::KernelSpec& spec) override {
    XFLOW_CHECK(add_buffers(spec));
    const auto rank = static_cast<std::int64_t>(operands_[0].dims.size());
    const std::int64_t axis = integer(spec, "axis", 0);
    axis_ = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    exclusive_ = integer(spec, "exclusive", 0) != 0;
    reverse_ = integer(spec, "reverse", 0) != 0;
    switch (operands_[0].spec.data_type) {
      case ir::DataType::float32:
        sum_ = &CumsumLoop::sum<float>;
        return {};
      case ir::DataType::float64:
        sum_ = &CumsumLoop::sum<double>;
        return {};
      case ir::DataType::int32:
        sum_ = &CumsumLoop::sum<std::uint32_t>;
        return {};
      case ir::DataType::int64:
        sum_ = &CumsumLoop::sum<std::uint64_t>;
        return {};
      default:
        return cannot(spec);
    }
  }
  void run() override { (this->*sum_)(); }

 private:
  template <typename T>
  void sum() {
    const Dims& dims = operands_[0].dims;
    const std::int64_t n = dims[axis_];
    const std::int64_t inner = product(std::span(dims).subspan(axis_ + 1));
    const std::int64_t outer = product(std::span(dims).first(axis_));
    for (std::int64_t o = 0; o < outer; ++o) {
      const T* x = from<T>(0) + o * n * inner;
      T* y = to<T>() + o * n * inner;
      for (std::int64_t step = 0; step < n; ++step) {
        const std::int64_t k = reverse_ ? n - 1 - step : step;
        const std::int64_t before = reverse_ ? k + 1 : k - 1;
        for (std::int64_t i = 0; i < inner; ++i) {
          const T sum = step == 0 ? T(0) : y[before * inner + i];
          const T next = exclusive_ ? (step == 0 ? T(0) : x[before * inner + i]) : x[k * inner + i];
          y[k * inner + i] = static_cast<T>(sum + next);
        }
      }
    }
  }
  std::size_t axis_ = 0;
  bool exclusive_ = false;
  bool reverse_ = false;
  void (CumsumLoop::*sum_)() = nullptr;
};

template <typename Loop>
Result<std::unique_ptr<CpuKernel>> prepared(const ops::KernelSpec& spec) {
  auto kernel = std::make_unique<Loop>();
  XFLOW_CHECK(kernel->prepare(spec));
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace

std::optional<Dims> nearest_places(const ops::KernelSpec& spec, std::size_t dimension) {
  if (!spec.is(ops::Op::Resize) || spec.word("mode") != "nearest") return std::nullopt;
  const std::string_view coordinates = spec.word("coordinates");
  const std::string_view rounding = spec.word("rounding");
  const Dims* numerators = spec.find("numerators");
  const Dims* denominators = spec.find("denominators");
  if (rounding.empty() || numerators == nullptr || denominators == nullptr) return std::nullopt;
  return resized_places(spec.operands[0].dims.at(dimension), spec.results[0].dims.at(dimension), numerators->at(dimension),
                        denominators->at(dimension), coordinates, rounding);
}

Result<std::unique_ptr<CpuKernel>> build_index_loop(const ops::KernelSpec& spec, Layout layout) {
  const bool plain = layout == Layout::plain || layout == Layout::any;
  if (plain && spec.post.empty() && !spec.operands.empty() && spec.results.size() == 1) {
    if (spec.is(ops::Op::Cumsum)) return prepared<CumsumLoop>(spec);
    if (spec.is(ops::Op::GatherElements)) return prepared<GatherElementsLoop>(spec);
    if (spec.is(ops::Op::GatherNd)) return prepared<GatherNdLoop>(spec);
    if (spec.is(ops::Op::OneHot)) return prepared<OneHotLoop>(spec);
    if (spec.is(ops::Op::Trilu)) return prepared<TriangleLoop>(spec);
    if (spec.is(ops::Op::Resize) || spec.is(ops::Op::Pad)) return prepared<PlacesLoop>(spec);
  }
  return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: there is no loop for it", ops::to_string(spec)));
}

}  // namespace xflow::cost::cpu

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
