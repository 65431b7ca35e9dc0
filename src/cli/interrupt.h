// What Ctrl-C does to a command that can end early.
#pragma once

#include <xflow/cancel.h>

namespace xflow::cli {

// From now on the first SIGINT or SIGTERM asks the token to finish, and the second ends the process at once with exit code 130.
void finish_on_signals(const CancellationToken& token);

}  // namespace xflow::cli
