#include "src/kernels/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace xflow::cost {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<ops::KernelSpec> kernel() {
    ops::KernelSpec spec;
    XFLOW_TRY(spec.kernel, word("the name of a kernel", ":("));
    if (take(":")) {
      XFLOW_TRY(spec.word, word("what the kernel does", "("));
    }
    XFLOW_CHECK(expect("("));
    if (!take(")")) {
      XFLOW_TRY(spec.operands, tensors());
      XFLOW_CHECK(expect(")"));
    }
    XFLOW_CHECK(expect(" -> "));
    if (!done()) {
      XFLOW_TRY(spec.results, tensors());
    }
    while (!done() && !text_.substr(at_).starts_with(" | ")) {
      XFLOW_CHECK(expect(" "));
      XFLOW_TRY(std::string name, word("the name of an attribute", "="));
      XFLOW_CHECK(expect("="));
      if (take("[")) {
        XFLOW_TRY(std::vector<std::int64_t> values, list<std::int64_t>("]"));
        spec.integers.emplace_back(std::move(name), std::move(values));
      } else {
        XFLOW_TRY(const double value, number<double>());
        spec.reals.emplace_back(std::move(name), value);
      }
    }
    while (take(" | ")) {
      ops::PostOperation post;
      XFLOW_TRY(post.name, word("the name of a post-operation", " ({}"));
      if (take("{")) {
        XFLOW_TRY(post.reals, list<double>("}"));
      }
      if (take("(")) {
        XFLOW_TRY(post.operands, tensors());
        XFLOW_CHECK(expect(")"));
      }
      spec.post.push_back(std::move(post));
    }
    if (!done()) return wrong("the end");
    return spec;
  }

 private:
  bool done() const { return at_ == text_.size(); }

  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  Unexpected wrong(std::string_view expected) const {
    const std::string found = done() ? "the end" : fmt::format("'{}'", text_.substr(at_, 12));
    return fail(ErrorCode::syntax, fmt::format("kernel '{}': expected {} at byte {}, found {}", text_, expected, at_, found));
  }

  Result<void> expect(std::string_view token) {
    if (take(token)) return {};
    return wrong(fmt::format("'{}'", token));
  }

  // What stands before any of the characters `ends`.
  Result<std::string> word(std::string_view what, std::string_view ends) {
    const std::size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    if (end == at_) return wrong(what);
    std::string word(text_.substr(at_, end - at_));
    at_ = end;
    return word;
  }

  template <typename T>
  Result<T> number() {
    T value{};
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) return wrong("a number");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  template <typename T>
  Result<std::vector<T>> list(std::string_view end) {
    std::vector<T> values;
    if (take(end)) return values;
    do {
      XFLOW_TRY(const T value, number<T>());
      values.push_back(value);
    } while (take(","));
    XFLOW_CHECK(expect(end));
    return values;
  }

  Result<std::vector<ops::TensorSpec>> tensors() {
    std::vector<ops::TensorSpec> tensors;
    do {
      ops::TensorSpec tensor;
      tensor.constant = take("const ");
      const std::size_t begin = at_;
      XFLOW_TRY(const std::string name, word("an element type", "[,)"));
      const auto type = ir::data_type_from_name(name);
      if (!type) {
        at_ = begin;
        return wrong("an element type");
      }
      tensor.data_type = *type;
      XFLOW_CHECK(expect("["));
      XFLOW_TRY(tensor.dims, list<std::int64_t>("]"));
      tensors.push_back(std::move(tensor));
    } while (take(", "));
    return tensors;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<ops::KernelSpec> parse_kernel(std::string_view text) { return Parser(text).kernel(); }

}  // namespace xflow::cost
