// Signal handling of commands that can end early.
#pragma once

#include <xflow/cancel.h>

namespace xflow::cli {

// Installs handlers: the first SIGINT or SIGTERM asks the token to finish, the second ends the process at
// once with exit code 130.
void finish_on_signals(const CancellationToken& token);

}  // namespace xflow::cli
