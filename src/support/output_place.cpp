#include "src/support/output_place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "src/support/descriptor.h"
#include "src/support/file.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {

namespace {

namespace fs = std::filesystem;

Unexpected refused(const std::string& path, const std::string& why) { return fail(ErrorCode::io, "cannot write: " + why, path); }

bool names_standard_output(std::string_view path) {
  constexpr std::array<std::string_view, 4> kNames = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  return std::find(kNames.begin(), kNames.end(), path) != kNames.end();
}

// The absolute path of a file that may not exist, with the links of its existing part resolved.
fs::path resolved(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path whole = fs::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : whole;
}

}  // namespace

Result<OutputPlace> output_place(const std::string& path) {
  OutputPlace place;
  place.path = path;
  if (names_standard_output(path)) {
    place.kind = OutputPlace::Kind::standard_output;
    return place;
  }
  place.folder = folder_of(path);
  place.target = path;
  if (fs::path(path).filename().empty()) return refused(path, system_reason(EISDIR));
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    const int error = errno;
    struct stat link {};
    if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) {
      std::error_code ignored;
      return refused(path, "is a symbolic link to " + in_quotes(fs::read_symlink(path, ignored).string()) + ", which does not exist");
    }
    if (error != ENOENT) return refused(path, system_reason(error));
    if (::stat(place.folder.c_str(), &status) != 0) return refused(path, system_reason(errno));
    if (!S_ISDIR(status.st_mode)) return refused(path, system_reason(ENOTDIR));
    return place;
  }
  if (S_ISDIR(status.st_mode)) return refused(path, system_reason(EISDIR));
  // Root may write read-only files. The permission bits state the owner's intent, so they are checked as
  // well.
  const bool writable = (status.st_mode & 0222U) != 0 && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  if (!writable) return refused(path, "the file is read-only");
  if (!S_ISREG(status.st_mode)) {
    place.kind = OutputPlace::Kind::other;
    return place;
  }
  place.exists = true;
  place.permissions = status.st_mode & 07777U;
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (error) return refused(path, error.message());
  place.target = target.string();
  return place;
}

bool same_place(const std::string& one, const std::string& other) {
  struct stat a {};
  struct stat b {};
  const bool is_one = ::stat(one.c_str(), &a) == 0;
  const bool is_other = ::stat(other.c_str(), &b) == 0;
  if (is_one != is_other) return false;
  if (is_one) return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  return resolved(one) == resolved(other);
}

Result<void> check_output(const std::string& path) {
  XFLOW_TRY(const OutputPlace place, output_place(path));
  if (place.kind != OutputPlace::Kind::file) return {};
  std::string temporary;
  const Descriptor probe(create_temporary(folder_of(place.target), fs::path(place.target).filename().string(), ".tmp", temporary));
  if (!probe) return refused(path, system_reason(errno));
  ::unlink(temporary.c_str());
  return {};
}

Result<std::string> temporary_name(const OutputPlace& place, std::string_view ending) {
  std::string path;
  const Descriptor file(
      create_temporary(fs::absolute(place.folder).lexically_normal().string(), fs::path(place.path).filename().string(), ending, path));
  if (!file) return refused(place.path, system_reason(errno));
  ::unlink(path.c_str());
  return path;
}

int create_temporary(const std::string& folder, const std::string& base, std::string_view ending, std::string& path) {
  static std::atomic<unsigned> serial{0};
  while (true) {
    path = folder + "/." + base.substr(0, 180) + ".xflow-" + std::to_string(::getpid()) + "-" + std::to_string(serial++);
    path += ending;
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) {
      if (errno == EEXIST) continue;
      return -1;
    }
    // If the file system has no locks, no other run can lock the file either: keep it.
    struct stat status {};
    const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const bool taken = locked ? ::fstat(descriptor, &status) == 0 && status.st_nlink == 0 : errno == EWOULDBLOCK;
    if (!taken) return descriptor;
    ::close(descriptor);  // another run took it for a leftover before it was locked
  }
}

bool is_temporary(std::string_view name, std::string_view ending) {
  if (!name.starts_with('.') || !name.ends_with(ending)) return false;
  name.remove_suffix(ending.size());
  const auto digits = [&] {
    const std::size_t last = name.find_last_not_of("0123456789");
    const bool some = last != std::string_view::npos && last + 1 < name.size();
    if (some) name = name.substr(0, last + 1);
    return some;
  };
  constexpr std::string_view kMark = ".xflow-";
  if (!digits() || !name.ends_with('-')) return false;
  name.remove_suffix(1);
  return digits() && name.ends_with(kMark);
}

}  // namespace xflow::onnx_io
