#include "src/onnx/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "src/onnx/descriptor.h"

namespace xflow::onnx_io {

namespace {

// strerror_r has two signatures; the C++ library has one.
std::string reason(int error) { return std::system_category().message(error); }

Result<void> cannot_write(const std::string& path, int error) { return fail(ErrorCode::io, "cannot write: " + reason(error), path); }

// Writes everything; the error number, 0 if it went well.
int write_all(int descriptor, std::string_view bytes) {
  constexpr std::size_t kLargestWrite = std::size_t{1} << 30;  // Linux writes at most 2^31 - 4096 bytes a call
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Gathers small chunks so that a model of many nodes does not cost a system call each.
int write_chunks(int descriptor, std::span<const std::string_view> chunks) {
  constexpr std::size_t kBuffer = std::size_t{1} << 18;
  std::string buffer;
  buffer.reserve(kBuffer);
  for (const std::string_view chunk : chunks) {
    if (buffer.size() + chunk.size() > kBuffer) {
      if (const int error = write_all(descriptor, buffer); error != 0) return error;
      buffer.clear();
    }
    if (chunk.size() > kBuffer) {
      if (const int error = write_all(descriptor, chunk); error != 0) return error;
    } else {
      buffer.append(chunk);
    }
  }
  return write_all(descriptor, buffer);
}

Result<void> write_in_place(const std::string& path, std::span<const std::string_view> chunks) {
  Descriptor out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (out.number() < 0) return cannot_write(path, errno);
  if (const int error = write_chunks(out.number(), chunks); error != 0) return cannot_write(path, error);
  if (const int error = out.close(); error != 0) return cannot_write(path, error);
  return {};
}

// Creates a file of a new name beside `base` with the permissions that the user's umask leaves; `path` receives its name.
int create_temporary(const std::string& folder, const std::string& base, std::string& path) {
  static std::atomic<unsigned> serial{0};
  while (true) {
    path = folder + "/." + base.substr(0, 200) + "." + std::to_string(::getpid()) + "-" + std::to_string(serial++) + ".tmp";
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

}  // namespace

FileBytes::~FileBytes() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

std::shared_ptr<const FileBytes> FileBytes::own(std::string bytes) {
  std::shared_ptr<FileBytes> file(new FileBytes);
  file->owned_ = std::move(bytes);
  file->bytes_ = file->owned_;
  return file;
}

Result<std::shared_ptr<const FileBytes>> FileBytes::map(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return fail(ErrorCode::unreadable, "cannot open: " + reason(errno), path);
  std::shared_ptr<FileBytes> file(new FileBytes);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::shared_ptr<const FileBytes>(std::move(file));
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (mapping == MAP_FAILED) return fail(ErrorCode::unreadable, "cannot map: " + reason(errno), path);
  file->mapping_ = mapping;
  file->bytes_ = std::string_view(static_cast<const char*>(mapping), size);
  return std::shared_ptr<const FileBytes>(std::move(file));
}

Result<std::shared_ptr<const FileBytes>> FileBytes::open(const std::string& path) {
  const Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.number() < 0) return fail(ErrorCode::unreadable, "cannot open: " + reason(errno), path);
  struct stat status {};
  if (::fstat(in.number(), &status) != 0) return fail(ErrorCode::unreadable, "cannot open: " + reason(errno), path);
  if (S_ISDIR(status.st_mode)) return fail(ErrorCode::unreadable, "cannot open: is a folder, expected a file", path);
  if (S_ISREG(status.st_mode)) return map(in.number(), path);
  std::shared_ptr<FileBytes> file(new FileBytes);
  std::string buffer(std::size_t{1} << 16, '\0');
  while (true) {
    const ssize_t count = ::read(in.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::unreadable, "cannot read: " + reason(errno), path);
    if (count == 0) break;
    file->owned_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  file->bytes_ = file->owned_;
  return std::shared_ptr<const FileBytes>(std::move(file));
}

std::string folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<void> write_file(const std::string& path, std::span<const std::string_view> chunks) {
  std::string target = path;
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(path, chunks);
  if (exists) {
    std::error_code ignored;
    const std::filesystem::path resolved = std::filesystem::canonical(path, ignored);
    if (!ignored) target = resolved.string();
  }
  const std::string folder = folder_of(target);
  const std::string base = std::filesystem::path(target).filename().string();
  if (base.empty()) return cannot_write(path, EISDIR);
  std::string temporary;
  Descriptor out(create_temporary(folder, base, temporary));
  if (out.number() < 0) return cannot_write(path, errno);
  int error = write_chunks(out.number(), chunks);
  if (error == 0 && exists && ::fchmod(out.number(), status.st_mode & 07777) != 0) error = errno;
  if (error == 0 && ::fsync(out.number()) != 0) error = errno;
  if (const int closed = out.close(); error == 0) error = closed;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return cannot_write(path, error);
  }
  // The rename itself must reach the disk too. A file system that cannot flush a folder has nothing to flush, so a failure is no error.
  const Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.number() >= 0) ::fsync(parent.number());
  return {};
}

}  // namespace xflow::onnx_io
