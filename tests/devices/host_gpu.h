// A GPU that is this CPU: source text is compiled here, products and convolutions are evaluated. For tests of what is above a GPU.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/devices/gpu/gpu.h"
#include "src/kernels/kernel_source.h"
#include "src/ops/fused_functions.h"
#include "tests/compiled_text.h"
#include "tests/kernels/run_text.h"

namespace xflow::testing {

class HostGpu final : public cost::gpu::Gpu {
 public:
  using Address = cost::gpu::Address;

  HostGpu() { info_ = {"cuda", "this CPU", "host 1", 1, "device time"}; }
  ~HostGpu() override { EXPECT_TRUE(blocks_.empty()) << "memory was not given back"; }

  const cost::DeviceInfo& info() const override { return info_; }
  std::size_t cache_bytes() const override { return 1U << 20U; }
  Sheet sheet() const override { return given_sheet; }

  Result<std::vector<std::unique_ptr<cost::gpu::Ready>>> prepare(const cost::gpu::GpuKernel& kernel) override {
    ++prepared;
    std::vector<std::unique_ptr<cost::gpu::Ready>> ways;
    if (const auto* source = std::get_if<cost::SourceProgram>(&kernel.work)) {
      ways.push_back(std::make_unique<SourceReady>(*source, kernel.text));
    } else if (const auto* product = std::get_if<cost::gpu::Product>(&kernel.work)) {
      for (int k = 0; k < ways_of_products; ++k) ways.push_back(std::make_unique<ProductReady>(*product, k));
    } else if (const auto* attention = std::get_if<cost::gpu::Attention>(&kernel.work)) {
      if (refuses_attention) return fail(ErrorCode::unsupported, "no plan of cuDNN supports it");
      ways.push_back(std::make_unique<AttentionReady>(*attention));
    } else {
      const auto& convolution = std::get<cost::gpu::Convolution>(kernel.work);
      if (refuses_convolutions) return fail(ErrorCode::unsupported, "no plan of cuDNN supports it");
      ways.push_back(std::make_unique<ConvolutionReady>(convolution, channels_last));
    }
    return ways;
  }

  Result<Address> allocate(std::size_t bytes) override {
    if (is_lost) return fail(ErrorCode::io, "cannot allocate memory: the device is lost");
    if (used_ + bytes > memory) return fail(ErrorCode::limit, fmt::format("the GPU has no {} MiB left", bytes >> 20U));
    auto block = std::make_unique<std::byte[]>(bytes + cost::gpu::kAlignment);
    auto address = reinterpret_cast<std::uint64_t>(block.get());
    address = (address + cost::gpu::kAlignment - 1) / cost::gpu::kAlignment * cost::gpu::kAlignment;
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    blocks_.emplace(Address{address}, std::pair(std::move(block), bytes));
    return Address{address};
  }
  void release(Address address) override {
    used_ -= blocks_.at(address).second;
    blocks_.erase(address);
  }
  Result<void> write(Address to, std::span<const std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(place(to), bytes.data(), bytes.size());
    return {};
  }
  Result<void> read(Address from, std::span<std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(bytes.data(), place(from), bytes.size());
    return {};
  }
  std::size_t peak_bytes() const override { return peak_; }
  Nanoseconds cycle() override { return Nanoseconds{cycle_time}; }

  Result<std::unique_ptr<cost::gpu::Recorded>> record(std::span<const cost::gpu::Launch> launches) override {
    auto recorded = std::make_unique<HostRecorded>();
    recorded->launches.assign(launches.begin(), launches.end());
    most_launches = std::max(most_launches, launches.size());
    return std::unique_ptr<cost::gpu::Recorded>(std::move(recorded));
  }
  // A clock of its own: what each way says that it takes.
  Result<Nanoseconds> run(cost::gpu::Recorded& recorded, int repeats) override {
    ++runs;
    if (lost_after > 0 && runs > lost_after) return fail(ErrorCode::io, "the GPU is lost");
    double time = 0;
    for (int k = 0; k < repeats; ++k) {
      for (const cost::gpu::Launch& launch : static_cast<HostRecorded&>(recorded).launches) {
        auto& ready = static_cast<HostReady&>(*launch.kernel);
        if (computes) {
          ready.launch(launch);
          std::memcpy(&last_result, place(launch.results[0]), sizeof last_result);
        }
        time += ready.nanoseconds();
      }
    }
    return Nanoseconds{time / repeats};
  }

  std::size_t memory = std::size_t{1} << 30U;
  int ways_of_products = 1;
  bool is_lost = false;  // as after a fault: nothing works any more
  bool refuses_convolutions = false;
  bool refuses_attention = false;
  double channels_last = 1;  // by this factor convolutions are slower so
  bool computes = true;
  int lost_after = 0;
  double cycle_time = 0;
  Sheet given_sheet;
  int prepared = 0;
  int runs = 0;
  float last_result = 0;  // the first element, of 4 bytes at least
  std::size_t most_launches = 0;

