// Tensors of a document: locates the elements without reading them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/constant.h"
#include "src/ir/type.h"
#include "src/support/file.h"
#include "xflow/error.h"

namespace xflow::onnx_io {

// A file of a document: 0 is the model, the others hold external data.
enum class FileId : std::uint32_t {};

// A range of bytes in a file.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// How a TensorProto stores its elements.
enum class TensorStorage : std::uint8_t {
  none,  // no field holds elements; valid only for a tensor without elements
  raw,   // raw_data: row-major, little-endian, packed
  // One of float_data, int32_data, string_data, int64_data, double_data, uint64_data: repeated fields,
  // packed or not.
  typed,
  external,  // another file
};

// A TensorProto. Its views point into the files of the document and are valid as long as the document.
struct TensorView {
  std::string_view name;
  ir::DataType data_type = ir::DataType::undefined;  // undefined for a number that xflow does not know
  std::int32_t data_type_number = 0;                 // as in the file
  std::vector<std::int64_t> dims;
  TensorStorage storage = TensorStorage::none;
  FileId file{};             // raw and external: the file with the elements; typed: the model
  Range range;               // raw and external: the elements in `file`; typed: the whole TensorProto in the model
  std::string_view bytes;    // raw and external: the bytes of `range`, mapped and not yet read
  std::string_view payload;  // the TensorProto itself
  // Set for external data, as in the file. `location` is relative to the model's folder.
  std::string_view location;
  std::string_view checksum;

  // Returns the product of dims. Errors: unreadable for a negative dimension or a product over 2^59.
  Result<std::uint64_t> elements() const;
  // Returns "float32[64,3,3,3]".
  std::string type_text() const;
};

// Reads all fields of a TensorProto except its elements. For external data, `range` is what the entries say
// (length 0 if they have no length), `bytes` is empty and `file` is 0. The document fills in `bytes` and
// `file`, and derives a missing length from the type and the dimensions. Errors: unreadable.
Result<TensorView> parse_tensor(std::string_view payload);

// Returns the elements in the layout of raw_data: row-major, little-endian, 4-bit and 2-bit types packed.
// Raw and external storage and packed float_data and double_data are not copied; other storage is decoded
// into `owned`. Errors: unreadable if the number of elements differs from the dimensions or the typed field
// does not fit the data type; unsupported for strings and unknown data types.
Result<std::string_view> raw_bytes(const TensorView& tensor, std::string& owned);

// Returns the elements of a string tensor. Errors: ill_typed for another data type; unreadable as for
// raw_bytes.
Result<std::vector<std::string_view>> strings(const TensorView& tensor);

// Return all elements as integers (integer types and boolean) or as doubles (the same types and floating
// types). Errors: as raw_bytes; unsupported for types without arithmetic.
Result<std::vector<std::int64_t>> integers(const TensorView& tensor);
Result<std::vector<double>> doubles(const TensorView& tensor);

// Returns the tensor as a constant of the IR. Elements are decoded at the first use. The constant keeps
// `file` alive. Errors: unsupported for strings and unknown data types; unreadable for invalid dimensions.
Result<ir::Constant> constant(const TensorView& tensor, std::shared_ptr<const FileBytes> file);

}  // namespace xflow::onnx_io
