// Loaded before the program (LD_PRELOAD): a file system without flock, as some network file systems are.
#include <cerrno>

extern "C" __attribute__((visibility("default"))) int flock(int /*descriptor*/, int /*operation*/) {
  errno = ENOLCK;
  return -1;
}