 private:
  class HostReady : public cost::gpu::Ready {
   public:
    std::string_view implementation() const override { return name_; }
    std::span<const std::size_t> scratch() const override { return scratch_; }
    virtual void launch(const cost::gpu::Launch& launch) = 0;
    virtual double nanoseconds() const { return 1000; }

   protected:
    std::string name_;
    std::vector<std::size_t> scratch_;
  };

  class SourceReady final : public HostReady {
   public:
    SourceReady(const cost::SourceProgram& source, const std::string& name) : source_(source) {
      name_ = name;
      scratch_ = source.scratch;
    }
    void launch(const cost::gpu::Launch& launch) override {
      if (library_ == nullptr) load();
      std::vector<void*> operands;
      std::vector<void*> results;
      std::vector<void*> scratch;
      for (const Address address : launch.operands) operands.push_back(place(address));
      for (const Address address : launch.results) results.push_back(place(address));
      for (const Address address : launch.scratch) scratch.push_back(place(address));
      run_(operands.data(), results.data(), scratch.data());
    }
    double nanoseconds() const override { return 1000.0 * static_cast<double>(source_.launches.size()); }

   private:
    void load() {
      static std::map<std::string, void*> libraries;  // by text
      const std::string text = source_.text + run_text(source_, "all");
      void*& known = libraries[text];
      if (known == nullptr) known = compile_and_load(text);
      library_ = known;
      run_ = reinterpret_cast<void (*)(void* const*, void* const*, void* const*)>(dlsym(library_, "all_run"));
    }

    cost::SourceProgram source_;
    void* library_ = nullptr;
    void (*run_)(void* const*, void* const*, void* const*) = nullptr;
  };

  static float activated(cost::gpu::Activation activation, float x) {
    if (activation == cost::gpu::Activation::none) return x;
    return static_cast<float>(ops::find_function(name(activation))->value(static_cast<double>(x), 0, 0));
  }

  // An array of one of the libraries' types.
  class Array {
   public:
    Array(Address address, ir::DataType type) : bytes_(place(address)), type_(type) {}
    float operator[](std::int64_t k) const {
      if (type_ == ir::DataType::float32) return read<float>(k);
      const auto bits = read<std::uint16_t>(k);
      return type_ == ir::DataType::float16 ? ir::half_to_float(bits) : ir::bfloat16_to_float(bits);
    }
    void set(std::int64_t k, float value) {
      if (type_ == ir::DataType::float32) return write(k, value);
      write(k, type_ == ir::DataType::float16 ? ir::float_to_half(value) : ir::float_to_bfloat16(value));
    }

   private:
    template <typename T>
    T read(std::int64_t k) const {
      T value;
      std::memcpy(&value, bytes_ + k * static_cast<std::int64_t>(sizeof value), sizeof value);
      return value;
    }
    template <typename T>
    void write(std::int64_t k, T value) {
      std::memcpy(bytes_ + k * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
    }
    std::byte* bytes_;
    ir::DataType type_;
  };

  class ProductReady final : public HostReady {
   public:
    ProductReady(const cost::gpu::Product& product, int number) : product_(product), number_(number) {
      name_ = fmt::format("host product {}", number);
    }
    std::size_t workspace_bytes() const override { return 1024; }
    void launch(const cost::gpu::Launch& launch) override {
      const cost::gpu::Product& p = product_;
      const Array left(launch.operands[p.left], p.type);
      const Array right(launch.operands[p.right], p.type);
      Array result(launch.results[0], p.type);
      for (std::int64_t b = 0; b < p.batch; ++b)
        for (std::int64_t i = 0; i < p.m; ++i)
          for (std::int64_t j = 0; j < p.n; ++j) {
            float sum = 0;
            for (std::int64_t k = 0; k < p.k; ++k) sum += left[b * p.left_stride + i * p.k + k] * right[b * p.right_stride + k * p.n + j];
            const std::int64_t at = (b * p.m + i) * p.n + j;
            if (p.residual) sum += Array(launch.operands[*p.residual], p.type)[at];
            if (p.bias) sum += Array(launch.operands[*p.bias], p.type)[j];
            result.set(at, activated(p.activation, sum));
          }
    }
    double nanoseconds() const override { return 3000 - 500 * (number_ == 1 ? 2 : number_); }  // the second is quickest

   private:
    cost::gpu::Product product_;
    int number_;
  };

