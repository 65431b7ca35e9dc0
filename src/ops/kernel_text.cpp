#include "src/ops/kernel_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "src/ops/fused_functions.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::ops {
namespace {

constexpr std::string_view kPointwise = "pointwise/";
constexpr std::string_view kReduction = "reduce_";  // the prefix of the names of reduction operators

struct Named {
  std::string_view name;
  KernelFamily family;
  std::optional<Op> op;
  std::string_view variant = "";
};
// Kernels with a name other than that of their operator, and kernels without an operator.
constexpr std::array kNamed = {
    Named{"matmul", KernelFamily::product, Op::Matmul},
    Named{"convolution", KernelFamily::convolution, Op::Conv},
    Named{"transposed_convolution", KernelFamily::convolution, Op::ConvTranspose},
    Named{"pool_max", KernelFamily::pooling, Op::MaxPool},
    Named{"pool_average", KernelFamily::pooling, Op::AveragePool},
    Named{"softmax", KernelFamily::softmax, Op::Softmax},
    Named{"log_softmax", KernelFamily::softmax, Op::LogSoftmax},
    Named{"normalization", KernelFamily::layer_normalization, std::nullopt, "layer"},
    Named{"normalization", KernelFamily::rms_normalization, std::nullopt, "rms"},
    Named{"attention", KernelFamily::attention, std::nullopt},
    Named{"none", KernelFamily::none, std::nullopt},
};

const Named* find_named(const KernelSpec& spec) {
  const auto found = std::ranges::find_if(kNamed, [&](const Named& n) { return n.family == spec.family && n.op == spec.function.op; });
  return found == kNamed.end() ? nullptr : &*found;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t slash = text.find('/');
    parts.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    text.remove_prefix(slash + 1);
  }
}

std::optional<Op> op_named(std::string_view name) {
  const auto id = find_operator(name);
  return id ? std::optional(get(*id).op) : std::nullopt;
}

std::string joined_words(const KernelSpec& spec) {
  std::string text;
  for (const auto& [name, value] : spec.words) text += (text.empty() ? "" : "/") + value;
  return text;
}

StepFunction function_named(std::string_view name) {
  if (const auto op = op_named(name)) return {op, {}, "", ""};
  if (const FusedFunction* function = find_function(name)) return {{}, function->id, "", ""};
  return {{}, {}, "", std::string(name)};
}

// Parses "resize/linear/half_pixel/floor": the operator and its string attributes.
void set_copy(KernelSpec& spec, std::string_view variant) {
  const std::vector<std::string_view> parts = split(variant);
  const auto op = op_named(parts[0]);
  if (!op) {
    spec.function.unknown = variant;
    return;
  }
  spec.function.op = op;
  std::vector<std::string_view> names;
  for (const AttributeSignature& attribute : get(id_of(*op)).signature.attributes)
    if (attribute.kind == AttributeKind::word) names.push_back(attribute.name);
  for (std::size_t k = 1; k < parts.size(); ++k) spec.words.emplace_back(k <= names.size() ? names[k - 1] : "", parts[k]);
}

std::string show(const TensorSpec& tensor) {
  return fmt::format("{}{}[{}]", tensor.constant ? "const " : "", ir::name(tensor.data_type), fmt::join(tensor.dims, ","));
}

std::string show(const std::vector<TensorSpec>& tensors) {
  std::string text;
  for (const TensorSpec& tensor : tensors) text += (text.empty() ? "" : ", ") + show(tensor);
  return text;
}

class KernelParser {
 public:
  explicit KernelParser(std::string_view text) : text_(text) {}

