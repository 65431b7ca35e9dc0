#include "src/rules/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace xflow::rules {
namespace {

constexpr std::string_view kFor = " for n in ";
// The members of a family without a last number that are rules of the file: the proof of the others needs
// them (docs/proofs.md).
constexpr int kMostInFile = 3;
constexpr std::string_view kForWords = " for f in ";

struct Line {
  std::string_view text;
  std::uint32_t number = 0;  // from 1
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    lines.push_back({text.substr(0, end), number});
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

bool is_part_of_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
bool begins_rule(std::string_view line) { return line.starts_with("rule "); }
bool is_comment(const Line& line) { return line.text.starts_with('#'); }

// ' for n in 3..8' or ' for f in relu, tanh' at the end of the first line of a family.
struct Header {
  std::string_view name;  // "rule split-in-{n}"
  int from = 0;
  int to = 0;
  bool is_open = false;
  std::vector<std::string> words = {};  // of a family of words, which has no numbers
};

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// The words of a list; no words if it is not a list of different names of operators.
std::vector<std::string> words_in(std::string_view list) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t end = list.find(',');
    const std::string word(trimmed(list.substr(0, end)));
    const bool is_name = !word.empty() && std::ranges::all_of(word, [](char c) { return is_part_of_name(c); });
    if (!is_name || std::ranges::find(words, word) != words.end()) return {};
    words.push_back(word);
    if (end == std::string_view::npos) return words;
    list.remove_prefix(end + 1);
  }
}

// Nothing for the first line of a rule that is not a family.
Result<std::optional<Header>> header_of(const Line& line, std::string_view file) {
  const std::string_view text = line.text.substr(0, line.text.find_last_not_of(" \t\r") + 1);
  const std::size_t at = text.find(kFor);
  const auto wrong = [&](const std::string& message, std::size_t column) {
    return fail(ErrorCode::syntax, message, place_text(file, {line.number, static_cast<std::uint32_t>(column) + 1}));
  };
  if (const std::size_t word = text.find(kForWords); word != std::string_view::npos) {
    Header header{text.substr(0, word), 0, 0, false, words_in(text.substr(word + kForWords.size()))};
    if (header.words.empty()) return wrong("expected different names of operators, as in 'relu, tanh'", word + kForWords.size());
    if (header.name.find("{f}") == std::string_view::npos) return wrong("the name of a family of words must contain {f}", word);
    return std::optional(std::move(header));
  }
  if (at == std::string_view::npos) {
    if (const std::size_t brace = text.find("{n}"); brace != std::string_view::npos)
      return wrong("expected the numbers of a family, as in 'rule split-in-{n} for n in 3..8'", brace);
    if (const std::size_t brace = text.find("{f}"); brace != std::string_view::npos)
      return wrong("expected the words of a family, as in 'rule slice-of-{f} for f in relu, tanh'", brace);
    return std::optional<Header>();
  }
  const std::string_view range = text.substr(at + kFor.size());
  const std::size_t dots = range.find("..");
  const auto from = dots == std::string_view::npos ? std::nullopt : number_in(range.substr(0, dots));
  const bool is_open = dots != std::string_view::npos && dots + 2 == range.size();
  auto to = dots == std::string_view::npos ? std::nullopt : number_in(range.substr(dots + 2));
  if (is_open) {
    if (!from || *from < 1 || *from > kMostInFile)
      return wrong(fmt::format("a family without a last number begins with a number from 1 to {}, as in '2..'", kMostInFile),
                   at + kFor.size());
    to = kMostInFile;
  }
  if (!from || !to || *from < 1 || *to < *from || *to > kMostParts)
    return wrong(fmt::format("expected two numbers from 1 to {}, the smaller one first, as in '3..8'", kMostParts), at + kFor.size());
  if (text.substr(0, at).find("{n}") == std::string_view::npos) return wrong("the name of a family must contain {n}", at);
  return std::optional(Header{text.substr(0, at), *from, *to, is_open, {}});
}

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

