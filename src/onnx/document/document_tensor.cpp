#include "src/onnx/document/document_tensor.h"

#include <algorithm>
#include <charconv>
#include <mutex>

#include "src/ir/data_type_from_number.h"
#include "src/onnx/document/wire.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {

namespace {

using ir::DataType;

// Field numbers of TensorProto.
enum : std::uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};

// Returns the typed field that stores the elements of a data type (onnx.proto, TensorProto); 0 if none.
std::uint32_t typed_field(DataType type) {
  switch (type) {
    case DataType::undefined:
      return 0;
    case DataType::float32:
    case DataType::complex64:
      return kFloatData;
    case DataType::float64:
    case DataType::complex128:
      return kDoubleData;
    case DataType::int64:
      return kInt64Data;
    case DataType::uint32:
    case DataType::uint64:
      return kUint64Data;
    case DataType::string:
      return kStringData;
    default:
      return kInt32Data;
  }
}

bool is_element_field(const WireField& field) {
  switch (field.number) {
    case kFloatData:
      return field.type == WireType::length_delimited || field.type == WireType::fixed32;
    case kDoubleData:
      return field.type == WireType::length_delimited || field.type == WireType::fixed64;
    case kInt32Data:
    case kInt64Data:
    case kUint64Data:
      return field.type == WireType::length_delimited || field.type == WireType::varint;
    case kStringData:
      return field.type == WireType::length_delimited;
    default:
      return false;
  }
}

// Returns "tensor 'w'".
std::string place(const TensorView& tensor) {
  return tensor.name.empty() ? std::string("a tensor without a name") : "tensor " + in_quotes(tensor.name);
}

Result<std::uint64_t> entry_number(const TensorView& tensor, std::string_view key, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::unreadable,
                place(tensor) + " has the external data " + std::string(key) + " " + in_quotes(text) + ", expected a number of bytes");
  }
  return value;
}

// Reads a StringStringEntryProto of external_data.
Result<void> external_entry(TensorView& tensor, std::string_view payload) {
  std::string_view key;
  std::string_view value;
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1)) key = field.payload;
    if (field.is_bytes(2)) value = field.payload;
  }
  if (reader.fault() != WireFault::none) {
    return fail(ErrorCode::unreadable, place(tensor) + " has an external data entry with " + reader.fault_text());
  }
  if (key == "location") {
    tensor.location = value;
  } else if (key == "offset") {
    XFLOW_TRY(tensor.range.offset, entry_number(tensor, key, value));
  } else if (key == "length") {
    XFLOW_TRY(tensor.range.length, entry_number(tensor, key, value));
  } else if (key == "checksum") {
    tensor.checksum = value;
  }
  return {};
}

void append_little_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

// Returns the bytes of raw_data per number of the typed field. A number of int32_data holds one byte of
// packed 4-bit or 2-bit elements, or one element of any other type.
int bytes_per_number(DataType type) {
  switch (type) {
    case DataType::complex64:
      return 4;
    case DataType::complex128:
      return 8;
    default:
      return std::max(ir::bits(type) / 8, 1);
  }
}

// Decodes a typed field. Sets `single` to the payload if a single packed float_data or double_data has the
// raw layout already.
Result<void> decode(const TensorView& tensor, std::uint32_t number, std::string& out, std::string_view& single) {
  const int width = bytes_per_number(tensor.data_type);
  int pieces = 0;
  std::vector<std::int64_t> integers;
  std::vector<std::uint32_t> words;
  std::vector<std::uint64_t> long_words;
  WireReader reader(tensor.payload);
  for (WireField field; reader.next(field);) {
    if (field.number != number || !is_element_field(field)) continue;
    integers.clear();
    words.clear();
    long_words.clear();
    ++pieces;
    single = field.payload;
    bool fits = false;
    if (number == kFloatData) {
      fits = append_fixed32(field, words);
      for (const std::uint32_t word : words) append_little_endian(out, word, 4);
    } else if (number == kDoubleData) {
      fits = append_fixed64(field, long_words);
      for (const std::uint64_t word : long_words) append_little_endian(out, word, 8);
    } else {
      fits = append_varints(field, integers);
      for (const std::int64_t value : integers) append_little_endian(out, static_cast<std::uint64_t>(value), width);
    }
    if (!fits) return fail(ErrorCode::unreadable, place(tensor) + " has truncated elements");
  }
  if (pieces != 1 || (number != kFloatData && number != kDoubleData)) single = {};
  return {};
}

// The bytes of a tensor of the model, decoded at the first call.
class TensorBytes final : public ir::ByteSource {
 public:
  TensorBytes(TensorView tensor, std::uint64_t size, std::shared_ptr<const FileBytes> file)
      : tensor_(std::move(tensor)), size_(size), file_(std::move(file)) {}

  std::uint64_t size() const override { return size_; }

  Result<std::span<const std::byte>> bytes() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!decoded_) {
      XFLOW_TRY(bytes_, raw_bytes(tensor_, owned_));
      decoded_ = true;
    }
    return std::span<const std::byte>(reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size());
  }

  // Two maps of one file have different identities. This costs a comparison of bytes and nothing else.
  std::string identity() const override {
    if (tensor_.storage != TensorStorage::raw && tensor_.storage != TensorStorage::external) return {};
    return std::to_string(reinterpret_cast<std::uintptr_t>(tensor_.bytes.data())) + ":" + std::to_string(tensor_.bytes.size());
  }

 private:
  TensorView tensor_;
  std::uint64_t size_;
  std::shared_ptr<const FileBytes> file_;
  mutable std::mutex mutex_;
  mutable bool decoded_ = false;
  mutable std::string owned_;
  mutable std::string_view bytes_;
};

}  // namespace

