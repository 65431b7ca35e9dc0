#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tests/verifier/peers/peer_rule.h"

namespace xflow::peers {

namespace {

// (operator word... argument...)
class Parser {
 public:
  Parser(std::string_view text, std::vector<Operation>& operations) : text_(text), operations_(operations) {}

  Result<Operand> whole() {
    XFLOW_TRY(const Operand result, expression());
    if (position_ != text_.size()) return fail(ErrorCode::syntax, fmt::format("expected the end, found '{}'", text_.substr(position_)));
    return result;
  }

 private:
  void spaces() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\r')) ++position_;
  }
  std::string_view word() {
    spaces();
    const std::size_t start = position_;
    while (position_ < text_.size() && text_[position_] != ' ' && text_[position_] != '(' && text_[position_] != ')') ++position_;
    return text_.substr(start, position_ - start);
  }
  Result<int> number() {
    const std::string_view w = word();
    int value = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
    if (error != std::errc() || end != w.data() + w.size()) return fail(ErrorCode::syntax, fmt::format("expected a number, found '{}'", w));
    return value;
  }
  // A number that has to be `expected`.
  Result<void> only(int expected, std::string_view what) {
    XFLOW_TRY(const int found, number());
    if (found != expected) return fail(ErrorCode::unsupported, fmt::format("{} {}", what, found));
    return {};
  }
  Result<void> operands(Operation& op, int count) {
    for (int k = 0; k < count; ++k) {
      XFLOW_TRY(const Operand operand, expression());
      op.operands.push_back(operand);
    }
    return {};
  }
  // Equal operations are one.
  int add(const Operation& op) {
    const auto at = std::find(operations_.begin(), operations_.end(), op);
    if (at != operations_.end()) return static_cast<int>(at - operations_.begin());
    operations_.push_back(op);
    return static_cast<int>(operations_.size()) - 1;
  }

  Result<Operand> expression() {
    spaces();
    if (position_ < text_.size() && text_[position_] == '?') {
      const std::string_view name = word();
      constexpr std::string_view kPrefix = "?input_";
      int value = 0;
      if (!name.starts_with(kPrefix) || std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), value).ec != std::errc()) {
        return fail(ErrorCode::syntax, fmt::format("expected ?input_NUMBER, found '{}'", name));
      }
      return Operand{-value, 0};
    }
    if (position_ >= text_.size() || text_[position_] != '(') {
      return fail(ErrorCode::syntax, fmt::format("expected '(' at column {}", position_ + 1));
    }
    ++position_;
    const std::string_view name = word();
    XFLOW_TRY(const Operand result, application(name));
    spaces();
    if (position_ >= text_.size() || text_[position_++] != ')') return fail(ErrorCode::syntax, fmt::format("expected ')' after {}", name));
    return result;
  }

  Result<Operand> application(std::string_view name) {
    Operation op;
    if (name == "split_0" || name == "split_1") {
      XFLOW_TRY(Operand parts, expression());
      parts.port = name == "split_1" ? 1 : 0;
      return parts;
    }
    if (name == "matmul") {
      op.kind = Kind::matmul;
      XFLOW_CHECK(only(0, "activation of matmul"));
      XFLOW_CHECK(operands(op, 2));
    } else if (name == "ewadd" || name == "ewmul") {
      op.kind = name == "ewadd" ? Kind::add : Kind::mul;
      XFLOW_CHECK(operands(op, 2));
    } else if (name == "relu") {
      XFLOW_CHECK(operands(op, 1));
    } else if (name == "concat") {
      op.kind = Kind::concat;
      XFLOW_TRY(op.axis, number());
      XFLOW_TRY(op.rank, number());
      XFLOW_CHECK(operands(op, 2));
    } else if (name == "split") {
      op.kind = Kind::split;
      XFLOW_TRY(op.axis, number());
      XFLOW_CHECK(operands(op, 1));
    } else if (name == "conv2d") {
      op.kind = Kind::conv;
      XFLOW_CHECK(only(1, "stride"));
      XFLOW_CHECK(only(1, "stride"));
      XFLOW_CHECK(only(0, "padding"));
      XFLOW_TRY(const int activation, number());
      if (activation != 0 && activation != 2) return fail(ErrorCode::unsupported, fmt::format("activation {}", activation));
      op.relu = activation == 2;
      XFLOW_CHECK(operands(op, 2));
    } else {
      return fail(ErrorCode::unsupported, fmt::format("operator '{}'", name));
    }
    return Operand{add(op), 0};
  }

  std::string_view text_;
  std::vector<Operation>& operations_;
  std::size_t position_ = 0;
};

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end != 0 && text[0] != '\r') result.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

Result<void> add_line(Rule& rule, std::string_view line) {
  const std::size_t arrow = line.find("=>");
  if (arrow == std::string_view::npos) return fail(ErrorCode::syntax, fmt::format("expected '=>' in '{}'", line));
  XFLOW_TRY(const Operand source, Parser(line.substr(0, arrow), rule.source).whole());
  XFLOW_TRY(const Operand target, Parser(line.substr(arrow + 2), rule.target).whole());
  rule.outputs.emplace_back(source, target);
  return {};
}

}  // namespace

Result<std::vector<Rule>> read_tensat(std::string_view single, std::string_view pairs) {
  std::vector<Rule> rules;
  for (const std::string_view line : lines(single)) {
    Rule rule;
    rule.name = fmt::format("tensat-{}", rules.size());
    XFLOW_CHECK(add_line(rule, line));
    rules.push_back(std::move(rule));
  }
  const std::vector<std::string_view> both = lines(pairs);
  if (both.size() % 2 != 0) return fail(ErrorCode::syntax, "expected pairs of lines, found an odd number");
  for (std::size_t k = 0; k < both.size(); k += 2) {
    Rule rule;
    rule.name = fmt::format("tensat-{}", rules.size());
    XFLOW_CHECK(add_line(rule, both[k]));
    XFLOW_CHECK(add_line(rule, both[k + 1]));
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace xflow::peers
