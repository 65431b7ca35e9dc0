#include "src/eval/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

namespace xflow::eval {

namespace {

Unexpected cut(std::string_view what) { return fail(ErrorCode::unreadable, fmt::format("the {} is cut or damaged", what)); }

template <typename T>
T load(std::string_view bytes, std::size_t offset) {  // the caller checks the range
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The text between the quotes or brackets after 'key' in a NumPy header, which is a Python dictionary of
// literals.
std::optional<std::string_view> header_value(std::string_view header, std::string_view key, char begin, char end) {
  const std::size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t from = header.find(begin, header.find(':', at));
  if (from == std::string_view::npos) return std::nullopt;
  const std::size_t to = header.find(end, from + 1);
  if (to == std::string_view::npos) return std::nullopt;
  return header.substr(from + 1, to - from - 1);
}

std::optional<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  std::vector<std::int64_t> dims;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    std::int64_t dim = 0;
    const auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), dim);
    if (code != std::errc() || dim < 0 || dim > (std::int64_t{1} << 40)) return std::nullopt;
    dims.push_back(dim);
    at = static_cast<std::size_t>(end - text.data());
    if (at < text.size() && text[at] == 'L') ++at;
  }
  return dims;
}

ir::DataType data_type_of(std::string_view descr) {
  static const std::map<std::string_view, ir::DataType> types = {
      {"f4", ir::DataType::float32}, {"f8", ir::DataType::float64}, {"f2", ir::DataType::float16}, {"i1", ir::DataType::int8},
      {"i2", ir::DataType::int16},   {"i4", ir::DataType::int32},   {"i8", ir::DataType::int64},   {"u1", ir::DataType::uint8},
      {"u2", ir::DataType::uint16},  {"u4", ir::DataType::uint32},  {"u8", ir::DataType::uint64},  {"b1", ir::DataType::boolean}};
  if (descr.size() != 3 || (descr[0] != '<' && descr[0] != '|' && descr[0] != '=')) return ir::DataType::undefined;
  const auto at = types.find(descr.substr(1));
  return at != types.end() ? at->second : ir::DataType::undefined;
}

// Reorders column-major elements to row-major order.
std::vector<std::byte> to_row_major(std::string_view bytes, const std::vector<std::int64_t>& dims, std::size_t size) {
  std::vector<std::byte> result(bytes.size());
  std::vector<std::int64_t> index(dims.size());
  for (std::size_t element = 0; element * size < bytes.size(); ++element) {
    std::size_t offset = 0;
    for (std::size_t k = dims.size(); k-- > 0;) offset = offset * static_cast<std::size_t>(dims[k]) + static_cast<std::size_t>(index[k]);
    std::memcpy(result.data() + element * size, bytes.data() + offset * size, size);
    for (std::size_t k = dims.size(); k-- > 0;) {
      if (++index[k] < dims[k]) break;
      index[k] = 0;
    }
  }
  return result;
}