Result<std::uint64_t> TensorView::elements() const {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 59;  // 2^63 bytes of the widest type
  std::uint64_t count = 1;
  bool overflow = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return fail(ErrorCode::unreadable, place(*this) + " has the dimension " + std::to_string(dim));
    if (dim == 0) return std::uint64_t{0};
    overflow = overflow || count > kLargest / static_cast<std::uint64_t>(dim);
    if (!overflow) count *= static_cast<std::uint64_t>(dim);
  }
  if (overflow) return fail(ErrorCode::unreadable, place(*this) + " has more than 2^59 elements");
  return count;
}

std::string TensorView::type_text() const {
  std::string text = data_type == DataType::undefined ? "data type " + std::to_string(data_type_number) : std::string(ir::name(data_type));
  text += '[';
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + ']';
}

Result<TensorView> parse_tensor(std::string_view payload) {
  TensorView tensor;
  tensor.payload = payload;
  bool external = false;
  bool raw = false;
  bool typed = false;
  std::vector<std::string_view> entries;
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (field.number == kDims) {
      if (!append_varints(field, tensor.dims)) return fail(ErrorCode::unreadable, place(tensor) + " has truncated dimensions");
    } else if (field.is_varint(kDataType)) {
      tensor.data_type_number = static_cast<std::int32_t>(field.value);
    } else if (field.is_bytes(kName)) {
      tensor.name = field.payload;
    } else if (field.is_bytes(kRawData)) {
      raw = true;
      tensor.bytes = field.payload;
    } else if (field.is_bytes(kExternalData)) {
      entries.push_back(field.payload);
    } else if (field.is_varint(kDataLocation)) {
      external = field.value == 1;
    } else if (is_element_field(field)) {
      typed = true;
    }
  }
  if (reader.fault() != WireFault::none) return fail(ErrorCode::unreadable, place(tensor) + " has " + reader.fault_text());
  tensor.data_type = ir::data_type_from_number(tensor.data_type_number);
  if (external) {
    tensor.storage = TensorStorage::external;
    tensor.bytes = {};
    for (const std::string_view entry : entries) XFLOW_CHECK(external_entry(tensor, entry));
  } else if (raw) {
    tensor.storage = TensorStorage::raw;
  } else if (typed) {
    tensor.storage = TensorStorage::typed;
  }
  return tensor;
}

Result<std::string_view> raw_bytes(const TensorView& tensor, std::string& owned) {
  const DataType type = tensor.data_type;
  if (type == DataType::string || type == DataType::undefined) {
    return fail(ErrorCode::unsupported, place(tensor) + " of type " + tensor.type_text() + " has no elements of a fixed size");
  }
  XFLOW_TRY(const std::uint64_t count, tensor.elements());
  const std::uint64_t size = ir::storage_bytes(type, count);
  std::string_view bytes = tensor.bytes;
  if (tensor.storage == TensorStorage::typed) {
    owned.clear();
    std::string_view single;
    XFLOW_CHECK(decode(tensor, typed_field(type), owned, single));
    bytes = owned;
    if (single.data() != nullptr) {
      bytes = single;
      owned = {};
    }
  }
  if (bytes.size() != size) {
    return fail(ErrorCode::unreadable, place(tensor) + " of type " + tensor.type_text() + " needs " + std::to_string(size) +
                                           " bytes and has " + std::to_string(bytes.size()));
  }
  return bytes;
}

Result<std::vector<std::string_view>> strings(const TensorView& tensor) {
  if (tensor.data_type != DataType::string) {
    return fail(ErrorCode::ill_typed, place(tensor) + " is " + tensor.type_text() + ", expected strings");
  }
  XFLOW_TRY(const std::uint64_t count, tensor.elements());
  std::vector<std::string_view> list;
  WireReader reader(tensor.payload);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(kStringData)) list.push_back(field.payload);
  }
  if (list.size() != count) {
    return fail(ErrorCode::unreadable, place(tensor) + " of type " + tensor.type_text() + " needs " + std::to_string(count) +
                                           " strings and has " + std::to_string(list.size()));
  }
  return list;
}

Result<ir::Constant> constant(const TensorView& tensor, std::shared_ptr<const FileBytes> file) {
  if (tensor.data_type == DataType::string || tensor.data_type == DataType::undefined) {
    return fail(ErrorCode::unsupported, place(tensor) + " of type " + tensor.type_text() + " cannot be a constant");
  }
  XFLOW_TRY(const std::uint64_t count, tensor.elements());
  ir::Constant result;
  result.data_type = tensor.data_type;
  result.dims = tensor.dims;
  result.source = std::make_shared<TensorBytes>(tensor, ir::storage_bytes(tensor.data_type, count), std::move(file));
  return result;
}

Result<std::vector<std::int64_t>> integers(const TensorView& tensor) {
  XFLOW_TRY(const ir::Constant value, constant(tensor, nullptr));
  return ir::integers(value);
}

Result<std::vector<double>> doubles(const TensorView& tensor) {
  XFLOW_TRY(const ir::Constant value, constant(tensor, nullptr));
  return ir::doubles(value);
}

}  // namespace xflow::onnx_io
