"""Fails on words that have another name now, in src/, include/ and docs/: one thing has one name.

Identifiers count by their parts: LiveCover and live_cover are the words live and cover. A word of prose counts like a part.
"""

import fnmatch
import pathlib
import re
import sys

TREES = ("include", "src", "docs")
# The word, or the words one behind the other, as a pattern of lower case -> what is said now.
WORDS = {
    "settled": "folded, inferred",
    "live cover": "incremental cost model",
    "lane set": "assignment set",
    "lanes?": "assignments (of a generator)",
    "universes?": "signature, tensor kind",
    "nudg(e|es|ed|ing)": "perturbed",
    "disturb.*": "interference",
    "anew": "again",
    "spellings?": "ONNX export",
}
# Types that have another name; in prose the words are free.
TYPES = {"Sketch": "SmallGraph", "Look": "triage"}

# Where a word is the right one: lanes are those of vectors, and a column of databases that exist keeps its name.
RIGHT = {
    "lanes?": ["src/eval/*", "src/codegen/*", "src/devices/cpu/*", "docs/eval.md"],
    "disturb.*": ["src/cost/database.cpp"],
}

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def parts_of(text):
    """The parts of identifiers and the words of prose in lower case, one behind the other, with the number of their line."""
    return [(match[0].lower(), line) for line, row in enumerate(text.split("\n"), 1) for match in PART.finditer(row)]


def found_words(text):
    """(pattern of WORDS or name of TYPES, number of the first line) of each word in the text."""
    lower, parts = text.lower(), None
    found = {}
    for pattern in WORDS:
        words = pattern.split(" ")
        if any(re.match("[a-z]+?(?=s\\?|\\W|$)", word)[0] not in lower for word in words):
            continue
        parts = parts or parts_of(text)
        for k in range(len(parts) - len(words) + 1):
            if all(re.fullmatch(word, parts[k + n][0]) for n, word in enumerate(words)):
                found[pattern] = parts[k][1]
                break
    for name in TYPES:
        if match := re.search(rf"\b(class|struct|using|enum class) {name}\b|\b{name}[&*>(]|`{name}`", text):
            found[name] = text.count("\n", 0, match.start()) + 1
    return found


def faults_of_file(name, text):
    found = []
    for word, line in found_words(name + "\n" + text).items():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in RIGHT.get(word, [])):
            place = f"{name}:{line - 1}" if line > 1 else f"{name}: its name"
            found.append(f"{place}: '{word}' is called {({**WORDS, **TYPES})[word]}")
    return found


def faults_of_tree(root):
    paths = [path for tree in TREES for path in sorted((root / tree).rglob("*")) if path.is_file()]
    found = [fault for path in paths for fault in faults_of_file(path.relative_to(root).as_posix(), path.read_text())]
    return found, len(paths)


def self_test():
    """The rules above, by example: the test must be able to fail."""
    wrong = []
    for text in ("x is settled", "class LiveCover {", "live_cover.h", "kLaneSet", "lane_count", "TensorUniverse", "class Sketch {",
                 "const Look& x", "is_nudged", "kDisturbed", "made anew", "spelling_table", "the spellings"):
        if not found_words(text):
            wrong.append(f"allows {text!r}")
    for text in ("settles", "the live value that covers", "planes", "look at it", "Look at it", "a new one", "spelled", "universal"):
        if found_words(text):
            wrong.append(f"refuses {text!r}")
    if faults_of_file("src/eval/x.cpp", "lanes") or not faults_of_file("src/generator/x.cpp", "lanes"):
        wrong.append("does not know where lanes are right")
    if faults_of_file("src/cost/x.cpp", "// made\n// anew\n") != ["src/cost/x.cpp:2: 'anew' is called again"]:
        wrong.append(f"says {faults_of_file('src/cost/x.cpp', '// made' + chr(10) + '// anew')}")
    if not faults_of_file("src/cost/live_cover.cpp", ""):
        wrong.append("allows the name of a file")
    return wrong


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found, files = faults_of_tree(root)
    found += [f"this test {wrong}" for wrong in self_test()]
    if not files:
        found.append("no files found")
    print("\n".join(found) if found else f"{files} files have none of the words")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
