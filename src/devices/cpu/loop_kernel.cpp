#include "src/devices/cpu/loop_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "src/ir/constant.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost::cpu {

Unexpected no_loop(const ops::KernelSpec& spec, std::string_view what) {
  return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: there is no loop for {}", ops::to_string(spec), what));
}
namespace {

using ir::DataType;

// Calls visit(offset in elements) for each element in row-major order.
void for_each_offset(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides,
                     const std::function<void(std::int64_t)>& visit) {
  std::int64_t total = 1;
  for (const std::int64_t d : dims) total *= d;
  std::vector<std::int64_t> index(dims.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t n = 0; n < total; ++n) {
    visit(offset);
    for (std::size_t k = dims.size(); k-- > 0;) {
      offset += strides[k];
      if (++index[k] < dims[k]) break;
      offset -= dims[k] * strides[k];
      index[k] = 0;
    }
  }
}

template <typename T>
void store(std::byte* place, double value) {
  const T converted = static_cast<T>(value);
  std::memcpy(place, &converted, sizeof(T));
}
template <typename T>
double load(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return static_cast<double>(value);
}

// Types that are stored as the bits of another type.
template <std::uint16_t (*Narrow)(float)>
void store_bits(std::byte* place, double value) {
  const std::uint16_t bits = Narrow(static_cast<float>(value));
  std::memcpy(place, &bits, sizeof(bits));
}
template <float (*Widen)(std::uint16_t)>
double load_bits(const std::byte* place) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, place, sizeof(bits));
  return Widen(bits);
}

struct Access {
  void (*store)(std::byte*, double);
  double (*load)(const std::byte*);
};

Result<Access> access_to(DataType type) {
  switch (type) {
    case DataType::float32:
      return Access{&store<float>, &load<float>};
    case DataType::float64:
      return Access{&store<double>, &load<double>};
    case DataType::float16:
      return Access{&store_bits<ir::float_to_half>, &load_bits<ir::half_to_float>};
    case DataType::bfloat16:
      return Access{&store_bits<ir::float_to_bfloat16>, &load_bits<ir::bfloat16_to_float>};
    case DataType::int16:
      return Access{&store<std::int16_t>, &load<std::int16_t>};
    case DataType::int64:
      return Access{&store<std::int64_t>, &load<std::int64_t>};
    case DataType::int32:
      return Access{&store<std::int32_t>, &load<std::int32_t>};
    case DataType::int8:
      return Access{&store<std::int8_t>, &load<std::int8_t>};
    case DataType::uint8:
    case DataType::boolean:
      return Access{&store<std::uint8_t>, &load<std::uint8_t>};
    default:
      return fail(ErrorCode::unsupported, fmt::format("cannot convert elements of {}", ir::name(type)));
  }
}

}  // namespace

Memory::Memory(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1) + CpuKernel::kSlack;
  own_.reset(new (std::align_val_t{64}) std::byte[bytes]);
  place_ = own_.get();
  std::memset(place_, 0, bytes);
}

std::size_t LoopKernel::Tensor::elements() const {
  return static_cast<std::size_t>(std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()));
}

Result<LoopKernel::Tensor> LoopKernel::make(const ops::TensorSpec& spec, std::size_t rank) const {
  Tensor tensor;
  tensor.spec = spec;
  tensor.dims = padded_to(spec.dims, rank);
  const int bits = ir::bits(spec.data_type);
  if (2 * tensor.dims.size() > Indices::kMost)
    return fail(ErrorCode::unsupported, fmt::format("cannot run loops here on {} dimensions", tensor.dims.size()));
  if (bits < 8) return fail(ErrorCode::unsupported, fmt::format("cannot move elements of {} here", ir::name(spec.data_type)));
  tensor.element_size = static_cast<std::size_t>(bits) / 8;
  const bool layouts = tensor.dims.size() >= 3 && tensor.dims.size() <= 5;
  if (layouts && layout_ != Layout::plain && layout_ != Layout::channels_last) {
    return fail(ErrorCode::unsupported, fmt::format("cannot run loops here on layout {}", name(layout_)));
  }
  // A run-time tensor whose rank differs from that of the kernel's tensors is row-major.
  const bool own_rank = spec.constant || tensor.dims.size() == spec.dims.size();
  tensor.strides = layout_strides(tensor.dims, own_rank ? layout_ : Layout::plain);
  tensor.bytes = Memory(tensor.elements() * tensor.element_size);
  if (spec.data_type == DataType::float32) {
    // Normal numbers: no denormals, and branches that are not always taken.
    auto* values = reinterpret_cast<float*>(tensor.bytes.get());
    for (std::size_t k = 0; k < tensor.elements(); ++k) values[k] = 0.5F + static_cast<float>(k % 61) / 61.0F;
  }
  return tensor;
}

