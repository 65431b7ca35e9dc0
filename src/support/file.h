// Reads files, and writes them so that a crash or a full disk leaves the previous file intact.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "xflow/error.h"

namespace xflow::onnx_io {

// Read-only bytes: a memory-mapped file or an owned string. Pages of a mapped file are read on first access.
// If another process truncates a mapped file, access ends the program with SIGBUS; replacing the file by a
// rename is safe.
class FileBytes {
 public:
  // Maps a regular file; reads anything else (such as a pipe) into memory. "-" is standard input. Errors:
  // unreadable, with the reason given by the operating system.
  static Result<std::shared_ptr<const FileBytes>> open(const std::string& path);
  // Maps the regular file of an open descriptor, which may be closed afterwards. `path` is for messages.
  // Errors: unreadable.
  static Result<std::shared_ptr<const FileBytes>> map(int descriptor, const std::string& path);
  static std::shared_ptr<const FileBytes> own(std::string bytes);

  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::string_view bytes() const { return bytes_; }

  // Drops the pages of a part of a mapped file from memory; they are read again on the next access. Does
  // nothing for other bytes.
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

// Writes the chunks in order to a temporary file in the folder of `path`, flushes it to the disk and renames
// it to `path`. At every moment `path` is either unchanged or complete. A symbolic link is followed; the
// permissions of an existing file are kept. Standard output, a pipe or a device is written in place.
// `source`: the mapped file that contains chunks; the pages of large chunks are released once written.
// Errors: io, with the reason given by the operating system; see output_place.
Result<void> write_file(const std::string& path, std::span<const std::string_view> chunks, const FileBytes* source = nullptr);

// Writes all bytes to a descriptor. Returns an errno, 0 on success.
int write_all(int descriptor, std::string_view bytes);
int write_chunks(int descriptor, std::span<const std::string_view> chunks, const FileBytes* source = nullptr);

// Writes the bytes of `file` to a descriptor. Returns an errno, 0 on success. If `path` still leads to that
// file, the kernel copies the bytes, which takes no space on file systems that share blocks; otherwise they
// are written from memory.
int copy_bytes(int descriptor, const std::string& path, const FileBytes& file);

// Whether both files have the same bytes. Releases the pages of both while it compares.
bool same_bytes(const FileBytes& one, const FileBytes& other);

// The operating system's message for an error number.
std::string system_reason(int error);

// The folder of a path; "." if the path names none.
std::string folder_of(const std::string& path);

}  // namespace xflow::onnx_io
