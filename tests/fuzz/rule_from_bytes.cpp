#include "tests/fuzz/rule_from_bytes.h"

#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace xflow::fuzz {

namespace {

constexpr int kDepth = 3;

// An operator with what stands behind its operands; $ is an integer, @ an axis.
struct Operator {
  std::string_view name;
  std::size_t operands;
  std::string_view attributes;
};
constexpr std::array<Operator, 36> kOperators = {{
    {"+", 2, ""},
    {"*", 2, ""},
    {"-", 2, ""},
    {"/", 2, ""},
    {"matmul", 2, ""},
    {"maximum", 2, ""},
    {"minimum", 2, ""},
    {"concat", 2, "axis: @"},
    {"relu", 1, ""},
    {"neg", 1, ""},
    {"exp", 1, ""},
    {"abs", 1, ""},
    {"sigmoid", 1, ""},
    {"tanh", 1, ""},
    {"sqrt", 1, ""},
    {"log", 1, ""},
    {"erf", 1, ""},
    {"reciprocal", 1, ""},
    {"transpose", 1, "perm: [1, 0]"},
    {"softmax", 1, "axis: @"},
    {"reduce_sum", 1, "axes: [@]"},
    {"reduce_mean", 1, "axes: [@], keep_dims: 0"},
    {"reduce_max", 1, "axes: [@]"},
    {"slice", 1, "starts: [$, 0], sizes: [$, $], steps: 1"},
    {"slice", 1, "starts: [$], sizes: [$], steps: 1"},
    {"reshape", 1, "shape: [$, $]"},
    {"reshape", 1, "shape: [$]"},
    {"expand", 1, "shape: [$, $]"},
    {"pad", 1, "begins: [$, 0], ends: [0, $], value: 0"},
    {"cumsum", 1, "axis: @"},
    {"tile", 1, "repeats: [$, 1]"},
    {"gather", 2, "axis: @"},
    {"cast", 1, "to: int64"},
    {"trilu", 1, "diagonal: $"},
    {"conv", 2, "pads: $"},
    {"clip", 1, "min: $, max: 6"},
}};
// x has one of the first six types, which have the dimensions M and N.
constexpr std::array<std::string_view, 12> kTypes = {"[M, N]", "[N, M]", "[M, N]", "[M, N, M]", "[2 * M, N, M]", "[M, N, 3, K]",
                                                     "[N, K]", "[M, M]", "[N]",    "[M, 1]",    "int64[K]",      "[M?, N]"};
constexpr std::size_t kTypesOfX = 6;
constexpr std::array<std::string_view, 16> kIntegers = {
    "0", "1", "s", "M", "N", "-1", "2", "t", "K", "M + s", "N - s", "M * N", "s + t", "N * K", "floor_div(N, 2)", "dim(x, 0)"};
constexpr std::array<std::string_view, 6> kAxes = {"0", "1", "-1", "a", "0", "2"};
constexpr std::array<std::string_view, 18> kGuards = {"M = N",         "M >= s",         "s >= 0",        "N + s <= M", "s = t",
                                                      "const(z)",      "scalar(z)",      "nonzero(x)",    "N != 1",     "positive(x)",
                                                      "mod(M, 2) = 0", "nonnegative(z)", "equal(z, 1/2)", "M > N",      "in_range(z, 0, M)",
                                                      "dim(x, 0) = K", "finite(x)",      "K <= 4"};
constexpr std::array<std::string_view, 4> kVariables = {"x", "x", "z", "w"};
constexpr std::array<std::string_view, 4> kNumbers = {"2", "1/3", "-1", "1"};

struct Tree {
  std::string text;  // of a leaf its name, otherwise the attributes
  const Operator* op = nullptr;
  std::vector<Tree> operands;
};

class Decoder {
 public:
  Decoder(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  std::string rule() {
    Tree source = tree(kDepth);
    Tree* first = &source;
    while (!first->operands.empty()) first = &first->operands.front();
    first->text = "x";
    std::set<std::string> variables;
    leaves(source, variables);
    std::string types;
    for (const std::string& name : variables) {
      const std::string_view type = kTypes[below(name == "x" ? kTypesOfX : kTypes.size())];
      for (const char c : type)
        if (c >= 'K' && c <= 'N') known_.insert(c);
      known_.insert(name[0]);
      types += (types.empty() ? "" : ", ") + name + ": " + std::string(type);
    }
    in_source_ = false;
    Tree target = source;
    for (std::size_t changes = below(4); changes > 0; --changes) change(target);
    std::string guards;
    for (std::size_t n = below(3); n > 0; --n) {
      const std::string_view guard = one_of(kGuards);
      if (is_known(guard)) guards += (guards.empty() ? "" : " and ") + std::string(guard);
    }
    return "rule decoded\n  with " + types + "\n  source\n    y = " + text(source) + "\n  target\n    y = " + text(target) + "\n" +
           (guards.empty() ? "" : "  where " + guards + "\n");
  }

 private:
  // 0 behind the last byte.
  std::size_t below(std::size_t limit) { return at_ == size_ ? 0 : data_[at_++] % limit; }
  template <std::size_t N>
  std::string_view one_of(const std::array<std::string_view, N>& list) {
    return list[below(N)];
  }

  // Names of one letter that stand in the text are bound.
  bool is_known(std::string_view expression) const {
    for (std::size_t k = 0; k < expression.size(); ++k) {
      const auto is_letter = [&](std::size_t at) {
        return at < expression.size() && (std::isalpha(static_cast<unsigned char>(expression[at])) != 0 || expression[at] == '_');
      };
      if (is_letter(k) && (k == 0 || !is_letter(k - 1)) && !is_letter(k + 1) && !known_.contains(expression[k])) return false;
    }
    return true;
  }

  Tree leaf() {
    const std::string_view name = one_of(kVariables);
    return {in_source_ || is_known(name) ? std::string(name) : "x", nullptr, {}};
  }

  Tree tree(int depth) {
    const std::size_t decision = depth == 0 ? 0 : below(kOperators.size() + 8);
    if (decision < 8 && depth < kDepth) return leaf();
    return applied(kOperators[depth == kDepth ? decision % kOperators.size() : decision - 8], depth);
  }

  // The last operand of arithmetic may be a number.
  Tree last(const Operator& op, int depth) {
    if (op.name.size() == 1 && below(4) == 3) return {std::string(one_of(kNumbers)), nullptr, {}};
    return tree(depth);
  }

  Tree applied(const Operator& op, int depth) {
    Tree t{attributes(op), &op, {}};
    for (std::size_t k = 0; k < op.operands; ++k) t.operands.push_back(k == 0 ? tree(depth - 1) : last(op, depth - 1));
    return t;
  }

  // In the source a name alone is bound where it stands; M and N are always known, other names in the target where the source has them.
  std::string attributes(const Operator& op) {
    std::string result;
    for (const char c : op.attributes) {
      if (c != '$' && c != '@') {
        result += c;
        continue;
      }
      const std::string_view integer = c == '@' ? one_of(kAxes) : one_of(kIntegers);
      if (in_source_ && (integer == "s" || integer == "t" || integer == "a")) known_.insert(integer[0]);
      result += is_known(integer) ? integer : "1";
    }
    return result;
  }

  // One change somewhere; the first ones keep the meaning of many operators.
  void change(Tree& t) {
    if (t.op != nullptr && below(2) == 0) {
      change(t.operands[below(t.operands.size())]);
      return;
    }
    const std::size_t kind = below(8);
    if (kind == 0 && t.operands.size() == 2) {
      std::swap(t.operands[0], t.operands[1]);
    } else if (kind == 1 && t.operands.size() == 2 && t.operands[0].op == t.op) {  // (a b) c = a (b c)
      Tree inner = std::move(t.operands[0]);
      inner.operands.push_back(std::move(t.operands[1]));
      Tree first = std::move(inner.operands[0]);
      inner.operands.erase(inner.operands.begin());
      t.operands.clear();
      t.operands.push_back(std::move(first));
      t.operands.push_back(std::move(inner));
    } else if (kind == 2 && t.operands.size() == 2 && t.operands[0].op != nullptr && t.operands[0].operands.size() == 2) {
      // (a b) . c = (a . c) (b . c)
      Tree inner = std::move(t.operands[0]);
      const Tree right = std::move(t.operands[1]);
      for (Tree& operand : inner.operands) operand = Tree{t.text, t.op, {std::move(operand), right}};
      t = std::move(inner);
    } else if (kind == 3) {
      t = Tree{"", &kOperators[9], {Tree{"", &kOperators[9], {std::move(t)}}}};
    } else if (kind == 4 && t.op != nullptr) {
      t = Tree(t.operands[0]);
    } else if (kind == 5 && t.op != nullptr && !t.text.empty()) {
      t.text = attributes(*t.op);
    } else if (kind == 6) {
      Tree inner = std::move(t);
      const Operator& op = kOperators[below(kOperators.size())];
      t = Tree{attributes(op), &op, {}};
      for (std::size_t k = 0; k < op.operands; ++k) t.operands.push_back(k == 0 ? inner : last(op, 0));
    } else {
      t = leaf();
    }
  }

  static void leaves(const Tree& t, std::set<std::string>& names) {
    if (t.op == nullptr && t.text[0] >= 'w' && t.text[0] <= 'z') names.insert(t.text);
    for (const Tree& operand : t.operands) leaves(operand, names);
  }

  static std::string text(const Tree& t) {
    if (t.op == nullptr) return t.text;
    if (t.op->name.size() == 1) return "(" + text(t.operands[0]) + " " + std::string(t.op->name) + " " + text(t.operands[1]) + ")";
    std::string list;
    for (const Tree& operand : t.operands) list += (list.empty() ? "" : ", ") + text(operand);
    return std::string(t.op->name) + "(" + list + (t.text.empty() ? "" : ", " + t.text) + ")";
  }

  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
  std::set<char> known_{'M', 'N', 'x'};
  bool in_source_ = true;
};

}  // namespace

std::string rule_text(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || data[0] < 0x80) return std::string(text_of(data, size));
  return Decoder(data + 1, size - 1).rule();
}

}  // namespace xflow::fuzz
