#include "src/devices/cpu/convert_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/devices/cpu/loop_kernel.h"
#include "src/ir/constant.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace xflow::cost::cpu {
namespace {

using ir::DataType;

#if defined(__x86_64__)
__attribute__((target("avx2,f16c"))) std::size_t halves_to_floats_by_8(const std::uint16_t* from, float* to, std::size_t n) {
  std::size_t k = 0;
  for (; k + 8 <= n; k += 8) {
    _mm256_storeu_ps(to + k, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k))));
  }
  return k;
}

__attribute__((target("avx2,f16c"))) std::size_t floats_to_halves_by_8(const float* from, std::uint16_t* to, std::size_t n) {
  std::size_t k = 0;
  for (; k + 8 <= n; k += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + k), _mm256_cvtps_ph(_mm256_loadu_ps(from + k), _MM_FROUND_TO_NEAREST_INT));
  }
  return k;
}

// Every CPU with AVX2 has the F16C conversions, too.
bool converts_by_8() { return __builtin_cpu_supports("avx2") != 0; }
#endif

template <typename T>
T* as(std::span<std::byte> bytes) {
  return reinterpret_cast<T*>(bytes.data());
}

class ConvertKernel final : public CpuKernel {
 public:
  ConvertKernel(const ops::KernelSpec& spec, std::unique_ptr<CpuKernel> single)
      : single_(std::move(single)), implementation_(fmt::format("converted:{}", single_->implementation())) {
    for (const ops::TensorSpec& operand : all_operands(spec)) {
      const bool half = operand.data_type == DataType::float16;
      const std::size_t n = half && !operand.constant ? single_->operand_bytes(operands_.size()).size() / sizeof(float) : 0;
      constexpr std::uint16_t kOneHalf = 0x3800;  // a normal number, no denormal
      operands_.push_back({Memory(n * sizeof(std::uint16_t)), n, half, operand.constant});
      std::fill_n(operands_.back().values(), n, kOneHalf);
    }
    for (const ops::TensorSpec& result : spec.results) {
      const bool half = result.data_type == DataType::float16;
      const std::size_t n = half ? single_->result_bytes(results_.size()).size() / sizeof(float) : 0;
      results_.push_back({Memory(n * sizeof(std::uint16_t)), n, half, false});
    }
  }

  void run() override {
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const Port& port = operands_[k];
      if (port.half && !port.constant) halves_to_floats(port.values(), as<float>(single_->operand_bytes(k)), port.count);
    }
    single_->run();
    for (std::size_t k = 0; k < results_.size(); ++k) {
      Port& port = results_[k];
      if (port.half) floats_to_halves(as<float>(single_->result_bytes(k)), port.values(), port.count);
    }
  }

  std::size_t scratch_bytes() const override { return single_->scratch_bytes(); }

  Result<void> write(std::size_t operand, std::span<const double> values) override {
    Port& port = operands_.at(operand);
    if (!port.half) return single_->write(operand, values);
    std::vector<double> rounded;
    for (const double value : values) rounded.push_back(ir::half_to_float(ir::float_to_half(static_cast<float>(value))));
    XFLOW_CHECK(single_->write(operand, rounded));
    if (!port.constant) floats_to_halves(as<float>(single_->operand_bytes(operand)), port.values(), port.count);
    return {};
  }

  Result<std::vector<double>> read(std::size_t result) const override {
    const Port& port = results_.at(result);
    if (port.half) halves_to_floats(port.values(), as<float>(single_->result_bytes(result)), port.count);
    return single_->read(result);
  }

  std::span<std::byte> operand_bytes(std::size_t operand) override {
    Port& port = operands_.at(operand);
    return port.own() ? port.bytes() : single_->operand_bytes(operand);
  }
  std::span<std::byte> result_bytes(std::size_t result) override {
    Port& port = results_.at(result);
    return port.half ? port.bytes() : single_->result_bytes(result);
  }
  void bind_operand(std::size_t operand, std::byte* place) override {
    Port& port = operands_.at(operand);
    if (port.own()) return port.memory.bind(place);
    single_->bind_operand(operand, place);
  }
  void bind_result(std::size_t result, std::byte* place) override {
    Port& port = results_.at(result);
    if (port.half) return port.memory.bind(place);
    single_->bind_result(result, place);
  }
  std::optional<std::size_t> overwritten() const override {
    const auto lost = single_->overwritten();
    // An operand that is converted for each launch is not overwritten.
    return lost && !operands_[*lost].half ? lost : std::nullopt;
  }
  std::unique_ptr<CpuKernel> copy() const override {
    auto single = single_->copy();
    if (single == nullptr) return nullptr;
    return std::unique_ptr<CpuKernel>(new ConvertKernel(*this, std::move(single)));
  }
  std::string_view implementation() const override { return implementation_; }
  Layout operand_layout() const override { return single_->operand_layout(); }
  Layout result_layout() const override { return single_->result_layout(); }

 private:
  struct Port {
    Memory memory;  // of a float16 tensor
    std::size_t count = 0;
    bool half = false;
    bool constant = false;
    std::uint16_t* values() const { return reinterpret_cast<std::uint16_t*>(memory.get()); }
    std::span<std::byte> bytes() const { return {memory.get(), count * sizeof(std::uint16_t)}; }
    bool own() const { return half && !constant; }
    Port in_place() const {
      Port same{{}, count, half, constant};
      same.memory.bind(memory.get());
      return same;
    }
  };

  // Shares the memory of `other`.
  ConvertKernel(const ConvertKernel& other, std::unique_ptr<CpuKernel> single)
      : single_(std::move(single)), implementation_(other.implementation_) {
    for (const Port& port : other.operands_) operands_.push_back(port.in_place());
    for (const Port& port : other.results_) results_.push_back(port.in_place());
  }

  std::unique_ptr<CpuKernel> single_;
  std::string implementation_;
  std::vector<Port> operands_;
  std::vector<Port> results_;
};

