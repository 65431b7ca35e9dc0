// The program `xflow`: a thin wrapper around the library.
#include <csignal>
#include <cstdlib>  // which defines __GLIBC__
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "src/cli/command_line.h"

int main(int argc, char** argv) {
#if defined(__GLIBC__)
  // Every proof allocates and frees some megabytes. Keep them, instead of returning them to the system each
  // time.
  mallopt(M_TRIM_THRESHOLD, 48 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
  // With SIGXFSZ ignored, a write beyond the file size limit fails, is reported, and leaves no file behind.
  std::signal(SIGXFSZ, SIG_IGN);
  return xflow::cli::run(argc, argv);
}
