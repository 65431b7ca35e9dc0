#include "src/support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "src/support/descriptor.h"
#include "src/support/output_place.h"

namespace xflow::onnx_io {

namespace {

Result<void> cannot_write(const std::string& path, int error) { return fail(ErrorCode::io, "cannot write: " + system_reason(error), path); }

Result<void> write_in_place(const OutputPlace& place, std::span<const std::string_view> chunks, const FileBytes* source) {
  if (place.kind == OutputPlace::Kind::standard_output) {
    const int error = write_chunks(STDOUT_FILENO, chunks, source);
    return error == 0 ? Result<void>() : cannot_write("standard output", error);
  }
  Descriptor out(::open(place.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!out) return cannot_write(place.path, errno);
  if (const int error = write_chunks(out.number(), chunks, source); error != 0) return cannot_write(place.path, error);
  if (const int error = out.close(); error != 0) return cannot_write(place.path, error);
  return {};
}

constexpr std::size_t kBlock = std::size_t{1} << 23;  // bytes between two releases of a mapped file's pages

}  // namespace

FileBytes::~FileBytes() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

void FileBytes::release(std::string_view part) const {
  if (mapping_ == nullptr) return;
  const auto first = reinterpret_cast<std::uintptr_t>(bytes_.data());
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  if (begin < first || begin + part.size() > first + bytes_.size()) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t offset = (begin - first) / page * page;  // madvise needs a page boundary
  ::madvise(static_cast<char*>(mapping_) + offset, begin - first + part.size() - offset, MADV_DONTNEED);
}

std::shared_ptr<const FileBytes> FileBytes::own(std::string bytes) {
  std::shared_ptr<FileBytes> file(new FileBytes);
  file->owned_ = std::move(bytes);
  file->bytes_ = file->owned_;
  return file;
}

Result<std::shared_ptr<const FileBytes>> FileBytes::map(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return fail(ErrorCode::unreadable, "cannot open: " + system_reason(errno), path);
  std::shared_ptr<FileBytes> file(new FileBytes);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::shared_ptr<const FileBytes>(std::move(file));
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (mapping == MAP_FAILED) return fail(ErrorCode::unreadable, "cannot map: " + system_reason(errno), path);
  file->mapping_ = mapping;
  file->device_ = status.st_dev;
  file->inode_ = status.st_ino;
  file->bytes_ = std::string_view(static_cast<const char*>(mapping), size);
  return std::shared_ptr<const FileBytes>(std::move(file));
}

Result<std::shared_ptr<const FileBytes>> FileBytes::open(const std::string& path) {
  const Descriptor in(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) return fail(ErrorCode::unreadable, "cannot open: " + system_reason(errno), path);
  struct stat status {};
  if (::fstat(in.number(), &status) != 0) return fail(ErrorCode::unreadable, "cannot open: " + system_reason(errno), path);
  if (S_ISDIR(status.st_mode)) return fail(ErrorCode::unreadable, "cannot open: is a folder, expected a file", path);
  if (S_ISREG(status.st_mode)) return map(in.number(), path);
  std::shared_ptr<FileBytes> file(new FileBytes);
  std::string buffer(std::size_t{1} << 16, '\0');
  while (true) {
    const ssize_t count = ::read(in.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::unreadable, "cannot read: " + system_reason(errno), path);
    if (count == 0) break;
    file->owned_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  file->bytes_ = file->owned_;
  return std::shared_ptr<const FileBytes>(std::move(file));
}

// strerror_r has two signatures; std::system_category has one.
std::string system_reason(int error) { return std::system_category().message(error); }

std::string folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<void> write_file(const std::string& path, std::span<const std::string_view> chunks, const FileBytes* source) {
  XFLOW_TRY(const OutputPlace place, output_place(path));
  if (place.kind != OutputPlace::Kind::file) return write_in_place(place, chunks, source);
  const std::string folder = folder_of(place.target);
  std::string temporary;
  Descriptor out(create_temporary(folder, std::filesystem::path(place.target).filename().string(), ".tmp", temporary));
  if (!out) return cannot_write(path, errno);
  int error = write_chunks(out.number(), chunks, source);
  if (error == 0 && place.exists && ::fchmod(out.number(), place.permissions) != 0) error = errno;
  if (error == 0 && ::fsync(out.number()) != 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), place.target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return cannot_write(path, error);
  }
  // Flush the rename to the disk, too. Failures are ignored: a file system that cannot flush a folder has
  // nothing to flush.
  const Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent) ::fsync(parent.number());
  return {};
}

int write_all(int descriptor, std::string_view bytes) {
  constexpr std::size_t kLargestWrite = std::size_t{1} << 30;  // Linux writes at most 2^31 - 4096 bytes per call
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

// Gathers small chunks in a buffer: a model of many nodes would otherwise cost a system call per chunk.
int write_chunks(int descriptor, std::span<const std::string_view> chunks, const FileBytes* source) {
  constexpr std::size_t kBuffer = std::size_t{1} << 18;
  std::string buffer;
  buffer.reserve(kBuffer);
  for (std::string_view chunk : chunks) {
    if (buffer.size() + chunk.size() > kBuffer) {
      if (const int error = write_all(descriptor, buffer); error != 0) return error;
      buffer.clear();
    }
    while (chunk.size() > kBuffer) {
      const std::string_view block = chunk.substr(0, kBlock);
      if (const int error = write_all(descriptor, block); error != 0) return error;
      if (source != nullptr) source->release(block);
      chunk.remove_prefix(block.size());
    }
    if (buffer.size() + chunk.size() > kBuffer) {
      if (const int error = write_all(descriptor, buffer); error != 0) return error;
      buffer.clear();
    }
    buffer.append(chunk);
  }
  return write_all(descriptor, buffer);
}

int copy_bytes(int descriptor, const std::string& path, const FileBytes& file) {
  std::string_view left = file.bytes();
  const Descriptor in(file.mapping_ == nullptr ? -1 : ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (in && ::fstat(in.number(), &status) == 0 && status.st_dev == file.device_ && status.st_ino == file.inode_) {
    while (!left.empty()) {
      const ssize_t count = ::copy_file_range(in.number(), nullptr, descriptor, nullptr, left.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;  // not supported between these file systems, or the file was truncated
      left.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  return write_chunks(descriptor, std::span<const std::string_view>(&left, 1), &file);
}

bool same_bytes(const FileBytes& one, const FileBytes& other) {
  if (one.bytes().size() != other.bytes().size()) return false;
  for (std::size_t at = 0; at < one.bytes().size(); at += kBlock) {
    const std::string_view block = one.bytes().substr(at, kBlock);
    const bool same = block == other.bytes().substr(at, kBlock);
    one.release(block);
    other.release(other.bytes().substr(at, kBlock));
    if (!same) return false;
  }
  return true;
}

}  // namespace xflow::onnx_io
