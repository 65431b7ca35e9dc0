// Tensors of a document: where the elements are, without reading them.
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

// A file whose bytes a document shows: 0 is the model itself, the others hold external data.
enum class FileId : std::uint32_t {};

// Bytes of a file.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// How the elements of a TensorProto are kept.
enum class TensorStorage : std::uint8_t {
  none,      // no field holds elements: right for a tensor without elements only
  raw,       // raw_data: row-major, little-endian, packed
  typed,     // float_data, int32_data, string_data, int64_data, double_data, uint64_data: repeated fields, packed or not
  external,  // another file
};

// A TensorProto. Views point into the files of the document and live as long as it does.
struct TensorView {
  std::string_view name;
  ir::DataType data_type = ir::DataType::undefined;  // undefined also for a number that this version of xflow does not know
  std::int32_t data_type_number = 0;                 // as in the file
  std::vector<std::int64_t> dims;
  TensorStorage storage = TensorStorage::none;
  FileId file{};             // raw and external: the file with the elements; typed: the model
  Range range;               // raw and external: the elements in `file`; typed: the whole TensorProto in the model
  std::string_view bytes;    // raw and external: the bytes of `range`, mapped and not yet read
  std::string_view payload;  // the TensorProto itself
  // Set for external data; as in the file. `location` is relative to the model's folder.
  std::string_view location;
  std::string_view checksum;

  // Product of dims. Errors: unreadable for a negative dimension or a product over 2^59.
  Result<std::uint64_t> elements() const;
  // "float32[64,3,3,3]"
  std::string type_text() const;
};

// Reads all fields of a TensorProto but its elements. For external data, `range` is as the entries say (length 0 where there is none,
// in which case it ends with the file), `bytes` is empty and `file` 0: the document fills them in. Errors: unreadable.
Result<TensorView> parse_tensor(std::string_view payload);

// The elements in the layout of raw_data: row-major, little-endian, 4-bit and 2-bit types packed. No copy for raw and external storage
// nor for packed float_data and double_data; a decoded copy that `owned` keeps otherwise. Errors: unreadable if there are fewer or more
// elements than the dimensions say, or the typed field does not fit the data type; unsupported for strings and unknown data types.
Result<std::string_view> raw_bytes(const TensorView& tensor, std::string& owned);

// The elements of a string tensor. Errors: ill_typed for another data type; unreadable as above.
Result<std::vector<std::string_view>> strings(const TensorView& tensor);

// All elements as integers (integer types and boolean) or doubles (those and floating types). Errors as raw_bytes; unsupported for types
// without arithmetic.
Result<std::vector<std::int64_t>> integers(const TensorView& tensor);
Result<std::vector<double>> doubles(const TensorView& tensor);

// The tensor as a constant of the IR; elements are decoded at the first use. `files` keeps the bytes alive as long as the constant lives.
// Errors: unsupported for strings and data types that xflow does not know; unreadable for dimensions that are none.
Result<ir::Constant> constant(const TensorView& tensor, std::shared_ptr<const FileBytes> file);

}  // namespace xflow::onnx_io
