// Files of a job that may be killed at any moment: each file is complete or absent.
#pragma once

#include <xflow/error.h>

#include <optional>
#include <string>
#include <string_view>

namespace xflow::generator {

class Checkpoint {
 public:
  // Opens the folder `path` for the job that `identity` describes; creates it if it does not exist.
  // Error::io: the folder cannot be created or written, with the operating system's reason.
  // Error::invalid_argument: it belongs to another job.
  static Result<Checkpoint> open(const std::string& path, const std::string& identity);
  // The identity of the job of a folder; nothing if there is none. Error::io.
  static Result<std::optional<std::string>> identity_of(const std::string& path);

  // Reads a file; nothing if it does not exist. Error::io.
  Result<std::optional<std::string>> read(const std::string& name) const;
  // Reads `size` bytes of a file from `offset`.
  Result<std::string> read(const std::string& name, std::uint64_t offset, std::uint64_t size) const;
  bool has(const std::string& name) const;
  // Writes a temporary file and renames it once it is on the disk. Error::io, for example if the disk is
  // full; then nothing is left behind.
  Result<void> write(const std::string& name, std::string_view bytes) const;
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit Checkpoint(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace xflow::generator
