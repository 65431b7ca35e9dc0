#include "src/parallel/shard_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "src/support/printable.h"

namespace xflow::parallel {
namespace {

using onnx_io::DeviceGroup;
using onnx_io::in_quotes;
using onnx_io::KnownSize;
using onnx_io::ShardedAxis;
using onnx_io::ShardingSpec;
using onnx_io::SimpleSharding;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// The product of two numbers that are not negative; kMost if it is larger.
std::int64_t product(std::int64_t a, std::int64_t b) { return a != 0 && b > kMost / a ? kMost : a * b; }

std::string count_of(std::int64_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

std::string text_of(const KnownSize& size) {
  if (size.value) return std::to_string(*size.value);
  std::vector<std::string> names;
  names.reserve(size.names.size());
  for (const std::string& name : size.names) names.push_back(in_quotes(name));
  return fmt::format("{}", fmt::join(names, " or "));
}

class SpecChecker {
 public:
  SpecChecker(const ShardingSpec& spec, const std::vector<KnownSize>* sizes, std::optional<std::int64_t> num_devices,
              const FaultPlace& place, PlanFaults& faults)
      : spec_(spec), sizes_(sizes), num_devices_(num_devices), place_(place), faults_(faults) {}

  std::optional<ShardLayout> run() {
    const std::size_t before = faults_.size();
    check_groups();
    check_devices();
    check_axes();
    if (faults_.size() > before) return std::nullopt;
    check_holders();
    if (faults_.size() > before || sizes_ == nullptr) return std::nullopt;
    return std::move(layout_);
  }

 private:
  void fault(PlanField field, std::string text) { faults_.add(place_, field, std::move(text)); }
  bool exists(std::int64_t device) const { return device >= 0 && (!num_devices_ || device < *num_devices_); }
  void missing_device(PlanField field, std::int64_t device, const std::string& where) {
    fault(field, fmt::format("device {}{} does not exist: the configuration has {}", device, where,
                             num_devices_ ? count_of(*num_devices_, "device") : "devices from 0 on"));
  }

  // The groups by their keys, and what is wrong with them.
  void check_groups() {
    const std::set<std::int64_t> used(spec_.devices.begin(), spec_.devices.end());
    for (const DeviceGroup& group : spec_.groups) {
      if (!groups_.emplace(group.key, &group.devices).second) {
        fault(PlanField::device_groups, fmt::format("several groups have the key {}", group.key));
        continue;
      }
      const std::string where = fmt::format(" of group {}", group.key);
      if (group.devices.empty()) fault(PlanField::device_groups, fmt::format("group {} has no device", group.key));
      if (!used.contains(group.key))
        fault(PlanField::device_groups, fmt::format("group {} is not used: it is no element of 'device'", group.key));
      for (const std::int64_t device : group.devices)
        if (!exists(device)) missing_device(PlanField::device_groups, device, where);
    }
  }

  void check_devices() {
    if (spec_.devices.empty()) fault(PlanField::device, "no device has the tensor");
    for (const std::int64_t device : spec_.devices) {
      if (groups_.contains(device) || exists(device)) continue;
      if (device < 0) {
        fault(PlanField::device, fmt::format("{} is neither a device nor a key of index_to_device_group_map", device));
      } else {
        missing_device(PlanField::device, device, "");
      }
    }
  }

  void check_axes() {
    std::map<std::int64_t, std::int64_t> seen;  // by axis from the front, if the rank is known: the axis as written
    bool is_complete = true;
    for (const ShardedAxis& sharded : spec_.axes) {
      if (!sharded.axis) {
        fault(PlanField::axis, "a sharded dimension has no axis");
        is_complete = false;
        continue;
      }
      std::int64_t axis = *sharded.axis;
      if (sizes_ != nullptr) {
        const auto rank = static_cast<std::int64_t>(sizes_->size());
        if (axis < -rank || axis >= rank) {
          fault(PlanField::axis, fmt::format("axis {} of a tensor of rank {}", axis, rank));
          is_complete = false;
          continue;
        }
        if (axis < 0) axis += rank;
      }
      if (const auto [first, is_new] = seen.emplace(axis, *sharded.axis); !is_new) {
        fault(PlanField::axis, first->second == *sharded.axis
                                   ? fmt::format("axis {} is divided several times", axis)
                                   : fmt::format("axis {} is divided several times: as {} and as {}", axis, first->second, *sharded.axis));
      }
      const std::int64_t shards = shards_of(sharded, axis);
      if (shards == 0) is_complete = false;
      shards_ = product(shards_, shards);
      if (shards > 1) layout_.cuts.push_back({static_cast<std::size_t>(axis), shards, sharded.dims});
    }
    if (is_complete && !spec_.devices.empty()) check_count();
  }

  void check_count() {
    const auto held = static_cast<std::int64_t>(spec_.devices.size());
    if (shards_ == held) return;
    std::string text = fmt::format("{} and {} in 'device'", count_of(shards_, "shard"), count_of(held, "element"));
    if (shards_ == 1) text += "; several copies of a tensor are one element, the key of a group";
    fault(PlanField::num_shards, std::move(text));
  }

  // The number of shards of an axis; 0 if it is not known.
  std::int64_t shards_of(const ShardedAxis& sharded, std::int64_t axis) {
    if (sharded.dims.empty()) {
      fault(PlanField::simple_sharding, fmt::format("axis {} has no simple_sharding", axis));
      return 0;
    }
    std::int64_t shards = 1;
    for (const SimpleSharding& dim : sharded.dims) {
      if (!dim.num_shards) {
        fault(PlanField::num_shards, fmt::format("num_shards of axis {} is missing", axis));
      } else if (*dim.num_shards < 1) {
        fault(PlanField::num_shards, fmt::format("num_shards of axis {} is {}, and at least 1 is expected", axis, *dim.num_shards));
      }
      if (!dim.num_shards || *dim.num_shards < 1) {
        shards = 0;
      } else {
        shards = product(shards, *dim.num_shards);
      }
      if (dim.dim_value && *dim.dim_value < 0)
        fault(PlanField::dimension, fmt::format("dim_value {} of axis {} is no size", *dim.dim_value, axis));
    }
    const KnownSize* size = sizes_ != nullptr ? &(*sizes_)[static_cast<std::size_t>(axis)] : nullptr;
    if (sharded.dims.size() == 1) {
      check_single(sharded.dims[0], axis, size);
    } else {
      check_fused(sharded.dims, axis, size);
    }
    return shards;
  }

  void check_single(const SimpleSharding& dim, std::int64_t axis, const KnownSize* known) {
    if (known != nullptr && dim.dim_value && known->value && *dim.dim_value != *known->value)
      return fault(PlanField::dimension, fmt::format("dim_value {} of axis {}, whose size is {}", *dim.dim_value, axis, *known->value));
    if (known != nullptr && dim.dim_param && (known->value || !known->names.empty()) &&
        std::ranges::find(known->names, *dim.dim_param) == known->names.end())
      fault(PlanField::dimension,
            fmt::format("dim_param {} of axis {}, whose size is {}", in_quotes(*dim.dim_param), axis, text_of(*known)));
    const auto size = dim.dim_value ? dim.dim_value : known != nullptr ? known->value : std::nullopt;
    if (size) check_even(*size, dim, fmt::format("size {} of axis {}", *size, axis));
  }

  // Shards of different sizes: a sharding spec does not say where each begins.
  void check_even(std::int64_t size, const SimpleSharding& dim, const std::string& what) {
    if (size < 0 || !dim.num_shards || *dim.num_shards < 1 || size % *dim.num_shards == 0) return;
    fault(PlanField::num_shards, fmt::format("{} is not divisible into {} even shards", what, *dim.num_shards));
  }

  // Several dimensions are one axis only if their product is its size.
  void check_fused(std::span<const SimpleSharding> dims, std::int64_t axis, const KnownSize* known) {
    std::int64_t elements = 1;
    bool is_known = true;
    for (const SimpleSharding& dim : dims) {
      is_known = is_known && dim.dim_value.has_value();
      if (!dim.dim_value || *dim.dim_value < 0) continue;
      elements = product(elements, *dim.dim_value);
      check_even(*dim.dim_value, dim, fmt::format("dimension {} of axis {}", *dim.dim_value, axis));
    }
    if (known == nullptr || !known->value) return;
    const bool fits = is_known ? elements == *known->value : elements != 0 && *known->value % elements == 0;
    if (!fits) {
      fault(PlanField::simple_sharding, fmt::format("the dimensions of axis {} have {}{} elements together, and its size is {}", axis,
                                                    is_known ? "" : "a multiple of ", elements, *known->value));
    }
  }

  // The devices of each shard. A device has one shard.
  void check_holders() {
    std::map<std::int64_t, std::size_t> holder;
    for (std::size_t shard = 0; shard < spec_.devices.size(); ++shard) {
      const auto group = groups_.find(spec_.devices[shard]);
      const std::span<const std::int64_t> devices =
          group != groups_.end() ? std::span<const std::int64_t>(*group->second) : std::span(&spec_.devices[shard], 1);
      for (const std::int64_t device : devices) {
        const auto [first, is_new] = holder.emplace(device, shard);
        if (is_new) {
          layout_.shards[device] = along_cuts(shard);
        } else if (first->second == shard) {
          return fault(PlanField::device_groups, fmt::format("device {} occurs twice in group {}", device, spec_.devices[shard]));
        } else {
          return fault(PlanField::device, fmt::format("device {} has shards {} and {}", device, first->second, shard));
        }
      }
    }
  }

  // The number of a shard along each cut.
  std::vector<std::int64_t> along_cuts(std::size_t shard) const {
    std::vector<std::int64_t> result(layout_.cuts.size());
    auto rest = static_cast<std::int64_t>(shard);
    for (std::size_t k = layout_.cuts.size(); k-- > 0;) {
      result[k] = rest % layout_.cuts[k].shards;
      rest /= layout_.cuts[k].shards;
    }
    return result;
  }

  const ShardingSpec& spec_;
  const std::vector<KnownSize>* sizes_;
  std::optional<std::int64_t> num_devices_;
  const FaultPlace& place_;
  PlanFaults& faults_;
  std::map<std::int64_t, const std::vector<std::int64_t>*> groups_;
  std::int64_t shards_ = 1;
  ShardLayout layout_;
};

}  // namespace

std::optional<ShardLayout> check_spec(const ShardingSpec& spec, const std::vector<KnownSize>* sizes,
                                      std::optional<std::int64_t> num_devices, const FaultPlace& place, PlanFaults& faults) {
  return SpecChecker(spec, sizes, num_devices, place, faults).run();
}

}  // namespace xflow::parallel
