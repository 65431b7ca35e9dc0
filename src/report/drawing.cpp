#include "src/report/drawing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "src/support/printable.h"
#include "src/support/temporary_folder.h"

namespace xflow::report {
namespace {

constexpr std::size_t kLongestName = 28;

// A name of a model with at most kLongestName characters, of which the last are most telling.
std::string short_name(const std::string& name) {
  std::string text = onnx_io::printable(name);
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

// Runs a program of PATH whose standard output is this file. True if it ends with exit status 0.
bool run(std::vector<std::string> words, const std::string& output) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  for (const int descriptor : {STDIN_FILENO, STDERR_FILENO}) posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
  pid_t child = 0;
  const bool started = posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  while (started && waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return false;
  return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
  const TemporaryFolder folder;
  if (folder.path().empty()) return {};
  const std::filesystem::path source = folder.path() / "parts.dot";
  const std::filesystem::path target = folder.path() / "parts.svg";
  std::ofstream(source) << fmt::format("{}", fmt::join(graphs, ""));
  // With option -o all graphs but the first would go to standard output.
  if (!run({"dot", "-Tsvg", source.string()}, target.string())) return {};
  std::ifstream file(target);
  const std::string drawn{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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
