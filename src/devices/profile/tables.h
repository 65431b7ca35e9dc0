// Published tables of measured kernels, as profiles (docs/cost.md, *Tables of GPUs*).
#pragma once

#include <xflow/error.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/devices/profile/profile.h"

namespace xflow::cost::profile {

// A table as a text.
struct Table {
  std::string file;  // its path; the name of the file says what the kernels compute
  std::string_view text;
};

// The profile of a device from tables of NeuSight (github.com/sitar-lab/NeuSight): comma-separated rows of
// device, latency_ms, kernel and the sizes of a shape, in files named after the operator (add.csv, bmm.csv,
// conv.csv, gelu.csv, linear.csv, ln.csv, mul.csv, relu.csv, softmax.csv).
//
// `device` is a name in the tables, or a part of one name alone; empty if the tables have one device.
// Measurements of one kernel are combined to their median, or marked if they contradict each other. Times
// below the launch floor are marked.
//
// Errors: syntax, with `where` as file:line, for other columns, sizes or times; invalid_argument for another
// device, and names the devices; unsupported for a table of another operator.
Result<Profile> profile_of_neusight(std::span<const Table> tables, std::string_view device);

}  // namespace xflow::cost::profile