class HalfCast final : public LoopKernel {
 public:
  explicit HalfCast(Layout layout) : LoopKernel(layout) {}
  Result<void> prepare(const ops::KernelSpec& spec) {
    widens_ = spec.operands[0].data_type == DataType::float16;
    return add_buffers(spec);
  }
  void run() override {
    const std::size_t n = results_[0].elements();
    std::byte* from = operands_[0].bytes.get();
    std::byte* to = results_[0].bytes.get();
    if (widens_) {
      halves_to_floats(reinterpret_cast<std::uint16_t*>(from), reinterpret_cast<float*>(to), n);
    } else {
      floats_to_halves(reinterpret_cast<float*>(from), reinterpret_cast<std::uint16_t*>(to), n);
    }
  }

 private:
  bool widens_ = false;
};

}  // namespace

void halves_to_floats(const std::uint16_t* from, float* to, std::size_t n) {
  std::size_t k = 0;
#if defined(__x86_64__)
  if (converts_by_8()) k = halves_to_floats_by_8(from, to, n);
#endif
  for (; k < n; ++k) to[k] = ir::half_to_float(from[k]);
}

void floats_to_halves(const float* from, std::uint16_t* to, std::size_t n) {
  std::size_t k = 0;
#if defined(__x86_64__)
  if (converts_by_8()) k = floats_to_halves_by_8(from, to, n);
#endif
  for (; k < n; ++k) to[k] = ir::float_to_half(from[k]);
}

bool computes_with_half(const ops::KernelSpec& spec) {
  const auto is_half = [](const ops::TensorSpec& tensor) { return tensor.data_type == DataType::float16; };
  const bool interpolates = spec.is(ops::Op::Resize) && spec.word("mode") == "linear";
  const bool moves =
      spec.is(ops::KernelFamily::none) || spec.is(ops::KernelFamily::reorder) || (spec.is(ops::KernelFamily::copy) && !interpolates);
  const auto operands = all_operands(spec);
  return !moves && (std::ranges::any_of(operands, is_half) || std::ranges::any_of(spec.results, is_half));
}

ops::KernelSpec on_float(ops::KernelSpec spec) {
  const auto widen = [](std::vector<ops::TensorSpec>& tensors) {
    for (ops::TensorSpec& tensor : tensors) {
      if (tensor.data_type == DataType::float16) tensor.data_type = DataType::float32;
    }
  };
  widen(spec.operands);
  widen(spec.results);
  for (ops::PostOperation& post : spec.post) widen(post.operands);
  return spec;
}

std::unique_ptr<CpuKernel> convert_around(const ops::KernelSpec& spec, std::unique_ptr<CpuKernel> single) {
  return std::make_unique<ConvertKernel>(spec, std::move(single));
}

Result<std::unique_ptr<CpuKernel>> build_half_cast(const ops::KernelSpec& spec, Layout layout) {
  const bool cast = spec.is(ops::Op::Cast) && spec.post.empty() && spec.operands.size() == 1;
  const auto converts = [&](DataType from, DataType to) { return spec.operands[0].data_type == from && spec.results[0].data_type == to; };
  if (!cast || !(converts(DataType::float16, DataType::float32) || converts(DataType::float32, DataType::float16))) {
    return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: it is not a cast of half precision", ops::to_string(spec)));
  }
  auto kernel = std::make_unique<HalfCast>(layout);
  XFLOW_CHECK(kernel->prepare(spec));
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace xflow::cost::cpu
