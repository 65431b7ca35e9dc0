#include "src/onnx/document/data_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "src/onnx/document/wire.h"
#include "src/support/descriptor.h"
#include "src/support/file.h"

namespace xflow::onnx_io {

namespace {

constexpr std::string_view kEnding = ".data";
constexpr std::size_t kDigits = 16;

// Returns true if the bytes are the fields of a ModelProto without a fault and include a graph. Reads only
// tags and lengths.
bool reads_as_model(std::string_view bytes) {
  bool has_graph = false;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) has_graph = has_graph || field.is_bytes(7);
  return has_graph && reader.fault() == WireFault::none;
}

}  // namespace

std::string data_name(std::string_view model, std::uint64_t hash) {
  std::array<char, kDigits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%016" PRIx64, hash);
  return std::string(model) + "." + digits.data() + std::string(kEnding);
}

bool is_data_name(std::string_view name, std::string_view model) {
  if (name.size() != model.size() + 1 + kDigits + kEnding.size() || !name.starts_with(model) || !name.ends_with(kEnding)) return false;
  name.remove_prefix(model.size());
  return name[0] == '.' && name.substr(1, kDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::string> named_in(const std::string& path, std::span<const std::string> names) {
  std::vector<std::string> found;
  if (names.empty()) return found;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return found;
  const auto mapped = FileBytes::map(file.number(), path);
  if (!mapped || !reads_as_model((*mapped)->bytes())) return found;
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  // The file is read, not mapped, so that a model of gigabytes does not fill the memory.
  std::string window;
  std::string block(std::size_t{1} << 22, '\0');
  std::vector<bool> seen(names.size());
  for (ssize_t count = 0; (count = ::read(file.number(), block.data(), block.size())) > 0;) {
    window.append(block, 0, static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < names.size(); ++i) seen[i] = seen[i] || window.find(names[i]) != std::string::npos;
    if (window.size() > longest) window.erase(0, window.size() - longest);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (seen[i]) found.push_back(names[i]);
  }
  return found;
}

}  // namespace xflow::onnx_io