Result<void> LoopKernel::add_buffers(const ops::KernelSpec& spec, std::size_t broadcast_rank) {
  for (const ops::TensorSpec& operand : all_operands(spec)) {
    XFLOW_TRY(Tensor tensor, make(operand, broadcast_rank));
    operands_.push_back(std::move(tensor));
  }
  for (const ops::TensorSpec& result : spec.results) {
    XFLOW_TRY(Tensor tensor, make(result, broadcast_rank));
    results_.push_back(std::move(tensor));
  }
  return {};
}

Result<void> LoopKernel::write(std::size_t operand, std::span<const double> values) {
  Tensor& tensor = operands_.at(operand);
  XFLOW_TRY(const Access access, access_to(tensor.spec.data_type));
  if (values.size() != tensor.elements()) {
    return fail(ErrorCode::invalid_argument, fmt::format("expected {} values, found {}", tensor.elements(), values.size()));
  }
  std::size_t next = 0;
  for_each_offset(tensor.dims, tensor.strides, [&](std::int64_t offset) {
    access.store(tensor.bytes.get() + static_cast<std::size_t>(offset) * tensor.element_size, values[next++]);
  });
  return {};
}

Result<void> LoopKernel::write_constant(std::size_t operand, const ir::Constant& constant) {
  Tensor& tensor = operands_.at(operand);
  XFLOW_TRY(const std::span<const std::byte> bytes, constant.source->bytes());
  if (constant.data_type != tensor.spec.data_type || bytes.size() < tensor.elements() * tensor.element_size) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("a constant does not fit operand {}, {}", operand, ir::name(tensor.spec.data_type)));
  }
  const std::byte* next = bytes.data();
  for_each_offset(tensor.dims, tensor.strides, [&](std::int64_t offset) {
    std::memcpy(tensor.bytes.get() + static_cast<std::size_t>(offset) * tensor.element_size, next, tensor.element_size);
    next += tensor.element_size;
  });
  return {};
}

Result<std::vector<double>> LoopKernel::read(std::size_t result) const {
  const Tensor& tensor = results_.at(result);
  XFLOW_TRY(const Access access, access_to(tensor.spec.data_type));
  std::vector<double> values;
  values.reserve(tensor.elements());
  for_each_offset(tensor.dims, tensor.strides, [&](std::int64_t offset) {
    values.push_back(access.load(tensor.bytes.get() + static_cast<std::size_t>(offset) * tensor.element_size));
  });
  return values;
}

Result<std::vector<std::byte>> element_bytes(DataType type, double value) {
  XFLOW_TRY(const Access access, access_to(type));
  std::vector<std::byte> bytes(static_cast<std::size_t>(ir::bits(type)) / 8);
  access.store(bytes.data(), value);
  return bytes;
}

LoopNest collapse(const std::vector<std::int64_t>& dims, std::vector<std::vector<std::int64_t>> strides) {
  LoopNest nest;
  nest.strides.resize(strides.size());
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] == 1) continue;
    bool joins = !nest.dims.empty();
    for (std::size_t t = 0; joins && t < strides.size(); ++t) joins = nest.strides[t].back() == strides[t][k] * dims[k];
    if (joins) {
      nest.dims.back() *= dims[k];
      for (std::size_t t = 0; t < strides.size(); ++t) nest.strides[t].back() = strides[t][k];
    } else {
      nest.dims.push_back(dims[k]);
      for (std::size_t t = 0; t < strides.size(); ++t) nest.strides[t].push_back(strides[t][k]);
    }
  }
  if (nest.dims.empty()) {
    nest.dims.push_back(1);
    for (auto& list : nest.strides) list.push_back(1);
  }
  return nest;
}

}  // namespace xflow::cost::cpu
