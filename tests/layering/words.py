"""Fails on words that have another name now, in src/, include/, docs/, bench/ and tests/: one thing has one name.

Identifiers count by their parts: LiveCover and live_cover are the words live and cover. A word of prose counts like a part.
Words that prose may use are searched in C++ code only, as whole identifiers: kBetween and between_ are the name between.
"""

import fnmatch
import pathlib
import re
import sys

TREES = ("include", "src", "docs", "bench", "tests")
SUFFIXES = (".cpp", ".cuh", ".def", ".h", ".md", ".py")
# Results of measurements keep the words of their day; this file has all words.
SKIPPED = ["bench/results/*", "tests/layering/words.py"]
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
    "spell(s|ings?)?": "export, ONNX export",
    "chances?": "probability, p_value",
    "told": "message, report",
    "at hand": "what it is: local, available, current",
    "in turns": "interleaved",
    "dear(er|est)?": "expensive",
    "houses?": "module, layer",
}
# Names in the code of C++, whole identifiers in lower case, with their words joined by _ -> what is said now.
NAMES = {
    "again|(allow|measure|for)_again|.*_for_again": "timed_again, confirmation, remeasure",
    "between(_for)?": "cache_footprint",
    "(?!is_)(.*_)?control(_.*)?": "calibration",
    "(.*_)?pieces?(_.*)?": "task",
    "(kernel|known|unknown|find)_words?": "operator name, variant",
}
# Types that have another name; in prose the words are free.
TYPES = {"Sketch": "SmallGraph", "Look": "triage", "Form": "Generalisation"}

# Where a word is the right one: lanes are those of vectors, a column of databases that exist keeps its name, pieces are those
# of a maximum or of a message that is split, and a normal form is a form.
RIGHT = {
    "lanes?": ["src/eval/*", "src/codegen/source_text.cpp", "docs/eval.md", "tests/eval/*"],
    "disturb.*": ["src/cost/database.cpp"],
    "chances?": ["tests/suite/random_models.py", "tests/verifier/witness_test.cpp"],
    "between(_for)?": ["tests/verifier/*"],
    "(.*_)?pieces?(_.*)?": ["src/verifier/*", "src/onnx/document/*", "src/parallel/kept_document.cpp", "src/parallel/part_document.cpp", "tests/verifier/*"],
    "Form": ["tests/verifier/faults/*"],
}

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Identifiers that can be NAMES.
CANDIDATE = re.compile(r"\b\w*(?:again|between|control|piece|word)\w*", re.IGNORECASE)
# Comments, strings and includes of C++.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\w*\(.*?\)\w*"|"(?:\\.|[^"\\\n])*"|#include[^\n]*', re.DOTALL)


def parts_of(text):
    """The parts of identifiers and the words of prose in lower case, one behind the other, with the number of their line."""
    return [(match[0].lower(), line) for line, row in enumerate(text.split("\n"), 1) for match in PART.finditer(row)]


def names_of(text):
    """(name, number of its line) of the CANDIDATEs in C++ code: the parts in lower case, without the k of constants."""
    code = NO_CODE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in CANDIDATE.finditer(code):
        parts = [part.lower() for part in PART.findall(match[0])]
        yield "_".join(parts[1:] if parts[:1] == ["k"] else parts), code.count("\n", 0, match.start()) + 1


def found_words(text, is_code=False):
    """(pattern of WORDS or NAMES or name of TYPES, number of the first line) of each word in the text."""
    lower, parts = text.lower(), None
    found = {}
    for pattern in WORDS:
        words = pattern.split(" ")
        if any(re.match("(?:[a-z](?!\\?))+", word)[0] not in lower for word in words):
            continue
        parts = parts or parts_of(text)
        for k in range(len(parts) - len(words) + 1):
            if all(re.fullmatch(word, parts[k + n][0]) for n, word in enumerate(words)):
                found[pattern] = parts[k][1]
                break
    for name, line in names_of(text) if is_code else ():
        for pattern in NAMES:
            if re.fullmatch(pattern, name):
                found.setdefault(pattern, line)
    for name in TYPES:
        if match := re.search(rf"\b(class|struct|using|enum class) {name}\b|\b{name}[&*>(]|`{name}`", text):
            found[name] = text.count("\n", 0, match.start()) + 1
    return found


def faults_of_file(name, text):
    found = []
    for word, line in found_words(name + "\n" + text, name.endswith((".cpp", ".h", ".cuh"))).items():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in RIGHT.get(word, [])):
            place = f"{name}:{line - 1}" if line > 1 else f"{name}: its name"
            found.append(f"{place}: '{word}' is called {({**WORDS, **NAMES, **TYPES})[word]}")
    return found


def faults_of_tree(root):
    paths = [path for tree in TREES for path in sorted((root / tree).rglob("*")) if path.suffix in SUFFIXES and path.is_file()]
    texts = [(path.relative_to(root).as_posix(), path) for path in paths]
    texts = [(name, path) for name, path in texts if not any(fnmatch.fnmatch(name, pattern) for pattern in SKIPPED)]
    return [fault for name, path in texts for fault in faults_of_file(name, path.read_text())], len(texts)


def self_test():
    """The rules above, by example: the test must be able to fail."""
    wrong = []
    for text in ("x is settled", "class LiveCover {", "live_cover.h", "kLaneSet", "lane_count", "TensorUniverse", "class Sketch {",
                 "const Look& x", "is_nudged", "kDisturbed", "made anew", "spelling_table", "the spellings", "onnxsim spells it",
                 "told.reason", "double chance = 0", "chance_of_heads", "the device at hand", "time_in_turns", "runs both in turns",
                 "kDearPrice", "dearer", "enum class Form : int {", "std::vector<Form> all"):
        if not found_words(text):
            wrong.append(f"allows {text!r}")
    for text in ("settles", "the live value that covers", "planes", "look at it", "Look at it", "a new one", "spelled", "universal",
                 "misspelled", "on the other hand", "each in turn", "threshold", "the form of a rule", "IndexForm& form", "try again",
                 "between two runs"):
        if found_words(text):
            wrong.append(f"refuses {text!r}")
    for text in ("auto again = 1;", "times.again.size()", "model.allow_again(1)", "kSecondsForAgain", "again_(1)",
                 "options.between = 0;", "kBetween", "between_for(bytes)", "info_.control", "fastest_control()", "kControlRuns",
                 "class PieceWorker {", "namespace pieces {", "pieces::prove(rule)", "known_words()", "kernel_word(spec)"):
        if not found_words(text, is_code=True):
            wrong.append(f"allows {text!r} in code")
    for text in ("x();  // again", '"measured_again"', 'f("a \\" again")', '#include "a/again.h"', 'R"(again between)"',
                 "/* a\nagain */", "against", "timed_again", "kBetweenLooks", "is_control(c)", "piecewise", "spec.word(name)"):
        if found_words(text, is_code=True):
            wrong.append(f"refuses {text!r} in code")
    if found_words("a\n/* b\n */ int again;", is_code=True) != {"again|(allow|measure|for)_again|.*_for_again": 3}:
        wrong.append("does not know the line of a name")
    if faults_of_file("src/eval/x.cpp", "lanes") or not faults_of_file("src/devices/cpu/x.cpp", "lanes"):
        wrong.append("does not know where lanes are right")
    if not faults_of_file("src/generator/x.h", "Piece") or any(faults_of_file(name, "Piece") for name in ("src/verifier/x.h", "docs/x.md")):
        wrong.append("does not know where pieces are right")
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