// x{1..n} becomes a list.
std::string with_lists(std::string text, int n) {
  constexpr std::string_view kList = "{1..n}";
  for (std::size_t at = text.find(kList); at != std::string::npos; at = text.find(kList)) {
    std::size_t begin = at;
    while (begin > 0 && is_part_of_name(text[begin - 1])) --begin;
    const std::string name = text.substr(begin, at - begin);
    std::string list;
    for (int k = 1; k <= n; ++k) list += fmt::format("{}{}{}", k == 1 ? "" : ", ", name, k);
    text.replace(begin, at + kList.size() - begin, list);
  }
  return text;
}

// The guards of a line, of which those with {i} stand once for each i.
std::string with_guards(const std::string& line, int n) {
  constexpr std::string_view kAnd = " and ";
  std::string result;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(kAnd, begin), line.size());
    std::string guard = line.substr(begin, end - begin);
    const std::size_t word = guard.find("where ");
    std::string head;
    if (word != std::string::npos) {
      head = guard.substr(0, word + 6);
      guard = guard.substr(word + 6);
    }
    result += begin == 0 ? head : std::string(kAnd) + head;
    for (int k = 1; k <= (guard.find("{i}") == std::string::npos ? 1 : n); ++k)
      result += (k == 1 ? "" : std::string(kAnd)) + replaced(guard, "{i}", std::to_string(k));
    if (end == line.size()) break;
    begin = end + kAnd.size();
  }
  return result;
}

// The members of a family without a last number differ in nothing but the number of parts.
Result<void> check_open(const FamilyText& family, std::string_view file) {
  const auto wrong = [&](const FamilyLine& line, std::size_t column, const std::string& message) {
    return fail(ErrorCode::syntax, message, place_text(file, {line.number, static_cast<std::uint32_t>(column) + 1}));
  };
  const std::vector<std::string> indexed = indexed_names(family);
  for (const FamilyLine& line : family.body) {
    const std::string& text = line.text;
    if (const std::size_t at = text.find("{n}"); at != std::string::npos)
      return wrong(line, at, "{n} is in the name of a family without a last number, not in its text");
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '{' && (at == 0 || !is_part_of_name(text[at - 1]))) return wrong(line, at, "expected a name before '{'");
      const bool begins = is_part_of_name(text[at]) && (at == 0 || !is_part_of_name(text[at - 1]));
      if (!begins) continue;
      std::size_t end = at;
      while (end < text.size() && is_part_of_name(text[end])) ++end;
      if (end < text.size() && text[end] == '{') continue;
      std::size_t digits = end;
      while (digits > at && text[digits - 1] >= '0' && text[digits - 1] <= '9') --digits;
      // Any number of digits at the end can be an index.
      for (std::size_t split = digits; split < end; ++split) {
        if (std::ranges::binary_search(indexed, text.substr(at, split - at)))
          return wrong(
              line, at,
              fmt::format("'{}' is also a part of '{}{{i}}'; name it differently", text.substr(at, end - at), text.substr(at, split - at)));
      }
    }
  }
  return {};
}

class Expander {
 public:
  void add(std::string_view text, std::uint32_t line) {
    result_.text += text;
    result_.text += '\n';
    result_.lines.push_back(line);
  }

  void add_member(const FamilyText& family, int n) {
    const std::string number = std::to_string(n);
    add(replaced(family.head, "{n}", number), family.line);
    bool in_guards = false;
    for (const FamilyLine& line : family.body) {
      const std::string text = with_lists(replaced(line.text, "{n}", number), n);
      in_guards = in_guards || text.find("where ") != std::string::npos;
      if (text.find("{i}") == std::string::npos) {
        add(text, line.number);
      } else if (in_guards) {
        add(with_guards(text, n), line.number);
      } else {
        for (int k = 1; k <= n; ++k) add(replaced(text, "{i}", std::to_string(k)), line.number);
      }
    }
  }

