#include "src/devices/profile/profile_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/devices/profile/memory_model.h"
#include "src/devices/profile/roofline_time.h"
#include "src/ir/narrow.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost::profile {
namespace {

constexpr std::size_t kUsualChain = 4;
// The type of what is not in a narrow type, such as the results of products in float8.
constexpr ir::DataType kBesideNarrow = ir::DataType::bfloat16;
constexpr double kNanoseconds = 1e9;  // in a second
// Deviations of log(measured / predicted) where no kernel of the class was measured: 5/4 of the mean errors
// of unknown GPUs and of the roofline in bench/results/gpu-profiles.md, as of normal errors. Whether errors
// of such kernels are alike is not known.
constexpr double kUnknownGpuDeviation = 0.4;
constexpr double kSurerUnknownGpuDeviation = 0.3;  // of convolutions of 3x3, and of products in bfloat16
constexpr double kUnknownGpuDeviationOfMemory = 0.2;
constexpr double kRooflineDeviation = 0.6;

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

ProfileDevice::ProfileDevice(Profile profile, std::optional<ir::DataType> priced_as)
    : profile_(std::move(profile)), priced_as_(priced_as), info_(profile_.device), calibration_(samples_of(profile_)) {
  info_.name = "profile of " + info_.name;
  if (priced_as_) info_.library += fmt::format(", float32 priced as {}", ir::name(*priced_as_));
  if (priced_as_ && ir::is_narrow_floating(*priced_as_))
    info_.library += fmt::format(" in products, as {} elsewhere", ir::name(kBesideNarrow));
  info_.calibration.clear();
  std::map<std::string, std::vector<Nanoseconds>> floors;
  for (const auto& [key, entry] : profile_.kernels) {
    if (!entry.ran) continue;
    const auto spec = ops::parse_kernel(key.first);
    if (!spec) continue;
    learn(*spec, key.second, entry.cost);
    if (profile_.has_mark(key, Mark::at_floor)) floors[class_of(*spec)].push_back(entry.cost.median);
  }
  for (auto& [group, times] : floors) {
    const auto middle = times.begin() + std::ssize(times) / 2;
    std::ranges::nth_element(times, middle);
    floors_.emplace(group, *middle);
  }
}

void ProfileDevice::price(ops::TensorSpec& tensor) const {
  if (!priced_as_ || tensor.data_type != ir::DataType::float32) return;
  tensor.data_type = ir::is_narrow_floating(*priced_as_) ? kBesideNarrow : *priced_as_;
}

ops::PostOperation ProfileDevice::priced(ops::PostOperation post) const {
  for (ops::TensorSpec& operand : post.operands) price(operand);
  return post;
}

ops::KernelSpec ProfileDevice::priced(ops::KernelSpec spec) const {
  if (!priced_as_) return spec;
  const bool narrows = spec.is(ops::KernelFamily::product) && ir::is_narrow_floating(*priced_as_);
  for (ops::TensorSpec& operand : spec.operands) {
    if (narrows && operand.data_type == ir::DataType::float32) operand.data_type = *priced_as_;
    price(operand);
  }
  for (ops::TensorSpec& result : spec.results) price(result);
  for (ops::PostOperation& post : spec.post) post = priced(std::move(post));
  return spec;
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
  if (spec.is(ops::KernelFamily::attention)) attention_.insert(class_of(spec));
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

bool ProfileDevice::has_attention(const ops::KernelSpec& spec) const { return attention_.contains(class_of(priced(spec))); }

bool ProfileDevice::works_as(const ops::KernelSpec& spec, Layout layout) const {
  if (layout == Layout::plain) return true;
  if (spec.operands.empty() || spec.results.empty() || !has_layouts(spec.results[0])) return false;
  const std::size_t rank = spec.results[0].dims.size();
  if (!is_pointwise(spec) && spec.operands[0].dims.size() != rank) return false;
  return spec.results[0].dims[1] % block_of(layout) == 0 && layouts_.contains(layout_name(spec, layout));
}

bool ProfileDevice::fuses_as(const ops::KernelSpec& base, const ops::PostOperation& post) const {
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

const KernelCost* ProfileDevice::recorded_cost(const ops::KernelSpec& spec, Layout layout) const {
  const auto known = profile_.kernels.find(Profile::Key{ops::to_string(spec), layout});
  if (known == profile_.kernels.end() || !known->second.ran || profile_.has_mark(known->first, Mark::contradicted)) return nullptr;
  return &known->second.cost;
}

bool ProfileDevice::is_modelled(const ops::KernelSpec& spec, Layout layout) const {
  const ops::KernelSpec kernel = priced(spec);
  return !takes_no_time(kernel) && recorded_cost(kernel, layout) == nullptr;
}

TermError ProfileDevice::error_of(const ops::KernelSpec& spec, Layout layout) const {
  const ops::KernelSpec kernel = priced(spec);
  if (takes_no_time(kernel)) return {};
  if (const KernelCost* cost = recorded_cost(kernel, layout)) return {nullptr, std::max(kPriceNoise, cost->interference), {}};
  return error_of_model(kernel);
}

TermError ProfileDevice::error_of_model(const ops::KernelSpec& spec) const {
  const Features features = features_of(spec);
  const auto product = product_shape_of(spec);
  TermError error{nullptr, kRooflineDeviation, {}};
  if (const auto known = calibration_.error_of_class(class_of(spec), features, product)) {
    error = *known;
  } else if (product && model_of_unmeasured(*product, computing_type(spec))) {
    const bool is_surer = product->winograd || computing_type(spec) == ir::DataType::bfloat16;
    error.deviation = is_surer ? kSurerUnknownGpuDeviation : kUnknownGpuDeviation;
  } else if (memory_bound_time(profile_.roofline, spec)) {
    error.deviation = kUnknownGpuDeviationOfMemory;
  } else if (!profile_.roofline.given()) {
    error.deviation = calibration_.deviation_of_all();
  }
  error.deviation = std::max(error.deviation, kPriceNoise);
  return error;
}

Nanoseconds ProfileDevice::deviation(std::span<const WeightedPrice> prices) const {
  std::vector<std::pair<TermError, double>> terms;
  terms.reserve(prices.size());
  for (const WeightedPrice& price : prices) terms.emplace_back(error_of(price.spec, price.layout), price.count * price.cost.median.count());
  return Nanoseconds{std::sqrt(variance_of_sum(terms))};
}

Result<KernelCost> ProfileDevice::cost_of(const ops::KernelSpec& spec, Layout layout) {
  if (takes_no_time(spec)) return KernelCost{};
  const auto known = profile_.kernels.find(Profile::Key{ops::to_string(spec), layout});
  if (known != profile_.kernels.end() && !profile_.has_mark(known->first, Mark::contradicted)) {
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

std::optional<WaveModel> ProfileDevice::model_of_unmeasured(const ProductShape& product, ir::DataType type) const {
  const auto gpu = gpu_sizes_of(profile_.roofline, type);
  return gpu ? WaveModel::of_unmeasured(product, type, *gpu, profile_.roofline.launch) : std::nullopt;
}

Result<Nanoseconds> ProfileDevice::modelled_time(const ops::KernelSpec& spec) const {
  const Features features = features_of(spec);
  const std::string group = class_of(spec);
  const auto product = product_shape_of(spec);
  if (const auto time = calibration_.of_class(group, features, product, sizes_of(spec))) {
    const auto floor = floors_.find(group);
    return floor == floors_.end() ? *time : std::max(*time, floor->second);
  }
  if (product)
    if (const auto model = model_of_unmeasured(*product, computing_type(spec))) return Nanoseconds{kNanoseconds * model->time_of(*product)};
  if (const auto time = memory_bound_time(profile_.roofline, spec)) return *time;
  if (profile_.roofline.given()) return roofline_time(profile_.roofline, spec);
  if (const auto time = calibration_.of_all(features)) return *time;
  return fail(ErrorCode::unsupported,
              fmt::format("cannot run {} here: the profile has too few kernels for a model, and no roofline", ops::to_string(spec)));
}

}  // namespace xflow::cost::profile
