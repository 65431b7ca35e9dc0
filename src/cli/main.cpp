// The program `xflow`: a thin skin on the library.
#include <csignal>
#include <cstdio>
#include <exception>

#include "src/cli/run.h"

int main(int argc, char** argv) {
  // Beyond the limit of file sizes a write then fails, is reported, and leaves nothing behind.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return xflow::cli::run(argc, argv);
  } catch (const std::exception& e) {
    // Of the standard library: no memory.
    std::fprintf(stderr, "xflow: %s\n", e.what());
    return xflow::cli::kCannot;
  }
}
