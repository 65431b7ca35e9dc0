#include "bench/search/roofline.h"

#include <algorithm>
#include <span>

#include "src/ops/op.h"

namespace xflow::bench {
namespace {

double product_of(std::span<const std::int64_t> dims) {
  double product = 1;
  for (const std::int64_t d : dims) product *= static_cast<double>(d);
  return product;
}

double bytes_of(const std::vector<ops::TensorSpec>& tensors) {
  double bytes = 0;
  for (const ops::TensorSpec& tensor : tensors) bytes += 4 * product_of(tensor.dims);
  return bytes;
}

class Roofline final : public cost::Device {
 public:
  explicit Roofline(bool copies_are_free) : copies_are_free_(copies_are_free) { info_.name = "roofline"; }
  const cost::DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec&) const override { return false; }
  bool works_in(const ops::KernelSpec&, cost::Layout layout) const override { return layout == cost::Layout::plain; }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation&) const override {
    return !copies_are_free_ && base.post.size() < 4 && (is_anchor(base) || is_pointwise(base));
  }
  Result<cost::KernelCost> measure(const ops::KernelSpec& spec, cost::Layout layout) override {
    return cost::KernelCost{Nanoseconds(time(spec)), Nanoseconds(0), 1, layout, layout};
  }

 private:
  double time(const ops::KernelSpec& spec) const {
    if (spec.is(ops::KernelFamily::none)) return 0;
    if (copies_are_free_ && (spec.is(ops::KernelFamily::copy) || spec.is(ops::KernelFamily::reorder))) return 1;
    const double bytes = bytes_of(ops::all_operands(spec)) + bytes_of(spec.results);
    return 5000 + std::max(bytes / 800, operations_of(spec) / 14'000);
  }

  bool copies_are_free_;
  cost::DeviceInfo info_;
};

}  // namespace

double operations_of(const ops::KernelSpec& spec) {
  if (spec.is(ops::KernelFamily::product)) return 2 * product_of(spec.results[0].dims) * static_cast<double>(spec.operands[0].dims.back());
  if (!spec.is(ops::KernelFamily::convolution)) return 0;
  // Weights are [outputs, inputs / groups, window...], of a transposed convolution [inputs, outputs / groups, window...].
  const double each = product_of(std::span(spec.operands[1].dims).subspan(1));
  return 2 * each * product_of((spec.is(ops::Op::Conv) ? spec.results[0] : spec.operands[0]).dims);
}

std::unique_ptr<cost::Device> roofline(bool copies_are_free) { return std::make_unique<Roofline>(copies_are_free); }

}  // namespace xflow::bench
