// Files of a job that may be killed at any moment: each is whole or not there.
#pragma once

#include <xflow/error.h>

#include <optional>
#include <string>
#include <string_view>

namespace xflow::generator {

class Checkpoint {
 public:
  // The folder `path` for the job that `identity` describes; makes it where there is none. Error::io: it cannot be made or written, with
  // the reason of the operating system. Error::invalid_argument: it holds another job.
  static Result<Checkpoint> open(const std::string& path, const std::string& identity);
  // What describes the job of a folder; nothing where there is none. Error::io.
  static Result<std::optional<std::string>> identity_of(const std::string& path);

  // Nothing where there is no such file. Error::io.
  Result<std::optional<std::string>> read(const std::string& name) const;
  // Part of a file: `size` bytes from `offset`.
  Result<std::string> read(const std::string& name, std::uint64_t offset, std::uint64_t size) const;
  bool has(const std::string& name) const;
  // Written beside and moved into place when it is on the disk. Error::io: no space, for one; nothing is left behind then.
  Result<void> write(const std::string& name, std::string_view bytes) const;
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit Checkpoint(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace xflow::generator
