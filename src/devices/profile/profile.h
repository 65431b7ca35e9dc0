// What is known of a device that is not here, as text: measured kernels of it, and what it does at most (docs/cost.md, *Profiles*).
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "src/cost/database.h"
#include "src/ir/type.h"
#include "src/kernels/device.h"

namespace xflow::cost::profile {

// What a device does at most. Without measured kernels this alone says what a kernel takes.
struct Roofline {
  Nanoseconds launch{};                 // of a kernel that has nothing to do
  double bandwidth = 0;                 // bytes a second
  std::map<ir::DataType, double> peak;  // operations a second
  bool given() const { return bandwidth > 0; }
  friend bool operator==(const Roofline&, const Roofline&) = default;
};

struct Profile {
  using Key = std::pair<std::string, Layout>;  // the kernel's text, the layout that it was asked for in

  DeviceInfo device;
  Roofline roofline;
  std::map<Key, DatabaseEntry> kernels;
};

// Errors: syntax, `where` is file:line, with what was expected there; for a version that this xflow does not know.
Result<Profile> parse_profile(std::string_view text, const std::string& file);
// The same, from a file. Errors: io, if it cannot be read.
Result<Profile> read_profile(const std::string& path);

// The text: the inverse of parse_profile, sorted, equal for equal profiles.
std::string to_text(const Profile& profile);

// Adds the kernels of `other` to `into`; of a kernel that both have the measurement with less interference stays, of two alike that of
// `into`. Gives back how many kernels are new or better. Errors: invalid_argument for profiles of different devices or rooflines.
Result<std::size_t> merge(Profile& into, const Profile& other);

// A profile of what a database holds for its device.
Profile profile_of(const Database& database, const DeviceInfo& device);
// Adds what a profile holds to a database of its device.
void add_to(Database& database, const Profile& profile);

struct PruneOptions {
  bool with_interference = false;  // drop what was timed under interference
  bool refused = false;            // drop what the device refused
  std::string_view only = {};      // keep kernels whose text contains this
};
// Gives back how many kernels were dropped.
std::size_t prune(Profile& profile, const PruneOptions& options);

}  // namespace xflow::cost::profile