  Result<KernelSpec> kernel() {
    XFLOW_TRY(const std::string name, word("the name of a kernel", ":("));
    std::string what;
    if (take(":")) {
      XFLOW_TRY(what, word("what the kernel does", "("));
    }
    KernelSpec spec = kernel_named(name, what);
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
      XFLOW_TRY(const std::string step, word("the name of a post-operation", " ({}"));
      PostOperation post = step_named(step);
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

  // The text up to the next of the characters `ends`. It must not be empty and has to be printable: a
  // kernel is a part of a line.
  Result<std::string> word(std::string_view what, std::string_view ends) {
    const std::size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    if (end == at_) return wrong(what);
    std::string word(text_.substr(at_, end - at_));
    const auto unprintable = std::ranges::find_if(word, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (unprintable != word.end()) {
      at_ += static_cast<std::size_t>(unprintable - word.begin());
      return wrong("a printable character");
    }
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

  Result<std::vector<TensorSpec>> tensors() {
    std::vector<TensorSpec> tensors;
    do {
      TensorSpec tensor;
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

std::string kernel_name(const KernelSpec& spec) {
  if (const Named* named = find_named(spec)) return std::string(named->name);
  switch (spec.family) {
    case KernelFamily::pointwise:
      return fmt::format("{}{}", kPointwise, function_name(spec.function));
    case KernelFamily::reduction:
      return "reduce";
    case KernelFamily::copy:
      return "copy";
    case KernelFamily::reorder:
      return "reorder";
    default:
      return std::string(function_name(spec.function));
  }
}

std::string kernel_variant(const KernelSpec& spec) {
  if (const Named* named = find_named(spec); named != nullptr && !named->variant.empty()) return std::string(named->variant);
  std::string words = joined_words(spec);
  switch (spec.family) {
    case KernelFamily::pointwise:
      return spec.function.graph;
    case KernelFamily::reduction: {
      const std::string_view name = function_name(spec.function);
      return std::string(name.substr(name.starts_with(kReduction) ? kReduction.size() : 0));
    }
    case KernelFamily::copy:
      return std::string(function_name(spec.function)) + (words.empty() ? "" : "/") + words;
    default:
      return words;
  }
}

KernelSpec kernel_named(std::string_view name, std::string_view variant) {
  KernelSpec spec;
  const auto named = std::ranges::find_if(kNamed, [&](const Named& n) { return n.name == name && n.variant == variant; });
  if (named != kNamed.end()) {
    spec.family = named->family;
    spec.function.op = named->op;
  } else if (name.starts_with(kPointwise)) {
    spec.family = KernelFamily::pointwise;
    spec.function = function_named(name.substr(kPointwise.size()));
    spec.function.graph = variant;
  } else if (name == "reduce") {
    spec.family = KernelFamily::reduction;
    spec.function.op = op_named(fmt::format("{}{}", kReduction, variant));
    if (!spec.function.op) spec.function.unknown = variant;
  } else if (name == "copy") {
    spec.family = KernelFamily::copy;
    set_copy(spec, variant);
  } else {
    spec.family = name == "reorder" ? KernelFamily::reorder : KernelFamily::other;
    if (spec.family == KernelFamily::other) spec.function.op = op_named(name);
    if (spec.family == KernelFamily::other && !spec.function.op) spec.function.unknown = name;
    if (!variant.empty()) spec.words.emplace_back("", variant);
  }
  return spec;
}

std::string_view function_name(const StepFunction& function) {
  if (function.op) return get(id_of(*function.op)).signature.name;
  return function.fused ? name(*function.fused) : std::string_view(function.unknown);
}

std::string step_name(const PostOperation& post) {
  std::string text(function_name(post.function));
  if (!post.function.graph.empty()) text += ":" + post.function.graph;
  if (post.position != 0) text += fmt::format("@{}", post.position);
  return text;
}

PostOperation step_named(std::string_view name) {
  PostOperation post;
  if (const std::size_t at = name.rfind('@'); at != std::string_view::npos) {
    const char* end = name.data() + name.size();
    const auto [read, error] = std::from_chars(name.data() + at + 1, end, post.position);
    if (error == std::errc() && read == end) name = name.substr(0, at);
  }
  const std::size_t colon = name.find(':');
  post.function = function_named(name.substr(0, colon));
  if (colon != std::string_view::npos) post.function.graph = name.substr(colon + 1);
  return post;
}

// "convolution(float32[1,3,8,8], const float32[4,3,3,3]) -> float32[1,4,8,8] pads=[1,1,1,1] | clip{0,6} |
// add(float32[1,4,1,1])"
std::string to_string(const KernelSpec& spec) {
  std::string text = kernel_name(spec);
  if (const std::string variant = kernel_variant(spec); !variant.empty()) text += ":" + variant;
  text += fmt::format("({}) -> {}", show(spec.operands), show(spec.results));
  for (const auto& [name, values] : spec.integers) text += fmt::format(" {}=[{}]", name, fmt::join(values, ","));
  for (const auto& [name, value] : spec.reals) text += fmt::format(" {}={}", name, value);
  for (const PostOperation& post : spec.post) {
    text += " | " + step_name(post);
    if (!post.reals.empty()) text += fmt::format("{{{}}}", fmt::join(post.reals, ","));
    if (!post.operands.empty()) text += "(" + show(post.operands) + ")";
  }
  return text;
}

Result<KernelSpec> parse_kernel(std::string_view text) { return KernelParser(text).kernel(); }

}  // namespace xflow::ops
