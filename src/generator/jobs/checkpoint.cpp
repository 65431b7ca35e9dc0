#include "src/generator/jobs/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace xflow::generator {
namespace {

// Owns a file descriptor.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  bool close() {
    const int result = ::close(descriptor_);
    descriptor_ = -1;
    return result == 0;
  }

 private:
  int descriptor_;
};

Unexpected io_error(const char* what, const std::string& path) {
  return fail(ErrorCode::io, fmt::format("{}: {}", what, std::strerror(errno)), path);
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::string& path, const std::string& identity) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(ErrorCode::io, fmt::format("cannot make the folder: {}", error.message()), path);
  Checkpoint checkpoint(path);
  XFLOW_TRY(const std::optional<std::string> known, checkpoint.read("job"));
  if (known && *known != identity) {
    return fail(ErrorCode::invalid_argument, "the folder holds a job with other options; choose another folder or remove this one", path);
  }
  if (!known) XFLOW_CHECK(checkpoint.write("job", identity));
  return checkpoint;
}

Result<std::optional<std::string>> Checkpoint::identity_of(const std::string& path) { return Checkpoint(path).read("job"); }

bool Checkpoint::has(const std::string& name) const {
  std::error_code error;
  return std::filesystem::exists(path(name), error);
}

Result<std::optional<std::string>> Checkpoint::read(const std::string& name) const {
  if (!has(name)) return std::optional<std::string>();
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path(name), error);
  if (error) return fail(ErrorCode::io, fmt::format("cannot read: {}", error.message()), path(name));
  XFLOW_TRY(std::string bytes, read(name, 0, size));
  return std::optional(std::move(bytes));
}

Result<std::string> Checkpoint::read(const std::string& name, std::uint64_t offset, std::uint64_t size) const {
  const std::string file_path = path(name);
  const File file(::open(file_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return io_error("cannot open", file_path);
  std::string bytes(size, '\0');
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t got = ::pread(file.get(), bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("cannot read", file_path);
    if (got == 0) return fail(ErrorCode::io, "the file is shorter than it was", file_path);
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

Result<void> Checkpoint::write(const std::string& name, std::string_view bytes) const {
  const std::string file_path = path(name);
  const std::string beside = fmt::format("{}.{}.part", file_path, ::getpid());
  const auto failed = [&](const char* what) {
    const Unexpected e = io_error(what, file_path);
    ::unlink(beside.c_str());
    return e;
  };
  {
    File file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) return failed("cannot write");
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return failed("cannot write");
      done += static_cast<std::size_t>(put);
    }
    if (::fsync(file.get()) != 0 || !file.close()) return failed("cannot write");
  }
  if (::rename(beside.c_str(), file_path.c_str()) != 0) return failed("cannot write");
  return {};
}

}  // namespace xflow::generator
