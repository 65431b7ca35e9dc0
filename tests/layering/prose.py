"""Fails on lines of prose of 110 characters or more: prose.py [--fix] [FILE...].

Prose is the text of all *.md files, and the whole-line comments in include/ and src/. Comments of rules are not: their first
line describes a rule in a list. Not prose are tables, code, separators, lines that align their text with several spaces, and lines that cannot be broken because one link,
URL or code span is too long. `--fix` re-wraps the paragraphs that have such a line, of FILE... or of all files.
"""

import pathlib
import re
import subprocess
import sys

WIDTH = 109
CODE = (".h", ".cpp", ".cu", ".cuh", ".def", ".inc")
SCRIPTS = (".py", ".sh", ".cmake")

FENCE = re.compile(r"\s*(```|~~~)")
BULLET = re.compile(r"(\s*)([-*+]|\d+[.)])(\s+)(?=\S)")
# A code span, a link, or a word; with what is attached to it.
UNIT = re.compile(r"(?:`[^`]+`|!?\[[^\]]*\](?:\([^)\s]*\))?|\S)+")
# What would begin a list, a heading, a quotation, a table or a fence at the beginning of a line.
BEGINS_BLOCK = re.compile(r"([-+*]|\d+[.)]|#+|=+|-+)$|[>|]|```|~~~")
# A row of a table, a quotation, HTML, the target of a link.
OTHER_BLOCK = re.compile(r"\s*([|>]|<!--|</?[A-Za-z]+( [^>]*)?>|\[[^\]]+\]: )")
SEPARATOR = re.compile(r"\s*[-=*#~_]{3,}")
DIRECTIVE = re.compile(r"\s*(clang-format|NOLINT|IWYU|cspell|SPDX|noqa|pylint|shellcheck|!)")
STATEMENT = re.compile(r".*(;|\{|\}|,|\()$")
EQUATION = re.compile(r".*\S (=|<=|>=|->|<->|:=) \S")
# Comments and literals of C++, so that the "//" of a literal is none.
LEXEME = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)


def units(text):
    """The parts of the text that stay on one line. A part that would begin a block is joined to the one before it."""
    found = []
    for match in UNIT.finditer(text):
        if found and BEGINS_BLOCK.match(match[0]):
            found[-1] += " " + match[0]
        else:
            found.append(match[0])
    return found


def wrap(text, first, rest):
    """The text in lines of at most WIDTH characters that begin with `first`, then `rest`."""
    lines, line = [], ""
    for unit in units(text):
        begin = first if not lines else rest
        if line and len(begin) + len(line) + 1 + len(unit) > WIDTH:
            lines.append(begin + line)
            line = unit
        else:
            line = f"{line} {unit}" if line else unit
    return [*lines, (first if not lines else rest) + line]


def is_too_long(line, prefix):
    """Whether the line is too long and could be broken; the prefix is its indentation and the marker of a comment or an item."""
    if len(line) <= WIDTH:
        return False
    at = len(prefix)
    for unit in units(line[len(prefix):]):
        end = line.index(unit, at) + len(unit)
        if end > WIDTH:
            return len(prefix) + len(unit) <= WIDTH
        at = end
    return False


class Paragraph:
    """Lines of one indentation and kind, from line `begin` on (from 0), with the prefix `first`, then `rest` (None: a heading)."""

    def __init__(self, begin, first, rest, text):
        self.begin, self.first, self.rest, self.texts = begin, first, rest, [text]

    def prefix(self, k):
        return self.rest if k else self.first

    def too_long(self):
        """The numbers of the lines that are too long, from 0."""
        return [self.begin + k for k, text in enumerate(self.texts) if is_too_long(self.prefix(k) + text, self.prefix(k))]

    def wrapped(self):
        return wrap(" ".join(self.texts), self.first, self.rest)


