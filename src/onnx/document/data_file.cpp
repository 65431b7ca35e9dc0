#include "src/onnx/document/data_file.h"

#include <algorithm>
#include <array>
#include <system_error>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "src/onnx/document/document_tensor.h"
#include "src/onnx/document/wire.h"

namespace xflow::onnx_io {

namespace {

constexpr std::uint64_t kAlignment = 4096;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 23;  // bytes held in memory at a time

// Fields of TensorProto that store or locate elements: the typed fields, raw_data, external_data,
// data_location.
bool holds_elements(std::uint32_t field) { return (field >= 4 && field <= 7) || (field >= 9 && field <= 11) || field == 13 || field == 14; }

}  // namespace

std::string DataFile::place(std::string_view message, Entry entry) {
  std::uint64_t offset = 0;
  const std::pair key(entry.source.bytes.data(), entry.source.bytes.size());
  const auto known = entry.message.empty() ? offsets_.find(key) : offsets_.end();
  if (known != offsets_.end()) {
    offset = known->second;
  } else {
    offset = (size_ + kAlignment - 1) / kAlignment * kAlignment;
    size_ = offset + entry.size;
    entry.offset = offset;
    if (entry.message.empty()) offsets_.emplace(key, offset);
    entries_.push_back(entry);
  }
  WireWriter writer;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (!holds_elements(field.number)) writer.raw(field.whole);
  }
  const auto external = [&](std::string_view key, const std::string& value) {
    writer.bytes(13, WireWriter().bytes(1, key).bytes(2, value).view());
  };
  external("location", location_);
  external("offset", std::to_string(offset));
  external("length", std::to_string(entry.size));
  return writer.varint(14, 1).take();
}

std::string DataFile::add(std::string_view message, DataSource source) {
  Entry entry;
  entry.source = source;
  entry.size = source.bytes.size();
  return place(message, entry);
}

std::string DataFile::add_decoded(std::string_view message, std::uint64_t size) {
  Entry entry;
  entry.message = message;
  entry.size = size;
  return place(message, entry);
}

Result<std::uint64_t> DataFile::write(int descriptor, const std::string& path) const {
  static const std::array<char, kAlignment> zeros{};
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  std::uint64_t written = 0;
  const auto put = [&](std::string_view bytes) -> Result<void> {
    XXH3_64bits_update(&state, bytes.data(), bytes.size());
    written += bytes.size();
    const int error = write_all(descriptor, bytes);
    if (error != 0) return fail(ErrorCode::io, "cannot write: " + system_reason(error), path);
    return {};
  };
  for (const Entry& entry : entries_) {
    if (entry.offset > written) XFLOW_CHECK(put(std::string_view(zeros.data(), entry.offset - written)));
    std::string decoded;
    std::string_view bytes = entry.source.bytes;
    if (!entry.message.empty()) {
      XFLOW_TRY(const TensorView tensor, parse_tensor(entry.message));
      XFLOW_TRY(bytes, raw_bytes(tensor, decoded));
      if (bytes.size() != entry.size) return fail(ErrorCode::internal, "a decoded tensor has another size than expected", path);
    }
    while (!bytes.empty()) {
      const std::string_view block = bytes.substr(0, kMostAtOnce);
      XFLOW_CHECK(put(block));
      if (entry.source.file != nullptr) entry.source.file->release(block);
      bytes.remove_prefix(block.size());
    }
  }
  return static_cast<std::uint64_t>(XXH3_64bits_digest(&state));
}

}  // namespace xflow::onnx_io
