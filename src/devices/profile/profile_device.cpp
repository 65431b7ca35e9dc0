#include "src/devices/profile/profile_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/ops/kernel_text.h"

namespace xflow::cost::profile {
namespace {

constexpr std::size_t kUsualChain = 4;

ir::DataType type_of(const ops::KernelSpec& spec) { return spec.results.empty() ? ir::DataType::undefined : spec.results[0].data_type; }

std::string base_name(const ops::KernelSpec& spec) { return is_pointwise(spec) ? "pointwise" : ops::kernel_name(spec); }

std::string layout_name(const ops::KernelSpec& spec, Layout layout) {
  return fmt::format("{}:{} {} {}", ops::kernel_name(spec), ops::kernel_variant(spec), ir::name(type_of(spec)), name(layout));
}

std::string fused_name(const ops::KernelSpec& base, const ops::StepFunction& step) {
  const std::string graph = step.graph.empty() ? "" : ":" + step.graph;
  return fmt::format("{} {} {}{}", base_name(base), ir::name(type_of(base)), ops::function_name(step), graph);
}

std::int64_t block_of(Layout layout) {
  return layout == Layout::blocked4 ? 4 : layout == Layout::blocked8 ? 8 : layout == Layout::blocked16 ? 16 : 1;
}

bool takes_no_time(const ops::KernelSpec& spec) {
  const auto is_empty = [](const ops::TensorSpec& tensor) { return std::ranges::find(tensor.dims, 0) != tensor.dims.end(); };
  return spec.is(ops::KernelFamily::none) || std::ranges::all_of(spec.results, is_empty);
}

}  // namespace

ProfileDevice::ProfileDevice(Profile profile) : profile_(std::move(profile)), info_(profile_.device), calibration_(samples_of(profile_)) {
  info_.name = "profile of " + info_.name;
  info_.calibration.clear();
  for (const auto& [key, entry] : profile_.kernels) {
    if (!entry.ran) continue;
    if (const auto spec = ops::parse_kernel(key.first)) learn(*spec, key.second, entry.cost);
  }
}

void ProfileDevice::learn(const ops::KernelSpec& spec, Layout layout, const KernelCost& cost) {
  for (const ops::PostOperation& post : spec.post) fused_.insert(fused_name(spec, post.function));
  if (is_pointwise(spec) && !spec.post.empty()) {
    ops::StepFunction step = spec.function;
    step.graph.clear();
    fused_.insert(fused_name(spec, step));
  }
  longest_ = std::max(longest_, spec.post.size());
  const auto has_graph = [](const ops::PostOperation& post) { return !post.function.graph.empty(); };
  if (!spec.function.graph.empty() || std::ranges::any_of(spec.post, has_graph)) reads_function_graphs_ = true;
  if (spec.is(ops::KernelFamily::reorder)) return;
  if (layout == Layout::any) {
    chooses_.insert(ops::kernel_name(spec));
    chosen_.push_back({class_of(spec), features_of(spec), cost.operands, cost.results});
  } else {
    layouts_.insert(layout_name(spec, layout));
  }
}

std::unique_ptr<Device> ProfileDevice::for_thread() const {
  auto other = std::make_unique<ProfileDevice>(*this);
  other->stop_ = nullptr;  // these belong to the thread of this device, and a lookup takes no time
  other->bytes_left_ = nullptr;
  other->seconds_left_ = nullptr;
  return other;
}

bool ProfileDevice::chooses_layout(const ops::KernelSpec& spec) const { return chooses_.contains(ops::kernel_name(spec)); }

bool ProfileDevice::works_in(const ops::KernelSpec& spec, Layout layout) const {
  if (layout == Layout::plain) return true;
  if (spec.operands.empty() || spec.results.empty() || !has_layouts(spec.results[0])) return false;
  const std::size_t rank = spec.results[0].dims.size();
  if (!is_pointwise(spec) && spec.operands[0].dims.size() != rank) return false;
  return spec.results[0].dims[1] % block_of(layout) == 0 && layouts_.contains(layout_name(spec, layout));
}

bool ProfileDevice::can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const {
  if (base.results.size() != 1 || post.operands.size() > 1) return false;
  const ops::TensorSpec& result = base.results[0];
  if (!std::ranges::all_of(post.operands, [&](const ops::TensorSpec& operand) { return broadcasts_to(operand, result); })) return false;
  const auto is_residual = [&](const ops::PostOperation& p) {
    return std::ranges::any_of(p.operands,
                               [&](const ops::TensorSpec& operand) { return !operand.constant && operand.dims == result.dims; });
  };
  if (!is_pointwise(base) && is_residual(post) && std::ranges::any_of(base.post, is_residual)) return false;
  if (profile_.kernels.empty()) {
    const bool usual = is_pointwise(base) || is_anchor(base);
    return usual && base.post.size() < kUsualChain;
  }
  return base.post.size() < longest_ && fused_.contains(fused_name(base, post.function));
}

Result<KernelCost> ProfileDevice::measure(const ops::KernelSpec& spec, Layout layout) {
  if (takes_no_time(spec)) return KernelCost{};
  const auto known = profile_.kernels.find(Profile::Key{ops::to_string(spec), layout});
  if (known != profile_.kernels.end()) {
    ++recorded_;
    if (!known->second.ran) return fail(ErrorCode::unsupported, known->second.ran.reason);
    KernelCost cost = known->second.cost;
    cost.interference = 0;  // a profile cannot time a kernel again
    return cost;
  }
  KernelCost cost;
  cost.operands = cost.results = layout;
  if (spec.is(ops::KernelFamily::reorder)) {
    cost.operands = static_cast<Layout>(spec.find("from")->at(0));
    cost.results = static_cast<Layout>(spec.find("to")->at(0));
    if (same_bytes(spec.operands[0], cost.operands, cost.results)) return cost;
  } else if (layout == Layout::any) {
    // The layouts that the device chose for the most similar kernel.
    cost.operands = cost.results = Layout::plain;
    const std::string group = class_of(spec);
    const Features features = features_of(spec);
    double least = std::numeric_limits<double>::infinity();
    for (const Chosen& other : chosen_) {
      const double away = distance(features, other.features) + (other.group == group ? 0 : 100);
      if (away >= least) continue;
      least = away;
      cost.operands = other.operands;
      cost.results = other.results;
    }
  }
  XFLOW_TRY(cost.median, modelled_time(spec));
  ++modelled_;
  return cost;
}

Result<Nanoseconds> ProfileDevice::modelled_time(const ops::KernelSpec& spec) const {
  const Features features = features_of(spec);
  if (const auto time = calibration_.of_class(class_of(spec), features)) return *time;
  if (profile_.roofline.given()) return roofline_time(spec);
  if (const auto time = calibration_.of_all(features)) return *time;
  return fail(ErrorCode::unsupported,
              fmt::format("cannot run {} here: the profile has too few kernels for a model, and no roofline", ops::to_string(spec)));
}

// The share of the peak that a convolution reaches. A device multiplies tiles of group_channels input by
// group_channels output channels, and a small group fills only a part of a tile. Devices do not run
// depthwise convolutions (one input channel in a group) as products of matrices.
double ProfileDevice::share_of_peak(const ops::KernelSpec& spec) const {
  const auto channels = group_channels_of(spec);
  if (profile_.roofline.group_channels == 0 || !channels || channels->inputs <= 1) return 1;
  const double full = profile_.roofline.group_channels;
  return std::min(1.0, channels->inputs / full) * std::min(1.0, std::max(1.0, channels->outputs) / full);
}

// launch + max(operations / peak, bytes / bandwidth) (Williams, Waterman, Patterson 2009).
Result<Nanoseconds> ProfileDevice::roofline_time(const ops::KernelSpec& spec) const {
  constexpr double kNanoseconds = 1e9;
  const Features features = features_of(spec);
  const double operations = features.products / share_of_peak(spec) + features.elementwise;
  double seconds = features.bytes / profile_.roofline.bandwidth;
  if (operations > 0) {
    const auto peak = profile_.roofline.peak.find(type_of(spec));
    if (peak == profile_.roofline.peak.end())
      return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: the profile has no line 'roofline peak {}'",
                                                      ops::to_string(spec), ir::name(type_of(spec))));
    seconds = std::max(seconds, operations / peak->second);
  }
  return Nanoseconds{profile_.roofline.launch.count() + kNanoseconds * seconds};
}

}  // namespace xflow::cost::profile
