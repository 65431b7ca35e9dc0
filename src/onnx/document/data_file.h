// A new file of external data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/support/file.h"
#include "xflow/error.h"

namespace xflow::onnx_io {

// Bytes to write, and the mapped file that contains them, if any.
struct DataSource {
  std::string_view bytes;
  const FileBytes* file = nullptr;
};

// Stores tensors one after the other. Each starts at a multiple of 4,096 bytes, as ONNX recommends for
// mapping. Nothing is copied before `write`.
class DataFile {
 public:
  explicit DataFile(std::string location) : location_(std::move(location)) {}

  bool empty() const { return entries_.empty(); }

  // Adds the elements of a TensorProto and returns the TensorProto that refers to them. Equal ranges of
  // bytes are added once.
  std::string add(std::string_view message, DataSource source);
  // The same for elements in a typed field. They are decoded when they are written and take `size` bytes
  // then.
  std::string add_decoded(std::string_view message, std::uint64_t size);

  // Writes the file and returns the XXH3 hash of its contents. `path` is the place in error messages.
  // Errors: io; unreadable for elements that cannot be decoded.
  Result<std::uint64_t> write(int descriptor, const std::string& path) const;

 private:
  struct Entry {
    std::uint64_t offset = 0;
    DataSource source;
    std::string_view message;  // of a tensor that is decoded when it is written
    std::uint64_t size = 0;
  };

  std::string place(std::string_view message, Entry entry);

  std::string location_;
  std::vector<Entry> entries_;
  std::map<std::pair<const char*, std::size_t>, std::uint64_t> offsets_;
  std::uint64_t size_ = 0;
};

}  // namespace xflow::onnx_io
