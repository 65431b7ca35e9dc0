#include "src/devices/profile/roofline_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/devices/profile/features.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost::profile {
namespace {

// The share of the peak that a convolution reaches. A device multiplies tiles of group_channels input by
// group_channels output channels, and a small group fills only a part of a tile. Devices do not run
// depthwise convolutions (one input channel in a group) as products of matrices.
double share_of_peak(const Roofline& roofline, const ops::KernelSpec& spec) {
  const auto channels = group_channels_of(spec);
  if (roofline.group_channels == 0 || !channels || channels->inputs <= 1) return 1;
  const double full = roofline.group_channels;
  return std::min(1.0, channels->inputs / full) * std::min(1.0, std::max(1.0, channels->outputs) / full);
}

}  // namespace

Result<Nanoseconds> roofline_time(const Roofline& roofline, const ops::KernelSpec& spec) {
  constexpr double kNanoseconds = 1e9;
  if (!roofline.given())
    return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: the profile has no roofline", ops::to_string(spec)));
  const Features features = features_of(spec);
  const double operations = features.products / share_of_peak(roofline, spec) + features.elementwise;
  double seconds = features.bytes / roofline.bandwidth;
  if (operations > 0) {
    const ir::DataType type = computing_type(spec);
    const auto peak = roofline.peak.find(type);
    if (peak == roofline.peak.end())
      return fail(ErrorCode::unsupported,
                  fmt::format("cannot run {} here: the profile has no line 'roofline peak {}'", ops::to_string(spec), ir::name(type)));
    seconds = std::max(seconds, operations / peak->second);
  }
  return Nanoseconds{roofline.launch.count() + kNanoseconds * seconds};
}

}  // namespace xflow::cost::profile
