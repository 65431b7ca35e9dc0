// Files: read-only bytes of one, and one written so that a crash or a full disk leaves what was there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "xflow/error.h"

namespace xflow::onnx_io {

// The bytes of a file, mapped read-only, or bytes in memory. Nothing is read before it is looked at. A file that another process cuts
// shorter while it is mapped ends the program (SIGBUS), as with any mapping; replacing it by renaming is safe.
class FileBytes {
 public:
  // Maps a regular file; reads anything else (a pipe) into memory. "-" is standard input. Errors: unreadable, with the reason of the
  // operating system.
  static Result<std::shared_ptr<const FileBytes>> open(const std::string& path);
  // Maps the regular file of an open descriptor, which may be closed afterwards; `path` is for messages. Errors: unreadable.
  static Result<std::shared_ptr<const FileBytes>> map(int descriptor, const std::string& path);
  static std::shared_ptr<const FileBytes> own(std::string bytes);

  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::string_view bytes() const { return bytes_; }

  // Gives the memory of a part of a mapped file back; its bytes are read again when they are looked at. Does nothing for other bytes.
  void release(std::string_view part) const;

 private:
  FileBytes() = default;

  std::string owned_;
  std::string_view bytes_;
  void* mapping_ = nullptr;
  std::uint64_t device_ = 0;  // of a mapped file
  std::uint64_t inode_ = 0;

  friend int copy_bytes(int descriptor, const std::string& path, const FileBytes& file);
};

// Writes the chunks one after the other to a temporary file in the folder of `path`, flushes it to the disk and renames it to `path`, so
// that `path` is at every moment either what it was or complete. A symbolic link is followed; the permissions of an existing file are kept.
// Standard output, a pipe or a device is written in place. Errors: io, with the reason of the operating system; see output_place.
// `source`: where chunks are parts of a mapped file, its bytes do not stay in memory.
Result<void> write_file(const std::string& path, std::span<const std::string_view> chunks, const FileBytes* source = nullptr);

// Writes to a descriptor; the error number, 0 if it succeeded.
int write_all(int descriptor, std::string_view bytes);
int write_chunks(int descriptor, std::span<const std::string_view> chunks, const FileBytes* source = nullptr);

// Writes the bytes of `file` to a descriptor; the error number, 0 if it succeeded. If `path` still leads to that file the kernel copies
// them, which takes no space where the file system shares blocks; otherwise they are read from memory.
int copy_bytes(int descriptor, const std::string& path, const FileBytes& file);

// Whether both files have the same bytes, which do not stay in memory.
bool same_bytes(const FileBytes& one, const FileBytes& other);

// What the operating system says of an error number.
std::string system_reason(int error);

// The folder of a path: "." where it names none.
std::string folder_of(const std::string& path);

}  // namespace xflow::onnx_io
