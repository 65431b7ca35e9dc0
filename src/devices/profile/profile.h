// Profiles: text files that describe a device which is not in this machine by measured kernels and its
// roofline (docs/cost.md, *Profiles*).
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "src/cost/database.h"
#include "src/ir/type.h"
#include "src/kernels/device.h"

namespace xflow::cost::profile {

// The roofline of a device. Without measured kernels it alone predicts times.
struct Roofline {
  Nanoseconds launch{};                 // overhead of a kernel launch
  double bandwidth = 0;                 // bytes per second
  std::map<ir::DataType, double> peak;  // operations per second
  // Channels of a group with which a convolution of several groups reaches the peak; 0 if groups do not
  // matter. Groups of i input and o output channels reach min(1, i / group_channels) ·
  // min(1, o / group_channels) of it.
  int group_channels = 0;
  // Of a GPU, for the model of its products and convolutions (wave_model.h); 0 if unknown.
  int multiprocessors = 0;
  double cache = 0;  // bytes of the L2 cache
  bool given() const { return bandwidth > 0; }
  friend bool operator==(const Roofline&, const Roofline&) = default;
};

// Why models of other kernels leave a measured kernel out.
enum class Mark : std::uint8_t {
  at_floor,      // its time is the overhead of a launch rather than that of its work
  contradicted,  // its measurements contradict each other
};
// The word with which the line of a marked kernel begins, instead of "kernel".
constexpr std::string_view mark_name(Mark mark) { return mark == Mark::at_floor ? "at_floor" : "contradicted"; }

// "slice split"
std::string operators_of(const ViewSupport& views);

struct Profile {
  using Key = std::pair<std::string, Layout>;  // the kernel's text and the requested layout

  DeviceInfo device;
  std::string source;   // who measured it, for profiles made from published tables; may be empty
  std::string licence;  // of the source; may be empty
  Roofline roofline;
  ViewSupport views;
  std::map<Key, DatabaseEntry> kernels;
  std::map<Key, Mark> marks;  // of kernels

  bool has_mark(const Key& key, Mark mark) const;
  std::size_t count(Mark mark) const;
};

// Parses a profile. Errors: syntax, with `where` as file:line and what was expected, also for an unknown
// version.
Result<Profile> parse_profile(std::string_view text, const std::string& file);
// Reads a profile from a file. Errors: those of parse_profile; io if the file cannot be read.
Result<Profile> read_profile(const std::string& path);

// Writes a profile: the inverse of parse_profile. Kernels are sorted; equal profiles give equal texts.
std::string to_text(const Profile& profile);

// Adds the kernels of `other` to `into`. If both have a kernel, a provisional measurement in `into` is
// replaced by one with less interference; otherwise the measurement in `into` stays. Each has its mark. A
// roofline and views that only one profile has are taken, and the sources and licences of the two are named.
// Returns the number of new or replaced kernels. Errors:
// invalid_argument for profiles of different devices, rooflines or views.
Result<std::size_t> merge(Profile& into, const Profile& other);

// The profile of a device with its kernels from a database, without views.
Profile profile_of(const Database& database, const DeviceInfo& device);
// Adds the kernels of a profile to a database of its device, except contradicted ones.
void add_to(Database& database, const Profile& profile);

struct PruneOptions {
  bool with_interference = false;  // drop kernels that were timed under interference
  bool refused = false;            // drop kernels that the device refused
  std::string_view only = {};      // keep only kernels whose text contains this
};
// Returns the number of dropped kernels.
std::size_t prune(Profile& profile, const PruneOptions& options);

}  // namespace xflow::cost::profile
