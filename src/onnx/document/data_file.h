// A file of external data that is about to be written.
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

// Bytes that go to the file, and the mapped file that they are part of, if any.
struct DataSource {
  std::string_view bytes;
  const FileBytes* file = nullptr;
};

// Tensors one after the other, each at a multiple of 4,096 bytes, as ONNX asks so that they can be mapped. Nothing is copied before
// `write`.
class DataFile {
 public:
  explicit DataFile(std::string location) : location_(std::move(location)) {}

  bool empty() const { return pieces_.empty(); }

  // Adds the elements of a TensorProto. The same bytes are added once. Gives back the TensorProto that refers to them.
  std::string add(std::string_view message, DataSource source);
  // The same for elements in a typed field, which are decoded when they are written and have `size` bytes then.
  std::string add_decoded(std::string_view message, std::uint64_t size);

  // Writes everything and gives back the XXH3 hash of it. Errors: io, where `path` is the place; unreadable for elements that cannot be
  // decoded.
  Result<std::uint64_t> write(int descriptor, const std::string& path) const;

 private:
  struct Piece {
    std::uint64_t offset = 0;
    DataSource source;
    std::string_view message;  // of a tensor that is decoded
    std::uint64_t size = 0;
  };

  std::string place(std::string_view message, Piece piece);

  std::string location_;
  std::vector<Piece> pieces_;
  std::map<std::pair<const char*, std::size_t>, std::uint64_t> offsets_;
  std::uint64_t size_ = 0;
};

}  // namespace xflow::onnx_io
