// Files of policies of GO.
#pragma once

#include <xflow/error.h>

#include <string>

#include "src/policy/go_trainer.h"

namespace xflow::policy {

// An .npz file like that of write_policy() (policy_file.h), with the method 1. "policy" holds the version of
// the format, the method, and the numbers of features of nodes and of devices. "graphs" holds for each graph
// of the training its number, nodes and choices of fusions, and "devices", "priorities" and "fused" their
// plans, one after the other. Equal policies give equal bytes. Errors: io.
Result<void> write_go_policy(const std::string& path, const GoPolicy& policy);

// Errors: io; unreadable for a file that is not one, of another version, or with other features or sizes.
Result<GoPolicy> read_go_policy(const std::string& path);

}  // namespace xflow::policy
