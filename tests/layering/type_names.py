"""Fails on a word that names two types in src/ and include/.

Nested types and types of unnamed namespaces count, and so does `using NAME = ...`. Declarations without a body, `using other::NAME;` and
specialisations of a template name a type that is defined elsewhere.
"""

import collections
import pathlib
import re
import sys

from sizes import CODE, TREES, code_alone

NAMES = ("Plan", "Term", "Place", "Candidate", "Region", "Shape", "Kernel")

DEFINITION = re.compile(
    r"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
    r"(?:(?:\[\[[^\]]*\]\]|alignas\s*\([^)]*\)|XFLOW_\w+)\s+)*"
    r"(?:\w+(?:<[^<>]*>)?::)*(?P<type>\w+)\s*(?:\bfinal\s*)?(?::(?!:)[^;{}]*)?\{"
    r"|\busing\s+(?P<alias>\w+)\s*="
    r"|\btypedef\b[^;{}]*\b(?P<typedef>\w+)\s*;")


def types_of(text):
    """(name, line) of each type that the text defines, whatever its scope."""
    code = code_alone(text)
    found = []
    for match in DEFINITION.finditer(code):
        group = match.lastgroup
        found.append((match[group], code.count("\n", 0, match.start(group)) + 1))
    return found


def faults_of_files(files):
    """The faults of texts by file name."""
    places = collections.defaultdict(list)
    for name, text in files.items():
        for type_name, line in types_of(text):
            if type_name in NAMES:
                places[type_name].append(f"{name}:{line}")
    return [f"{place}: {type_name} already names a type in {first}"
            for type_name, (first, *others) in sorted(places.items()) for place in others]


def files_of_tree(root):
    paths = [path for tree in TREES for path in sorted((root / tree).rglob("*")) if path.suffix in CODE]
    return {path.relative_to(root).as_posix(): path.read_text() for path in paths}


SELF_TEST = """
// struct InAComment {
const char* const kText = "struct InAString {";
struct Declared;
enum class Opaque : int;
using other::Used;
using namespace Other;
friend class Friend;
struct Point make_point() { return {}; }
template <class Parameter, typename Another>
class Specialised<int> {};
struct Plain {
  struct Nested { int x; };
  enum class Kind : std::uint8_t { a, b };
  using Alias = std::vector<int>;
};
class XFLOW_API Exported final
    : public std::function<void(int)> {
};
namespace {
class [[nodiscard]] Attributed {};
template <typename T>
using Template = std::vector<T>;
}
struct alignas(8) Outer<int>::Inner : Base {
};
union Union { int a; };
enum Old { c };
typedef unsigned long Word;
"""
IN_SELF_TEST = [("Plain", 12), ("Nested", 13), ("Kind", 14), ("Alias", 15), ("Exported", 17), ("Attributed", 21), ("Template", 23),
                ("Inner", 25), ("Union", 27), ("Old", 28), ("Word", 29)]


def self_test():
    """The rules above, by example: the test must be able to fail."""
    wrong = []
    if types_of(SELF_TEST) != IN_SELF_TEST:
        wrong.append(f"finds {types_of(SELF_TEST)}, not {IN_SELF_TEST}")
    once = {"src/a.h": "struct Plan {};\nstruct Other {};\n", "src/b.h": "struct Plan;\nstruct Other {};\nstruct LargePlan {};\n"}
    if faults_of_files(once):
        wrong.append(f"refuses {faults_of_files(once)}")
    twice = {"src/a.h": "struct Plan {};\n", "src/b.cpp": "namespace {\nclass Plan;\nclass Plan {};\n}\n"}
    if faults_of_files(twice) != ["src/b.cpp:3: Plan already names a type in src/a.h:1"]:
        wrong.append(f"says of two types {faults_of_files(twice)}")
    if not faults_of_files({"src/a.h": "class A { enum class Shape { a }; };\nusing Shape = int;\n"}):
        wrong.append("allows two types in one file")
    return wrong


def main():
    files = files_of_tree(pathlib.Path(__file__).resolve().parents[2])
    found = faults_of_files(files) + [f"this test {wrong}" for wrong in self_test()]
    if not files:
        found.append("no files found")
    print("\n".join(found) if found else f"{len(files)} files give none of the names to two types")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
