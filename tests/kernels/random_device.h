// A device without a clock whose times are drawn at random: one draw a kernel, the same every time that it is asked.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

#include "src/kernels/device.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

namespace xflow::cost {

class RandomDevice : public Device {
 public:
  // A time for a kernel, given a random number in [0, 1) that belongs to it.
  using Times = std::function<double(const ops::KernelSpec&, double)>;

  // Nothing about a kernel says how long it takes: from a nanosecond to a second, drawn for each layout.
  static double adversarial(const ops::KernelSpec&, double random) { return std::pow(10.0, 9 * random); }
  // What a kernel has to do, measured with an error of up to 30 % either way.
  static double noisy(const ops::KernelSpec& spec, double random) {
    const auto elements = [](const ops::TensorSpec& tensor) {
      double n = 1;
      for (const std::int64_t d : tensor.dims) n *= static_cast<double>(d);
      return n;
    };
    const double results = elements(spec.results[0]);
    double time = 200 + 0.1 * results;
    if (spec.is(ops::Op::Conv)) time += 0.02 * results * elements(spec.operands[1]) / static_cast<double>(spec.operands[1].dims[0]);
    time += 0.01 * results * static_cast<double>(spec.post.size());
    return time * (0.7 + 0.6 * random);
  }

  RandomDevice(std::uint64_t seed, Times times) : seed_(seed), times_(std::move(times)) { info_.name = "random"; }

  const DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec& spec) const override { return spec.is(ops::Op::Conv); }
  bool works_in(const ops::KernelSpec& spec, Layout layout) const override { return layout == Layout::plain || is_pointwise(spec); }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation&) const override {
    return base.is(ops::Op::Conv) || base.is(ops::Op::Matmul) || is_pointwise(base);
  }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override {
    ++measured;
    const double slowdown = slowdowns ? slowdowns(measured) : 0;
    KernelCost cost{
        Nanoseconds(times_(spec, random(spec, layout)) * (1 + slowdown)), Nanoseconds(0), 1, layout, layout, tells ? slowdown : 0};
    if (layout == Layout::any) {  // its layouts are random too
      constexpr Layout kLayouts[] = {Layout::plain, Layout::channels_last, Layout::blocked8};
      cost.operands = cost.results = kLayouts[static_cast<std::size_t>(3 * random(spec, Layout::plain))];
    }
    return cost;
  }

  int measured = 0;
  // By how much the machine is slowed down during the measurement of this number, counted from 1; null: by nothing.
  std::function<double(int)> slowdowns;
  bool tells = true;  // it knows that it was slowed down

 private:
  double random(const ops::KernelSpec& spec, Layout layout) const {
    std::mt19937_64 generator(std::hash<std::string>()(ops::to_string(spec)) ^ (seed_ * 6 + static_cast<std::uint64_t>(layout)));
    return std::uniform_real_distribution<double>()(generator);
  }

  std::uint64_t seed_;
  Times times_;
  DeviceInfo info_;
};

}  // namespace xflow::cost
