// The program `xflow`: a thin skin on the library.
#include <csignal>
#include <cstdlib>  // which defines __GLIBC__
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "src/cli/run.h"

int main(int argc, char** argv) {
#if defined(__GLIBC__)
  // Every proof takes and frees some megabytes, which would be given back to the system each time.
  mallopt(M_TRIM_THRESHOLD, 48 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
  // Beyond the limit of file sizes a write then fails, is reported, and leaves nothing behind.
  std::signal(SIGXFSZ, SIG_IGN);
  return xflow::cli::run(argc, argv);
}