def paragraphs_of_prose(rows, begin=0, marker=""):
    """The paragraphs of Markdown in the rows, or of a comment whose lines begin with the marker. There two spaces indent code."""
    in_comment = bool(marker)
    code_indent = 2 if in_comment else 4
    found, current, fenced = [], None, False
    items = []  # Of the list items that are open: where their text begins.
    after_blank, in_code = True, False
    for k, row in enumerate(rows):
        indent = len(row) - len(row.lstrip())
        if FENCE.match(row):
            fenced, current = not fenced, None
            continue
        if fenced:
            continue
        if not row.strip():
            current, after_blank = None, True
            continue
        item = BULLET.match(row)
        while items and indent < items[-1] and (item or current is None):
            items.pop()
        base = items[-1] if items and indent >= items[-1] else 0
        in_code = indent >= base + code_indent and (in_code or after_blank or in_comment) and current is None
        after_blank = False
        is_aligned = in_comment and (DIRECTIVE.match(row) or re.search(r"\S {2,}\S", row))
        if in_code or is_aligned or OTHER_BLOCK.match(row) or SEPARATOR.match(row) or row.endswith(("  ", "\\")):
            current = None
        elif re.match(r"#+ ", row) and not in_comment:
            found.append(Paragraph(begin + k, row.split(" ")[0] + " ", None, row.split(" ", 1)[1]))
            current = None
        elif item:
            items.append(item.end())
            current = Paragraph(begin + k, marker + item[0], marker + " " * item.end(), row[item.end():])
            found.append(current)
        elif current and marker + row[:indent] == current.rest:
            current.texts.append(row[indent:])
        elif current is None or not in_comment:
            current = Paragraph(begin + k, marker + row[:indent], marker + row[:indent], row[indent:])
            found.append(current)
        else:
            current = None  # In a comment, deeper than the text before it: an example.
    return found


def split_where_meant(paragraph):
    """The paragraph of a comment, split where a line ends early: behind a sentence or an equation."""
    longest = max(len(text) for text in paragraph.texts)
    parts = []
    for k, text in enumerate(paragraph.texts):
        before = paragraph.texts[k - 1] if k else ""
        ends_early = len(before) + 1 + len((units(text) or [""])[0]) <= 0.75 * longest
        if not parts or ends_early and (before.endswith((".", ":", ";")) or EQUATION.match(before)):
            parts.append(Paragraph(paragraph.begin + k, paragraph.prefix(k), paragraph.rest, text))
        else:
            parts[-1].texts.append(text)
    return parts


def comment_rows(name, text):
    """{number of the line from 0: (indentation, marker, text)} of the whole-line comments."""
    rows = text.split("\n")
    if name.endswith(CODE):
        begins = {match.start() for match in LEXEME.finditer(text) if match[0].startswith("//")}
        pattern = re.compile(r"(\s*)(///?<?!?|//!) ?(?!/)")
    else:
        begins, pattern = None, re.compile(r"(\s*)(#+) ?(?!!)")
    found, at = {}, 0
    for k, row in enumerate(rows):
        match = pattern.match(row)
        if match and (begins is None or at + len(match[1]) in begins):
            found[k] = (match[1], match[2], row[match.end():])
        at += len(row) + 1
    return found


def paragraphs_of_comments(name, text):
    found, block = [], []
    rows = comment_rows(name, text)

    def finish():
        if block:
            indent, marker, _ = rows[block[0]]
            for paragraph in paragraphs_of_prose([rows[k][2] for k in block], block[0], f"{indent}{marker} "):
                if not all(STATEMENT.match(text) for text in paragraph.texts):
                    found.extend(split_where_meant(paragraph))
        block.clear()

    for k in rows:
        if block and (k != block[-1] + 1 or rows[k][:2] != rows[block[0]][:2]):
            finish()
        block.append(k)
    finish()
    return found


def paragraphs_of(name, text):
    if name.endswith(".md"):
        return paragraphs_of_prose(text.split("\n"))
    return paragraphs_of_comments(name, text)


def faults_of_file(name, text):
    rows = text.split("\n")
    return [f"{name}:{line + 1}: {len(rows[line])} characters" for paragraph in paragraphs_of(name, text) for line in paragraph.too_long()]


def fixed(name, text):
    rows = text.split("\n")
    for paragraph in reversed(paragraphs_of(name, text)):
        if paragraph.rest is not None and paragraph.too_long():
            rows[paragraph.begin:paragraph.begin + len(paragraph.texts)] = paragraph.wrapped()
    return "\n".join(rows)


def has_prose(name):
    if name.endswith(".md"):
        return True
    return name.startswith(("include/", "src/")) and (name.endswith(CODE + SCRIPTS) or name.endswith("CMakeLists.txt"))


