#include "src/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace xflow::cli {
namespace {

constexpr int kInterrupted = 130;

// The token of the signal handlers. It is static because a handler receives only the number of the signal.
CancellationToken& token_of_signals() {
  static CancellationToken token;
  return token;
}

void handle(int /*signal*/) {
  const CancellationToken& token = token_of_signals();
  if (token.is_finishing()) _exit(kInterrupted);
  token.finish();
  constexpr std::string_view kSaid =
      "\nxflow: interrupted: checking and writing the best result so far; interrupt again to stop at once and write nothing\n";
  const int before = errno;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kSaid.data(), kSaid.size());
  errno = before;
}

}  // namespace

void finish_on_signals(const CancellationToken& token) {
  token_of_signals() = token;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace xflow::cli
