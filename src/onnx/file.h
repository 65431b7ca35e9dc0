// Files: read-only bytes of one, and one written so that a crash or a full disk leaves what was there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "xflow/result.h"

namespace xflow::onnx_io {

// The bytes of a file, mapped read-only, or bytes in memory. Nothing is read before it is looked at. A file that another process cuts
// shorter while it is mapped ends the program (SIGBUS), as with any mapping; replacing it by renaming is safe.
class FileBytes {
 public:
  // Maps a regular file; reads anything else (a pipe) into memory. Errors: unreadable, with the reason of the operating system.
  static Result<std::shared_ptr<const FileBytes>> open(const std::string& path);
  // Maps the regular file of an open descriptor, which may be closed afterwards; `path` is for messages. Errors: unreadable.
  static Result<std::shared_ptr<const FileBytes>> map(int descriptor, const std::string& path);
  static std::shared_ptr<const FileBytes> own(std::string bytes);

  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  FileBytes() = default;

  std::string owned_;
  std::string_view bytes_;
  void* mapping_ = nullptr;
};

// Writes the chunks one after the other to a temporary file in the folder of `path`, flushes it to the disk and renames it to `path`, so
// that `path` is at every moment either what it was or complete. A symbolic link is followed; the permissions of an existing file are kept.
// Something that is not a regular file (a pipe, a device) is written in place. Errors: io, with the reason of the operating system.
Result<void> write_file(const std::string& path, std::span<const std::string_view> chunks);

// The folder of a path: "." where it names none.
std::string folder_of(const std::string& path);

}  // namespace xflow::onnx_io