  void add_member(const FamilyText& family, const std::string& word) {
    add(replaced(family.head, "{f}", word), family.line);
    for (const FamilyLine& line : family.body) add(replaced(line.text, "{f}", word), line.number);
  }
  void add_comment(const FamilyText& family) {
    for (const FamilyLine& line : family.comment) add(line.text, line.number);
  }
  void add_open(FamilyText family) { result_.open_families.push_back(std::move(family)); }

  ExpandedText take() { return std::move(result_); }

 private:
  ExpandedText result_;
};

}  // namespace

Result<ExpandedText> expand_families(std::string_view text, std::string_view file) {
  const std::vector<Line> lines = lines_of(text);
  const bool has_families = std::ranges::any_of(lines, [](const Line& line) {
    const auto has = [&](std::string_view part) { return line.text.find(part) != std::string_view::npos; };
    return begins_rule(line.text) && (has(kFor) || has("{n}") || has(kForWords) || has("{f}"));
  });
  if (!has_families) return ExpandedText{std::string(text), {}, {}};
  Expander expander;
  for (std::size_t k = 0; k < lines.size();) {
    std::optional<Header> header;
    if (begins_rule(lines[k].text)) {
      XFLOW_TRY(header, header_of(lines[k], file));
    }
    if (!header) {
      expander.add(lines[k].text, lines[k].number);
      ++k;
      continue;
    }
    // The body ends before the next rule and its comment. The comment of a family is that of each member.
    std::size_t end = k + 1;
    while (end < lines.size() && !begins_rule(lines[end].text) && !is_comment(lines[end])) ++end;
    std::size_t comment = k;
    while (comment > 0 && is_comment(lines[comment - 1])) --comment;
    const std::span all(lines);
    FamilyText family{std::string(header->name), {}, {}, lines[k].number, header->from, header->to, header->is_open};
    for (const Line& line : all.subspan(comment, k - comment)) family.comment.push_back({std::string(line.text), line.number});
    for (const Line& line : all.subspan(k + 1, end - k - 1)) family.body.push_back({std::string(line.text), line.number});
    if (family.is_open) XFLOW_CHECK(check_open(family, file));
    for (std::size_t w = 0; w < header->words.size(); ++w) {
      if (w > 0) expander.add_comment(family);
      expander.add_member(family, header->words[w]);
    }
    for (int n = family.from; header->words.empty() && n <= family.to; ++n) {
      if (n > family.from) expander.add_comment(family);
      expander.add_member(family, n);
    }
    if (family.is_open) expander.add_open(std::move(family));
    k = end;
  }
  return expander.take();
}

ExpandedText member_text(const FamilyText& family, int n) {
  Expander expander;
  expander.add_comment(family);
  expander.add_member(family, n);
  return expander.take();
}

std::string family_text(const FamilyText& family) {
  std::string text;
  for (const FamilyLine& line : family.comment) text += line.text + "\n";
  text += family.is_open ? fmt::format("{}{}{}..\n", family.head, kFor, family.from)
                         : fmt::format("{}{}{}..{}\n", family.head, kFor, family.from, family.to);
  for (const FamilyLine& line : family.body) text += line.text + "\n";
  text.erase(text.find_last_not_of(" \n") + 1);
  return text + "\n";
}

std::string member_name(const FamilyText& family, int n) {
  constexpr std::string_view kRule = "rule ";
  return replaced(family.head.substr(kRule.size()), "{n}", std::to_string(n));
}

std::vector<std::string> indexed_names(const FamilyText& family) {
  std::set<std::string> names;
  for (const FamilyLine& line : family.body) {
    for (const std::string_view mark : {"{i}", "{1..n}"}) {
      for (std::size_t at = line.text.find(mark); at != std::string::npos; at = line.text.find(mark, at + 1)) {
        std::size_t begin = at;
        while (begin > 0 && is_part_of_name(line.text[begin - 1])) --begin;
        names.insert(line.text.substr(begin, at - begin));
      }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace xflow::rules
