"""Fails on a file of more than 500 lines and on a function whose body has more than 80, in src/ and include/.

A body is what stands between the braces of a function. Lambdas, tables and classes in it are part of it. A lambda outside functions, as in
a table, is a function of its own; a table outside functions is none.
"""

import bisect
import pathlib
import re
import sys

MOST_LINES_OF_FILE = 500
MOST_LINES_OF_FUNCTION = 80
TREES = ("include", "src")
CODE = (".h", ".cpp", ".cu", ".def", ".inc")

# What is still too long. An entry that is not needed fails.
LONG_FILES = []
LONG_FUNCTIONS = []

RAW_STRING = re.compile(r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\(')
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
CHARACTER = re.compile(r"'(?:[^'\\\n]|\\.)+'")
DIRECTIVE = re.compile(r"#(?:[^\n\\]|\\\n|\\.)*")
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|::|->|\.\.\.|<=>|[-+*/%^&|<>=!]=|[^\s\w]")
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def code_alone(text):
    """The text without comments, directives and the contents of literals, each line at its place."""

    def blank(part):
        return re.sub(r"[^\n]", " ", part)

    out, at, line_is_empty = [], 0, True
    while at < len(text):
        c = text[at]
        end, kept = at + 1, c
        raw = RAW_STRING.match(text, at) if c in 'uULR' and not (at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")) else None
        if text.startswith("//", at):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            kept = blank(text[at:end])
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            end = len(text) if end < 0 else end + 2
            kept = blank(text[at:end])
        elif raw:
            end = text.find(f'){raw[1]}"', raw.end())
            end = len(text) if end < 0 else end + len(raw[1]) + 2
            kept = "0" + blank(text[at + 1:end])
        elif c == '"' and (string := STRING.match(text, at)):
            end = string.end()
            kept = '"' + blank(text[at + 1:end])
        elif c == "'" and not (at > 0 and text[at - 1].isalnum()) and (character := CHARACTER.match(text, at)):
            end = character.end()
            kept = "0" + blank(text[at + 1:end])
        elif c == "#" and line_is_empty:
            end = DIRECTIVE.match(text, at).end()
            kept = blank(text[at:end])
        out.append(kept)
        line_is_empty = "\n" in kept or (line_is_empty and kept.isspace())
        at = end
    return "".join(out)


def without_template_headers(words):
    """The words of a declaration without `template <...>`, whose defaults hold '='."""
    result, k = [], 0
    while k < len(words):
        if words[k] == "template" and k + 1 < len(words) and words[k + 1] == "<":
            depth, k = 0, k + 1
            while k < len(words):
                depth += {"<": 1, ">": -1}.get(words[k], 0)
                k += 1
                if depth == 0:
                    break
        else:
            result.append(words[k])
            k += 1
    return result


def begins_lambda(words):
    """Whether a brace behind these words, in which groups in brackets are "()" and "[]", is the body of a lambda."""
    for k in range(len(words) - 1, -1, -1):
        if words[k] == "[]":
            # An index or an array is behind a name or a value.
            before = words[k - 1] if k > 0 else ""
            return not (re.match(r"\w", before) and before not in ("return", "co_return")) and before not in ("()", "[]", ")")
        if words[k] in ("=", ",", ";", "return"):
            return False
    return False


def brace_kind(words, in_scope, in_brackets):
    """What a brace begins behind the words of its declaration: "scope", "function" or "value"."""
    words = without_template_headers(words)
    if begins_lambda(words):
        return "function"
    if not in_scope or in_brackets:
        return "value"
    if not words:
        return "scope"
    has_equals = any(word == "=" and (k == 0 or words[k - 1] != "operator") for k, word in enumerate(words))
    if has_equals:
        return "value"
    plain = [word for word in words if word not in ("inline", "static", "constexpr", "const", "typedef", "[]")]
    if plain and (plain[0] in ("namespace", "extern") and "()" not in plain):
        return "scope"
    # `struct S f() {` is a function; `struct alignas(8) S {` is not.
    if plain and plain[0] in ("class", "struct", "union", "enum"):
        groups = [k for k, word in enumerate(plain) if word == "()" and plain[k - 1] not in ("alignas", "decltype")]
        if not groups:
            return "scope"
    if "()" not in words:
        return "value"
    # `S() : a_{1}, b_(2) {`: the braces behind names are values of members.
    last_group = max(k for k, word in enumerate(words) if word == "()")
    initialisers = next((k for k, word in enumerate(words) if word == ":" and "()" in words[:k]), None)
    if initialisers is not None and words[-1] not in ("()", "{}", "..."):
        return "value"
    # `requires requires(T t) {` and `requires(T t) {` behind a template's header.
    if last_group > 0 and words[last_group - 1] == "requires" and words.index("()") == last_group and last_group == len(words) - 1:
        return "value"
    return "function"


def name_of(words):
    """f, S::f, S::operator== of the words before a function's body; "a lambda" for one."""
    words = without_template_headers(words)
    if begins_lambda(words):
        return "a lambda"
    # Not the parentheses of a type: std::function<void()> f().
    groups = [k for k, word in enumerate(words) if word == "()" and words[k + 1:k + 2] not in ([">"], [","]) and words[k - 1] != "decltype"]
    first = groups[0] if groups else words.index("()")
    if "operator" in words[max(first - 4, 0):first]:
        begin = first - 1 - words[first - 1::-1].index("operator")
        parts = ["operator" + "".join(words[begin + 1:first] or ["()"])]
    else:
        begin = first - 1
        parts = [words[begin]]
        if begin > 0 and words[begin - 1] == "~":
            begin -= 1
            parts.insert(0, "~")
    # S<T>::f is of S.
    while begin > 1 and words[begin - 1] == "::":
        begin -= 2
        depth = 0
        while words[begin] == ">" or depth > 0:
            depth += {">": 1, "<": -1}.get(words[begin], 0)
            begin -= 1
        if not re.match(r"\w", words[begin]):
            break
        parts[:0] = [words[begin], "::"]
    return "".join(parts)


def functions_of(text):
    """(name, line of the opening brace, lines of the body) of each function; and what is wrong with the brackets, or None."""
    ends_of_lines = [match.end() for match in re.finditer("\n", text)]
    found = []
    # Of each open bracket: the bracket, what it begins, its line, the words of the declaration in it, the number of its function.
    stack = [("{", "scope", 0, [], None)]
    for match in TOKEN.finditer(code_alone(text)):
        token = match[0]
        line = bisect.bisect_right(ends_of_lines, match.start()) + 1
        bracket, kind, begin, words, number = stack[-1]
        if token in CLOSED_BY:
            inner_kind, function = "", None
            if token == "{":
                enclosing = next(one for one in reversed(stack) if one[0] == "{")
                if any(one[1] in ("function", "block") for one in stack):
                    inner_kind = "block"
                else:
                    inner_kind = brace_kind(words, enclosing[1] == "scope", bracket != "{")
                if inner_kind == "function":
                    function = len(found)
                    found.append((name_of(words), line, 0))
            stack.append((token, inner_kind, line, [], function))
        elif token in CLOSED_BY.values():
            if len(stack) == 1 or CLOSED_BY[bracket] != token:
                return [], f"line {line}: '{token}' closes nothing"
            stack.pop()
            outer_bracket, outer_kind, _, outer, _ = stack[-1]
            if kind == "function":
                found[number] = (*found[number][:2], max(0, line - begin - 1))
            is_declaration = outer_bracket == "{" and outer_kind == "scope"
            if kind == "scope" or (kind == "function" and is_declaration and not begins_lambda(without_template_headers(outer))):
                outer.clear()
            else:
                outer.append(bracket + token)
        elif token == ";" and bracket == "{":
            words.clear()
        elif token == ":" and words[-1:] in (["public"], ["private"], ["protected"]):
            words.clear()
        else:
            words.append(token)
    return found, None if len(stack) == 1 else f"line {stack[-1][2]}: '{stack[-1][0]}' stays open"


def faults_of_file(name, text, long_files, long_functions):
    """What is too long in a file, without what the lists say; what of the lists is needed is added to the set that is given back."""
    found, needed = [], set()
    lines = text.count("\n") + (0 if text.endswith("\n") or not text else 1)
    if lines > MOST_LINES_OF_FILE:
        needed.add(name)
        if name not in long_files:
            found.append(f"{name}: {lines} lines, and {MOST_LINES_OF_FILE} are allowed")
    if not name.endswith(CODE):
        return found, needed
    functions, problem = functions_of(text)
    if problem:
        found.append(f"{name}: {problem}")
    for function, line, body in functions:
        if body <= MOST_LINES_OF_FUNCTION:
            continue
        entry = f"{name}: {function}"
        needed.add(entry)
        if entry not in long_functions:
            found.append(f"{name}:{line}: the body of {function} has {body} lines, and {MOST_LINES_OF_FUNCTION} are allowed")
    return found, needed


def faults_of_tree(root):
    found, needed, files = [], set(), 0
    for tree in TREES:
        for path in sorted((root / tree).rglob("*")):
            if not path.is_file():
                continue
            files += 1
            text = path.read_text()
            wrong, needed_here = faults_of_file(path.relative_to(root).as_posix(), text, LONG_FILES, LONG_FUNCTIONS)
            found += wrong
            needed |= needed_here
    found += [f"{entry}: not too long any more: take it out of the lists" for entry in LONG_FILES + LONG_FUNCTIONS if entry not in needed]
    return found, files


SELF_TEST = r"""
// void in_a_comment() {
#define IN_A_MACRO(x) void x() { \
  {
namespace xflow { namespace {
const char* const kText = "void in_a_string() {"; const char kBrace = '{'; const auto kRaw = R"x(} ){ )x"; const int kMillion = 1'000'000;
constexpr std::array<Row, 2> kTable = {{
    {"a", 1},
    {"b", f(2)},
}};
const std::vector<Entry> kEntries{
    {"a", [](int x) -> int {
       return x;
     }},
    {"b", [&] {
       g();

     }},
};
const auto kLambda = [](int x) {
  return x;
};
const int kCalled = [] {
  const int k[] = {1, 2};

  return k[0];
}();
template <typename T = int, std::size_t N = 2>
class Matrix final : public Base<T>, private Other {
 public:
  Matrix() = default;
  explicit Matrix(T value) : Base<T>{value}, values_{value, value}, size_(N) {
    fill();
  }
  Matrix(const Matrix&) noexcept(noexcept(T())) : Base<T>() {}
  ~Matrix() override {
    free();
  }
  enum class Kind : std::uint8_t { a, b };
  struct Inner {
    int one = 1;
    int two{2};
  };
  T operator()(int x) const {
    return values_[x];
  }
  bool operator==(const Matrix&) const = default;
  bool operator<(const Matrix& other) const {
    return less(other);
  }
  template <typename F>
    requires std::invocable<F>
  void each(F&& f, Options options = {.a = 1}) const& {
    for (int k = 0; k < 3; ++k) {
      struct Local { int x; };
      std::ranges::for_each(values_, [&](const T& v) {
        f(v);
      });
    }
  }
  int values_[2] = {
      1,
      2,
  };
};
enum struct Other : int {
  x,
  y,
};
}  // namespace
template <typename T, std::size_t N>
template <typename U>
auto Matrix<T, N>::convert(const U& u,
                           int more) const -> std::vector<T> {
  if (u) {
    return {};
  }
  return std::vector<T>{more};
}
Matrix<int>::Matrix(int a, int b) try : Base(a) {
  b;
} catch (...) {
}
struct Point make_point() {
  return {};
}
TEST(Some, Thing) {
  EXPECT_TRUE(true);
}
std::function<void(int)> callback(int x) {
  return {};
}
extern "C" {
int c_function(void) { return 0; }
}
}  // namespace xflow
"""
# The functions in it: name and lines of the body.
IN_SELF_TEST = [
    ("a lambda", 1), ("a lambda", 2), ("a lambda", 1), ("a lambda", 3), ("Matrix", 1), ("Matrix", 0), ("~Matrix", 1), ("operator()", 1),
    ("operator<", 1), ("each", 6), ("Matrix::convert", 4), ("Matrix::Matrix", 1), ("catch", 0), ("make_point", 1), ("TEST", 1),
    ("callback", 1), ("c_function", 0),
]


def self_test():
    """The rules above, by example: the test must be able to fail."""
    wrong = []
    functions, problem = functions_of(SELF_TEST)
    if problem or [(name, body) for name, _, body in functions] != IN_SELF_TEST:
        wrong.append(f"finds {[(name, body) for name, _, body in functions]} with {problem}, not {IN_SELF_TEST}")

    def faults(text, long_files=(), long_functions=()):
        return faults_of_file("src/x.cpp", text, long_files, long_functions)

    body = "  f();\n" * MOST_LINES_OF_FUNCTION
    at_most = f"class C {{\n  void f(int x,\n         int y) const {{\n{body}  }}\n}};\n"
    more = at_most.replace("  f();\n", "  f();\n\n", 1)
    table = "constexpr int kTable[] = {\n" + "    1,\n" * 200 + "};\n"
    in_table = "const Entry kTable[] = {{\"a\", [](int x) {\n" + body + "  f();\n}}};\n"
    if faults(at_most + table) != ([], set()):
        wrong.append(f"refuses a function of {MOST_LINES_OF_FUNCTION} lines or a table: {faults(at_most + table)}")
    if faults(more)[0] != ["src/x.cpp:3: the body of f has 81 lines, and 80 are allowed"]:
        wrong.append(f"says of a long function: {faults(more)[0]}")
    if not faults(in_table)[0]:
        wrong.append("allows a long lambda in a table")
    if faults(more, (), ("src/x.cpp: f",)) != ([], {"src/x.cpp: f"}):
        wrong.append(f"does not except a function: {faults(more, (), ('src/x.cpp: f',))}")
    lines = "// a line\n" * MOST_LINES_OF_FILE
    if faults(lines)[0] or faults(lines + "\n")[0] != ["src/x.cpp: 501 lines, and 500 are allowed"]:
        wrong.append(f"says of a long file: {faults(lines)[0]}, {faults(lines + chr(10))[0]}")
    if faults(lines + "// end", ("src/x.cpp",)) != ([], {"src/x.cpp"}):
        wrong.append("does not except a file, or does not count a line without an end")
    if not faults("void f() {\n")[0] or not faults("}\n")[0]:
        wrong.append("allows braces that do not match")
    return wrong


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found, files = faults_of_tree(root)
    found += [f"this test {wrong}" for wrong in self_test()]
    if not files:
        found.append("no files found")
    print("\n".join(found) if found else f"{files} files have no long function and are not long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
