// Loaded before the program (LD_PRELOAD): lists what is flushed, renamed and made a folder, in order, in the file XFLOW_DISK_LOG.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace {

void log(const std::string& line) {
  const int before = errno;
  const char* path = std::getenv("XFLOW_DISK_LOG");
  const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
    close(file);
  }
  errno = before;
}

std::string path_of(int descriptor) {
  std::array<char, 4096> path{};
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path.data(), path.size());
  return size < 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(size));
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int fsync(int descriptor) {
  const int result = next<int (*)(int)>("fsync")(descriptor);
  if (result == 0) log("flush\t" + path_of(descriptor) + "\n");
  return result;
}

extern "C" __attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  const int result = next<int (*)(const char*, const char*)>("rename")(from, to);
  if (result == 0) log(std::string("rename\t") + from + "\t" + to + "\n");
  return result;
}

extern "C" __attribute__((visibility("default"))) int renameat2(int at, const char* from, int to_at, const char* to,
                                                                unsigned flags) noexcept {
  const int result = next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2")(at, from, to_at, to, flags);
  if (result == 0) log(std::string("rename\t") + from + "\t" + to + "\n");
  return result;
}

extern "C" __attribute__((visibility("default"))) int mkdir(const char* path, mode_t mode) noexcept {
  const int result = next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
  if (result == 0) log(std::string("folder\t") + path + "\n");
  return result;
}
