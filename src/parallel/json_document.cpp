#include "src/parallel/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace xflow::parallel {
namespace {

constexpr std::size_t kMostText = 40;
constexpr int kNumberOutOfRange = 406;  // an id of nlohmann's exceptions

// The name of a field or the position of an element, for each level from the root to a value.
using Path = std::vector<std::variant<std::string, std::size_t>>;

// Reads a text and counts the ends of lines before the last character that was read. This is the line of a
// token: a number is known to end by the character behind it, which may be the end of a line.
class LineIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineIterator(std::string_view::const_iterator at, std::size_t* line) : at_(at), line_(line) {}

  const char& operator*() const { return *at_; }
  LineIterator& operator++() {
    if (after_end_of_line_) ++*line_;
    after_end_of_line_ = *at_++ == '\n';
    return *this;
  }
  bool operator==(const LineIterator& other) const { return at_ == other.at_; }
  bool operator!=(const LineIterator& other) const { return at_ != other.at_; }

 private:
  std::string_view::const_iterator at_;
  std::size_t* line_;
  bool after_end_of_line_ = false;
};

// Why reading a text stopped.
struct SyntaxFault {
  int id = 0;         // of the exception
  std::string token;  // the last one
};

// Follows a path through the events of a parser. A field that occurs twice is the last one, as in the parsed
// value.
class PathFinder {
 public:
  PathFinder(Path path, const std::size_t& line) : path_(std::move(path)), line_(line) {}

  std::size_t found() const { return found_; }  // the line of the value, or of the fault
  const std::optional<SyntaxFault>& fault() const { return fault_; }

  bool null() { return scalar(); }
  bool boolean(bool /*value*/) { return scalar(); }
  bool number_integer(Json::number_integer_t /*value*/) { return scalar(); }
  bool number_unsigned(Json::number_unsigned_t /*value*/) { return scalar(); }
  bool number_float(Json::number_float_t /*value*/, const std::string& /*text*/) { return scalar(); }
  bool string(std::string& /*value*/) { return scalar(); }
  bool binary(Json::binary_t& /*value*/) { return scalar(); }
  bool start_object(std::size_t /*elements*/) { return open(false); }
  bool start_array(std::size_t /*elements*/) { return open(true); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Level& level = levels_.back();
    level.key_line = line_;
    const auto* wanted =
        level.is_on_path && levels_.size() <= path_.size() ? std::get_if<std::string>(&path_[levels_.size() - 1]) : nullptr;
    level.is_wanted = wanted != nullptr && *wanted == name;
    return true;
  }
  bool parse_error(std::size_t /*characters*/, const std::string& token, const nlohmann::detail::exception& error) {
    fault_ = SyntaxFault{error.id, token};
    found_ = line_;
    return false;
  }

 private:
  struct Level {
    bool is_array;
    bool is_on_path;
    bool is_wanted;        // the field after this key
    std::size_t next;      // element of an array
    std::size_t key_line;  // of an object
  };

  // Whether the value that begins is on the path. Keeps its line if it is the end of the path.
  bool enter() {
    bool is_on_path = true;
    std::size_t line = line_;
    if (!levels_.empty()) {
      Level& level = levels_.back();
      is_on_path = level.is_wanted;
      if (level.is_array) {
        const auto* wanted =
            level.is_on_path && levels_.size() <= path_.size() ? std::get_if<std::size_t>(&path_[levels_.size() - 1]) : nullptr;
        is_on_path = wanted != nullptr && *wanted == level.next++;
      } else {
        line = level.key_line;
      }
    }
    if (is_on_path && levels_.size() == path_.size()) found_ = line;
    return is_on_path;
  }
  bool scalar() {
    enter();
    return true;
  }
  bool open(bool is_array) {
    const bool is_on_path = enter();
    levels_.push_back({is_array, is_on_path, false, 0, 0});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  Path path_;
  const std::size_t& line_;
  std::size_t found_ = 0;
  std::optional<SyntaxFault> fault_;
  std::vector<Level> levels_;
};

// Reads a text up to its fault, or to its end.
PathFinder read_lines(std::string_view text, Path path) {
  std::size_t line = 1;
  PathFinder finder(std::move(path), line);
  Json::sax_parse(LineIterator(text.begin(), &line), LineIterator(text.end(), &line), &finder);
  return finder;
}

// The path of a value, which is found by its address.
Path path_of(const Json& root, const Json& value) {
  struct Level {
    const Json* owner;
    Json::const_iterator child;
    std::size_t position;
  };
  std::vector<Level> levels;
  if (&root != &value) levels.push_back({&root, root.begin(), 0});
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.child == level.owner->end()) {
      levels.pop_back();
      if (levels.empty()) break;
      ++levels.back().child;
      ++levels.back().position;
      continue;
    }
    const Json& child = *level.child;
    if (&child == &value) break;
    if (child.is_structured()) {
      levels.push_back({&child, child.begin(), 0});
    } else {
      ++level.child;
      ++level.position;
    }
  }
  Path path;
  for (const Level& level : levels) {
    if (level.owner->is_object()) {
      path.emplace_back(level.child.key());
    } else {
      path.emplace_back(level.position);
    }
  }
  return path;
}

std::string shortened(std::string text) {
  if (text.size() <= kMostText) return text;
  text.resize(kMostText);
  return text.append("...");
}

}  // namespace

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string where, std::string_view what) {
  Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) {
    const PathFinder finder = read_lines(text, {});
    const SyntaxFault fault = finder.fault().value_or(SyntaxFault{});
    const std::string place = fmt::format("{}:{}", where, finder.found());
    if (fault.id == kNumberOutOfRange)
      return fail(ErrorCode::unreadable, fmt::format("a number is out of range: {}", shortened(fault.token)), place);
    return fail(ErrorCode::unreadable, fmt::format("not JSON; expected {}", what), place);
  }
  JsonDocument document(text, std::move(where), std::move(root));
  if (!document.root_.is_object()) return document.fault(document.root_, fmt::format("expected {}, which is an object", what));
  return document;
}

std::string JsonDocument::place_of(const Json& value) const {
  return fmt::format("{}:{}", where_, read_lines(text_, path_of(root_, value)).found());
}

Unexpected JsonDocument::fault(const Json& value, std::string message) const {
  return fail(ErrorCode::unreadable, std::move(message), place_of(value));
}

std::string brief_text(const Json& value) {
  const auto text_of = [](const Json& scalar) { return scalar.dump(-1, ' ', true, Json::error_handler_t::replace); };
  if (!value.is_structured()) return shortened(text_of(value));
  if (value.is_object()) return value.empty() ? "{}" : "{...}";
  std::string text = "[";
  for (const Json& element : value) {
    if (text.size() > kMostText) break;
    if (text.size() > 1) text += ',';
    text += !element.is_structured() ? text_of(element) : element.is_object() ? "{...}" : "[...]";
  }
  return shortened(text + "]");
}

}  // namespace xflow::parallel