Result<std::string> inflate_raw(std::string_view compressed, std::uint64_t size) {
  // deflate compresses by a factor of 1032 at most, so a larger size is invalid.
  if (size > 1032 * static_cast<std::uint64_t>(compressed.size()) + 64 || size >= (std::uint64_t{1} << 32)) return cut("archive");
  std::string result(static_cast<std::size_t>(size), '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return fail(ErrorCode::internal, "zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int code = inflate(&stream, Z_FINISH);
  const bool complete = code == Z_STREAM_END && stream.total_out == size;
  inflateEnd(&stream);
  if (!complete) return cut("archive");
  return result;
}

struct Entry {
  std::string name;
  std::uint64_t offset = 0;  // offset of the local header
  std::uint64_t compressed = 0;
  std::uint64_t size = 0;
  std::uint16_t method = 0;
};

// Reads the sizes and offset that do not fit 32 bits from the extra field with id 1.
void read_zip64(std::string_view extra, Entry& entry) {
  while (extra.size() >= 4) {
    const auto id = load<std::uint16_t>(extra, 0);
    const auto length = load<std::uint16_t>(extra, 2);
    if (extra.size() < 4U + length) return;
    std::string_view field = extra.substr(4, length);
    if (id == 1) {
      for (std::uint64_t* value : {&entry.size, &entry.compressed, &entry.offset}) {
        if (*value != 0xFFFFFFFF || field.size() < 8) continue;
        *value = load<std::uint64_t>(field, 0);
        field.remove_prefix(8);
      }
    }
    extra.remove_prefix(4U + length);
  }
}

Result<std::vector<Entry>> read_directory(std::string_view bytes) {
  constexpr std::size_t kEnd = 22;
  if (bytes.size() < kEnd) return cut("archive");
  std::size_t end = bytes.size() - kEnd;
  const std::size_t last = end > 0xFFFF ? end - 0xFFFF : 0;
  while (load<std::uint32_t>(bytes, end) != 0x06054B50) {
    if (end == last) return cut("archive");
    --end;
  }
  std::uint64_t count = load<std::uint16_t>(bytes, end + 10);
  std::uint64_t at = load<std::uint32_t>(bytes, end + 16);
  if (end >= 20 && load<std::uint32_t>(bytes, end - 20) == 0x07064B50) {
    const auto record = load<std::uint64_t>(bytes, end - 12);
    if (record > bytes.size() || bytes.size() - record < 56) return cut("archive");
    count = load<std::uint64_t>(bytes, record + 32);
    at = load<std::uint64_t>(bytes, record + 48);
  }
  std::vector<Entry> entries;
  std::uint64_t content = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    if (at > bytes.size() || bytes.size() - at < 46 || load<std::uint32_t>(bytes, at) != 0x02014B50) return cut("archive");
    Entry entry;
    entry.method = load<std::uint16_t>(bytes, at + 10);
    entry.compressed = load<std::uint32_t>(bytes, at + 20);
    entry.size = load<std::uint32_t>(bytes, at + 24);
    entry.offset = load<std::uint32_t>(bytes, at + 42);
    const std::uint64_t name = load<std::uint16_t>(bytes, at + 28);
    const std::uint64_t extra = load<std::uint16_t>(bytes, at + 30);
    const std::uint64_t comment = load<std::uint16_t>(bytes, at + 32);
    if (bytes.size() - at < 46 + name + extra + comment) return cut("archive");
    entry.name = bytes.substr(at + 46, name);
    read_zip64(bytes.substr(at + 46 + name, extra), entry);
    at += 46 + name + extra + comment;
    // Entries that overlap would inflate the same bytes several times.
    if (entry.compressed > bytes.size() - content) return cut("archive");
    content += entry.compressed;
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (std::any_of(entry.name.begin(), entry.name.end(), is_control))
      return fail(ErrorCode::unreadable, "the archive has a name with a control character");
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<Tensor> read_entry(std::string_view bytes, const Entry& entry) {
  if (entry.offset > bytes.size() || bytes.size() - entry.offset < 30) return cut("archive");
  const std::uint64_t skip = 30ULL + load<std::uint16_t>(bytes, entry.offset + 26) + load<std::uint16_t>(bytes, entry.offset + 28);
  const std::uint64_t begin = entry.offset + skip;
  if (begin > bytes.size() || bytes.size() - begin < entry.compressed) return cut("archive");
  const std::string_view content = bytes.substr(begin, entry.compressed);
  if (entry.method == 0) return parse_npy(content);
  if (entry.method != 8) return fail(ErrorCode::unsupported, fmt::format("cannot read compression method {} of an archive", entry.method));
  XFLOW_TRY(const std::string inflated, inflate_raw(content, entry.size));
  return parse_npy(inflated);
}

}  // namespace

Result<Tensor> parse_npy(std::string_view bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (bytes.size() < 12 || bytes.substr(0, 6) != kMagic)
    return fail(ErrorCode::unreadable, "not a NumPy array: expected \\x93NUMPY at the start");
  const bool wide = bytes[6] != 1;
  const std::size_t begin = wide ? 12 : 10;
  const std::size_t length = wide ? load<std::uint32_t>(bytes, 8) : load<std::uint16_t>(bytes, 8);
  if (bytes.size() - begin < length) return cut("NumPy array");
  const std::string_view header = bytes.substr(begin, length);
  const auto descr = header_value(header, "descr", '\'', '\'');
  const auto shape = header_value(header, "shape", '(', ')');
  const auto dims = shape ? parse_shape(*shape) : std::nullopt;
  if (!dims) return cut("NumPy array");
  const ir::DataType type = descr ? data_type_of(*descr) : ir::DataType::undefined;
  if (type == ir::DataType::undefined) {
    std::string found(descr.value_or("a structure"));
    for (char& c : found)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return fail(ErrorCode::unsupported, fmt::format("cannot read a NumPy array of type '{}'", found));
  }
  // Dimensions next to a 0 are counted too, because strides are products of them.
  std::uint64_t count = 1;
  for (const std::int64_t dim : *dims)
    if (dim != 0 && __builtin_mul_overflow(count, static_cast<std::uint64_t>(dim), &count)) return cut("NumPy array");
  if (count > std::uint64_t{1} << 48U) return cut("NumPy array");
  if (std::find(dims->begin(), dims->end(), 0) != dims->end()) count = 0;
  const auto size = static_cast<std::uint64_t>(ir::bits(type) / 8);
  const std::string_view content = bytes.substr(begin + length);
  if (content.size() < count * size) return cut("NumPy array");
  const std::string_view elements = content.substr(0, count * size);
  const bool column_major = header.find("'fortran_order': True") != std::string_view::npos && dims->size() > 1;
  const auto* data = reinterpret_cast<const std::byte*>(elements.data());
  std::vector<std::byte> owned = column_major ? to_row_major(elements, *dims, size) : std::vector<std::byte>(data, data + elements.size());
  return Tensor::of(ir::Constant{type, *dims, ir::owned_bytes(std::move(owned))});
}

Result<std::map<std::string, Tensor>> parse_npz(std::string_view bytes) {
  XFLOW_TRY(const std::vector<Entry> entries, read_directory(bytes));
  std::map<std::string, Tensor> result;
  for (const Entry& entry : entries) {
    auto tensor = read_entry(bytes, entry);
    if (!tensor) {
      Error error = std::move(tensor).error();
      error.where = entry.name;
      return fail(std::move(error));
    }
    std::string name = entry.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    result.emplace(std::move(name), *std::move(tensor));
  }
  return result;
}

Result<std::map<std::string, Tensor>> read_npz(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::io, fmt::format("cannot open: {}", std::strerror(errno)), path);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto result = parse_npz(bytes);
  if (!result && result.error().where.empty()) return fail(result.error().code, result.error().message, path);
  return result;
}

}  // namespace xflow::eval
