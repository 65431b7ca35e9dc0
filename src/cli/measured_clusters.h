// Clusters of processes on this machine, which are measured once and then known by their names.
#pragma once

#include <cstddef>
#include <string>

#include "xflow/error.h"

namespace xflow::cli {

// The folder of what xflow keeps for this user: $XDG_CACHE_HOME/xflow, else ~/.cache/xflow; empty without a
// home.
std::string cache_folder();

// Whether the name is "cpu-N" for a number N of processes from 2 on.
bool is_measured_cluster(const std::string& name);

// The file to which the processes of such a cluster write what they measured: in the cache folder, with the
// name of this machine. Errors: invalid_argument for another number of processes; io without a home or if
// the folder cannot be created.
Result<std::string> measured_cluster_file(const std::string& name, std::size_t processes);

// Replaces the name of such a cluster by its file; leaves other clusters as they are. Errors: unreadable if
// it was not measured on this machine, with the command that does it.
Result<void> find_measured_cluster(std::string& cluster);

}  // namespace xflow::cli
