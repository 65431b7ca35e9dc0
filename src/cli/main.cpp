// The program `xflow`: a thin skin on the library.
#include <csignal>

#include "src/cli/run.h"

int main(int argc, char** argv) {
  // Beyond the limit of file sizes a write then fails, is reported, and leaves nothing behind.
  std::signal(SIGXFSZ, SIG_IGN);
  return xflow::cli::run(argc, argv);
}
