#include "src/report/drawing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "src/support/printable.h"

namespace xflow::report {
namespace {

constexpr std::size_t kLongestName = 28;

// A name of a model with at most kLongestName characters, of which the last are most telling.
std::string short_name(const std::string& name) {
  const std::string text = onnx_io::printable(name);
  if (text.size() <= kLongestName) return text;
  std::size_t begin = text.size() - kLongestName;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) ++begin;  // inside a character of UTF-8
  return "…" + text.substr(begin);
}

// A text as a string of DOT.
std::string in_dot(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '\n') quoted += '\\';
    quoted += c == '\n' ? 'n' : c;
  }
  return quoted + '"';
}

// A file in the folder of temporary files that is removed with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::error_code none;
    path_ = (std::filesystem::temp_directory_path(none) / "xflow-XXXXXX").string();
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) return;
    is_written_ = write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(descriptor);
  }
  ~TemporaryFile() {
    std::error_code none;
    std::filesystem::remove(path_, none);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  bool is_written() const { return is_written_; }

 private:
  std::string path_;
  bool is_written_ = false;
};

// What a shell command writes to its standard output; empty if it fails.
std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string output;
  std::array<char, 1U << 16U> buffer{};
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) output.append(buffer.data(), size);
  return pclose(pipe) == 0 ? output : std::string();
}

}  // namespace

std::string dot_of(std::span<const PartNode> nodes) {
  std::string text =
      "digraph {\nbgcolor=transparent; rankdir=TB; nodesep=0.2; ranksep=0.25;\n"
      "node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=10, height=0.3, margin=\"0.1,0.04\"];\n"
      "edge [fontname=\"Helvetica\", fontsize=8, arrowsize=0.5];\n";
  std::map<std::string_view, std::size_t> makers;
  std::set<std::string_view> read;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const std::string name = short_name(nodes[k].name);
    text += fmt::format("n{} [label={}];\n", k, in_dot(short_name(nodes[k].op) + (name.empty() ? "" : "\n" + name)));
    for (const std::string& output : nodes[k].outputs) makers.emplace(output, k);
    for (const std::string& input : nodes[k].inputs) read.insert(input);
  }
  std::size_t values = 0;
  const auto value = [&](const std::string& name) {
    text += fmt::format("v{} [shape=plaintext, fontsize=8, height=0.1, margin=0, label={}];\n", values, in_dot(short_name(name)));
    return values++;
  };
  std::map<std::string_view, std::size_t> given;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    for (const std::string& input : nodes[k].inputs) {
      if (input.empty()) continue;
      if (const auto maker = makers.find(input); maker != makers.end()) {
        text += fmt::format("n{} -> n{};\n", maker->second, k);
        continue;
      }
      const auto known = given.find(input);
      const std::size_t number = known == given.end() ? given.emplace(input, value(input)).first->second : known->second;
      text += fmt::format("v{} -> n{};\n", number, k);
    }
    for (const std::string& output : nodes[k].outputs)
      if (!output.empty() && !read.contains(output)) text += fmt::format("n{} -> v{};\n", k, value(output));
  }
  return text + "}\n";
}

std::vector<std::string> lines_of(std::span<const PartNode> nodes) {
  std::vector<std::string> lines;
  for (const PartNode& node : nodes) {
    const std::string name = node.name.empty() ? "" : fmt::format(" '{}'", node.name);
    lines.push_back(fmt::format("{}{}: {} -> {}", node.op, name, fmt::join(node.inputs, ", "), fmt::join(node.outputs, ", ")));
  }
  return lines;
}

std::vector<std::string> pictures_of(const std::vector<std::string>& graphs) {
  if (graphs.empty()) return {};
  const TemporaryFile file(fmt::format("{}", fmt::join(graphs, "")));
  if (!file.is_written()) return {};
  const std::string drawn = output_of("dot -Tsvg '" + file.path() + "' 2>/dev/null");
  constexpr std::string_view kEnd = "</svg>";
  std::vector<std::string> pictures;
  for (std::size_t at = 0;;) {
    const std::size_t begin = drawn.find("<svg", at);
    const std::size_t end = begin == std::string::npos ? begin : drawn.find(kEnd, begin);
    if (end == std::string::npos) break;
    at = end + kEnd.size();
    pictures.push_back(drawn.substr(begin, at - begin));
  }
  if (pictures.size() != graphs.size()) pictures.clear();
  return pictures;
}

}  // namespace xflow::report