def files_of_tree(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:  # A copy without git.
        trees = ("include", "src", "substitutions", "docs", "bench", "examples", "tests", "python", "scripts")
        paths = [*root.glob("*.md"), *(path for tree in trees for path in (root / tree).rglob("*"))]
        names = [path.relative_to(root).as_posix() for path in paths]
    return sorted(name for name in names if has_prose(name) and (root / name).is_file())


WORDS = "word " * 22  # 109 characters and a space
SELF_TEST = [  # Name, text, and the text that --fix makes; None: it stays as it is and is no fault.
    ("a.md", f"{WORDS}end\n", f"{WORDS[:-1]}\nend\n"),
    ("a.md", f"{WORDS[:-1]}\n", None),
    ("a.md", f"short\nlines\n\n{WORDS}end\nof it\n", f"short\nlines\n\n{WORDS[:-1]}\nend of it\n"),
    ("a.md", f"- {WORDS}\n  more\n- next\n", f"- {WORDS[:-6]}\n  word more\n- next\n"),
    ("a.md", f"- item\n  - {WORDS}end\n", f"- item\n  - {WORDS[:-6]}\n    word end\n"),
    ("a.md", f"- item\n\n      {WORDS}code\n", None),
    ("a.md", f"- item\n\n  {WORDS}prose\n", f"- item\n\n  {WORDS[:-6]}\n  word prose\n"),
    ("a.md", f"12. {WORDS}end\n", f"12. {WORDS[:-6]}\n    word end\n"),
    ("a.md", f"{WORDS}- end\n", f"{WORDS[:-6]}\nword - end\n"),
    ("a.md", f"{WORDS[:-5]}`code of words` end\n", f"{WORDS[:-6]}\n`code of words` end\n"),
    ("a.md", f"`{WORDS}end`\n", None),
    ("a.md", f"[{WORDS}](https://x.y/z) end\n", None),
    ("a.md", f"see https://{'x' * 110}/ end\n", None),
    ("a.md", f"| {WORDS}end |\n", None),
    ("a.md", f"```\n{WORDS}end\n```\n", None),
    ("a.md", f"text\n\n    {WORDS}\n\n    {WORDS}end\n", None),
    ("src/a.h", f"  // {WORDS}\n  // end\n", f"  // {WORDS[:-6]}\n  // word end\n"),
    ("src/a.h", f"  // {WORDS[:-6]}\n", None),
    ("src/a.h", f"int x;  // {WORDS}\n", None),
    ("src/a.h", f"/// {WORDS}\n/// end\n", f"/// {WORDS[:-6]}\n/// word end\n"),
    ("src/a.h", f"// --- {WORDS}---\n", None),
    ("src/a.h", f"//   x = {WORDS}\n", None),
    ("src/a.h", f"// x = 1  {WORDS}\n", None),
    ("src/a.h", f"// f({WORDS});\n// g({WORDS});\n", None),
    ("src/a.h", f"// NOLINTNEXTLINE {WORDS}\n", None),
    ("src/a.h", f'x = R"(\n// {WORDS}\n)";\n', None),
    ("src/a.h", f"// - {WORDS}\n//   end\n// - next\n", f"// - {WORDS[:-6]}\n//   word end\n// - next\n"),
    ("src/a.h", f"// y = x + 1\n// {WORDS}end\n", f"// y = x + 1\n// {WORDS[:-6]}\n// word end\n"),
    ("src/a.h", f"// {WORDS}\n  // other\n", f"// {WORDS[:-6]}\n// word\n  // other\n"),
]


def self_test():
    """The rules above, by example: the test must be able to fail."""
    wrong = []
    for name, text, expected in SELF_TEST:
        text = text.replace("word \n", "word\n")
        expected = text if expected is None else expected
        if fixed(name, text) != expected:
            wrong.append(f"makes {fixed(name, text)!r} of {text!r}")
        if bool(faults_of_file(name, text)) != (text != expected):
            wrong.append(f"says of {text!r}: {faults_of_file(name, text)}")
        if faults_of_file(name, expected):
            wrong.append(f"is not content with {expected!r}")
    if faults_of_file("a.md", f"text\n\n# {WORDS}end\n") != ["a.md:3: 115 characters"]:
        wrong.append("allows a long heading")
    return wrong


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    arguments = [argument for argument in sys.argv[1:] if argument != "--fix"]
    names = [pathlib.Path(name).resolve().relative_to(root).as_posix() for name in arguments] or files_of_tree(root)
    found = [f"this test {wrong}" for wrong in self_test()]
    for name in names:
        text = (root / name).read_text()
        if "--fix" in sys.argv and not found:
            better = fixed(name, text)
            if better != text:
                (root / name).write_text(better)
            text = better
        found += faults_of_file(name, text)
    if not names:
        found.append("no files found")
    print("\n".join(found) if found else f"{len(names)} files have no long line of prose")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