  class ConvolutionReady final : public HostReady {
   public:
    ConvolutionReady(const cost::gpu::Convolution& convolution, double last) : convolution_(convolution), last_(last) {
      name_ = "host convolution";
    }
    double nanoseconds() const override { return convolution_.layout == cost::Layout::plain ? 1000 : 1000 * last_; }
    // Of two spatial dimensions.
    void launch(const cost::gpu::Launch& launch) override {
      const cost::gpu::Convolution& c = convolution_;
      ASSERT_EQ(c.image.size(), 4U);
      ASSERT_FALSE(c.transposed);
      const Array image(launch.operands[0], c.type);
      const Array weights(launch.operands[1], c.type);
      Array result(launch.results[0], c.type);
      const auto at = [&](const std::vector<std::int64_t>& dims, std::int64_t n, std::int64_t channel, std::int64_t y, std::int64_t x) {
        return c.layout == cost::Layout::plain ? ((n * dims[1] + channel) * dims[2] + y) * dims[3] + x
                                               : ((n * dims[2] + y) * dims[3] + x) * dims[1] + channel;
      };
      const std::int64_t in = c.weights[1];
      const std::int64_t out = c.result[1] / c.groups;
      for (std::int64_t n = 0; n < c.result[0]; ++n)
        for (std::int64_t k = 0; k < c.result[1]; ++k)
          for (std::int64_t y = 0; y < c.result[2]; ++y)
            for (std::int64_t x = 0; x < c.result[3]; ++x) {
              float sum = 0;
              for (std::int64_t i = 0; i < in; ++i)
                for (std::int64_t r = 0; r < c.weights[2]; ++r)
                  for (std::int64_t s = 0; s < c.weights[3]; ++s) {
                    const std::int64_t from_y = y * c.strides[0] - c.pads_before[0] + r * c.dilations[0];
                    const std::int64_t from_x = x * c.strides[1] - c.pads_before[1] + s * c.dilations[1];
                    if (from_y < 0 || from_y >= c.image[2] || from_x < 0 || from_x >= c.image[3]) continue;
                    sum += image[at(c.image, n, k / out * in + i, from_y, from_x)] * weights[at(c.weights, k, i, r, s)];
                  }
              const std::int64_t place = at(c.result, n, k, y, x);
              if (c.residual) sum += Array(launch.operands[*c.residual], c.type)[place];
              if (c.bias) sum += Array(launch.operands[*c.bias], c.type)[k];
              result.set(place, activated(c.activation, sum));
            }
    }

   private:
    cost::gpu::Convolution convolution_;
    double last_;
  };

  class AttentionReady final : public HostReady {
   public:
    explicit AttentionReady(const cost::gpu::Attention& attention) : attention_(attention) { name_ = "host attention"; }
    double nanoseconds() const override { return 500; }
    void launch(const cost::gpu::Launch& launch) override {
      const cost::gpu::Attention& a = attention_;
      const auto element = [&](std::size_t operand, const cost::gpu::Strided& tensor, std::array<std::int64_t, 4> index) {
        std::int64_t at = 0;
        for (std::size_t k = 0; k < index.size(); ++k)
          if (tensor.dims[k] != 1) at += index[k] * tensor.strides[k];
        return Array(launch.operands[operand], a.type)[at];
      };
      Array result(launch.results[0], a.type);
      const auto [batch, heads, rows, depth] = a.query.dims;
      const std::int64_t columns = a.key.dims[2];
      for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t h = 0; h < heads; ++h)
          for (std::int64_t i = 0; i < rows; ++i) {
            std::vector<float> weights(static_cast<std::size_t>(columns));
            float most = -std::numeric_limits<float>::infinity();
            for (std::int64_t j = 0; j < columns; ++j) {
              float sum = 0;
              for (std::int64_t d = 0; d < depth; ++d) sum += element(0, a.query, {b, h, i, d}) * element(1, a.key, {b, h, j, d});
              sum *= static_cast<float>(a.scale);
              if (a.mask) sum += element(3, *a.mask, {b, h, i, j});
              weights[static_cast<std::size_t>(j)] = sum;
              most = std::max(most, sum);
            }
            float total = 0;
            for (float& weight : weights) total += weight = std::exp(weight - most);
            for (std::int64_t e = 0; e < a.value.dims[3]; ++e) {
              float sum = 0;
              for (std::int64_t j = 0; j < columns; ++j) sum += weights[static_cast<std::size_t>(j)] * element(2, a.value, {b, h, j, e});
              const auto& s = a.result.strides;
              result.set(b * s[0] + h * s[1] + i * s[2] + e * s[3], sum / total);
            }
          }
    }

   private:
    cost::gpu::Attention attention_;
  };

  struct HostRecorded final : cost::gpu::Recorded {
    std::vector<cost::gpu::Launch> launches;
  };

  static std::byte* place(Address address) { return reinterpret_cast<std::byte*>(static_cast<std::uint64_t>(address)); }

  cost::DeviceInfo info_;
  std::map<Address, std::pair<std::unique_ptr<std::byte[]>, std::size_t>> blocks_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace xflow::testing
