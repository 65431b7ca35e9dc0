"""Reads rules from their text. Written from docs/rules.md; shares nothing with src/."""

import re
from dataclasses import dataclass, field
from fractions import Fraction

INFINITY = float("inf")
TYPES = ("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
PREDICATES = ("const", "varies", "scalar", "equal", "nonzero", "positive", "nonnegative", "finite", "in_range", "uses")
SECTIONS = ("rule", "with", "source", "target", "where")
TOKEN = re.compile(r"(?P<space>[ \t\r]+)|(?P<comment>#[^\n]*)|(?P<line>\n)|(?P<word>[A-Za-z_][A-Za-z_0-9]*)"
                   r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE]-?[0-9]+)?)|(?P<symbol>\.\.|>=|<=|!=|[=><()\[\],:+\-*/^?|])")


class RuleError(Exception):
    """The text is no rule."""


@dataclass
class Expression:
    """An integer, a list of integers, a real number or a word. `kind`: number, name, call, list, + - *, negate, index, sequence, ones,
    optional."""
    kind: str
    name: str = ""
    number: object = None
    arguments: list = field(default_factory=list)

    def names(self):
        found = {self.name} if self.kind in ("name", "sequence", "ones") else set()
        for argument in self.arguments:
            found |= argument.names()
        return found

    def is_number(self):
        """True if no name occurs in it."""
        return self.kind != "call" and not self.names() and all(a.is_number() for a in self.arguments)


@dataclass
class Term:
    """A tensor expression. `kind`: variable, list, literal, apply, absent."""
    kind: str
    name: str = ""
    literal: object = None
    operands: list = field(default_factory=list)
    attributes: list = field(default_factory=list)  # (name, Expression)


@dataclass
class Guard:
    kind: str  # a relation or a predicate
    arguments: list
    value: str = ""


@dataclass
class Declaration:
    variable: str
    many: bool
    data_type: str  # "" where none is given
    dims: list


@dataclass
class Rule:
    name: str
    declarations: dict
    source: list  # (outputs, Term)
    target: list
    guards: list
    text: str

    def outputs(self):
        made = {o for outputs, _ in self.target for o in outputs}
        return [o for outputs, _ in self.source for o in outputs if o in made]

    def variables(self):
        """What the source reads and does not define, in order of first occurrence: name -> True for a list of operands."""
        found, defined = {}, set()

        def walk(term):
            if term.kind in ("variable", "list") and term.name not in defined:
                found.setdefault(term.name, term.kind == "list")
            for operand in term.operands:
                walk(operand)

        for outputs, term in self.source:
            walk(term)
            defined.update(outputs)
        return found

    def operators(self):
        found = set()

        def walk(term):
            if term.kind == "apply":
                found.add(term.name)
            for operand in term.operands:
                walk(operand)

        for _, term in self.source + self.target:
            walk(term)
        return found


def tokens_of(text):
    """(kind, text, offset); line ends inside of brackets are left out."""
    result, at, depth = [], 0, 0
    while at < len(text):
        if len(result) > 0 and result[-1][:2] == ("word", "rule") and (len(result) < 2 or result[-2][0] == "line"):
            name = re.compile(r"[ \t\r]*([^ \t\r\n#]+)").match(text, at)
            if not name:
                raise RuleError("a rule without a name")
            result.append(("word", name.group(1), at))
            at = name.end()
            continue
        match = TOKEN.match(text, at)
        if not match:
            raise RuleError(f"unexpected {text[at]!r}")
        kind = match.lastgroup
        if kind == "symbol":
            depth += match.group() in "([" and 1 or match.group() in ")]" and -1 or 0
        if kind not in ("space", "comment") and not (kind == "line" and (depth > 0 or (result and result[-1][0] == "line"))):
            result.append((kind, match.group(), at))
        at = match.end()
    return result + [("line", "\n", at), ("end", "", at)]


class Parser:
    def __init__(self, text):
        self.text, self.tokens, self.at = text, tokens_of(text), 0

    def peek(self, ahead=0):
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def fails(self, expected):
        line = self.text.count("\n", 0, self.peek()[2]) + 1
        raise RuleError(f"line {line}: expected {expected}, found {self.peek()[1]!r}")

    def symbol(self, *texts):
        """Takes one of the symbols; "" where none is there."""
        kind, text, _ = self.peek()
        if kind != "symbol" or text not in texts:
            return ""
        self.at += 1
        return text

    def expect(self, text):
        if not self.symbol(text):
            self.fails(repr(text))

    def is_word(self, *texts):
        return self.peek()[0] == "word" and self.peek()[1] in texts

    def word(self, what):
        if self.peek()[0] != "word" or self.is_word(*SECTIONS, "and"):
            self.fails(what)
        self.at += 1
        return self.tokens[self.at - 1][1]

    def skip_lines(self):
        while self.peek()[0] == "line":
            self.at += 1

    def section_ends(self):
        return self.peek()[0] == "end" or self.is_word(*SECTIONS)

    def section(self, name, item):
        """The items of a section, one a line."""
        if not self.is_word(name):
            self.fails(name)
        self.at += 1
        self.skip_lines()
        items = []
        while not self.section_ends():
            items.append(item())
            if self.peek()[0] == "line":
                self.skip_lines()
            elif not (self.symbol(",") or self.is_word("and") or self.section_ends()):
                self.fails("the end of the line")
            if self.is_word("and"):
                self.at += 1
            self.skip_lines()
        return items

    def rules(self):
        result = []
        self.skip_lines()
        while self.peek()[0] != "end":
            result.append(self.rule())
            self.skip_lines()
        return result

    def rule(self):
        begin = self.peek()[2]
        if not self.is_word("rule"):
            self.fails("'rule'")
        self.at += 1
        name = self.peek()[1]
        self.at += 1
        self.skip_lines()
        if self.is_word("numbers"):  # numbers rounding: a claim, which xflow reports
            self.at += 1
            if self.word("a class") != "rounding":
                self.fails("'rounding'")
            self.skip_lines()
        declarations = self.section("with", self.declaration) if self.is_word("with") else []
        source = self.section("source", self.statement)
        target = self.section("target", self.statement)
        guards = self.section("where", self.guard) if self.is_word("where") else []
        text = self.text[begin:self.peek()[2]]
        text = "\n".join(line for line in text.rstrip().split("\n") if not line.startswith("#")).rstrip()
        return Rule(name, {d.variable: d for d in declarations}, source, target, guards, text)

    def declaration(self):
        variable = self.word("a variable")
        many = bool(self.symbol(".."))
        self.expect(":")
        data_type = self.word("a type") if self.peek()[0] == "word" else ""
        if data_type and data_type not in TYPES:
            raise RuleError(f"unknown type {data_type}")
        self.expect("[")
        return Declaration(variable, many, data_type, self.elements("]"))

    def elements(self, end):
        found = []
        while not self.symbol(end):
            found.append(self.expression())
            if not self.symbol(","):
                self.expect(end)
                break
        return found

    def statement(self):
        outputs = [self.word("an output")]
        while self.symbol(","):
            outputs.append(self.word("an output"))
        self.expect("=")
        return outputs, self.term()

    def infix(self, operand, signs, fold):
        left = operand()
        while sign := self.symbol(*signs):
            left = fold(sign, left, operand())
        return left

    def term(self):
        return self.infix(self.product, "+-", self.fold_term)

    def product(self):
        return self.infix(self.factor, "*/", self.fold_term)

    def fold_term(self, sign, a, b):
        if a.kind == b.kind == "literal":
            return Term("literal", literal=computed(sign, a.literal, b.literal))
        return Term("apply", {"+": "add", "-": "sub", "*": "mul", "/": "div"}[sign], operands=[a, b])

    def factor(self):
        if self.symbol("-"):
            operand = self.factor()
            return Term("literal", literal=-operand.literal) if operand.kind == "literal" else Term("apply", "neg", operands=[operand])
        if self.symbol("("):
            inner = self.term()
            self.expect(")")
            return inner
        if self.peek()[0] == "number":
            self.at += 1
            return Term("literal", literal=Fraction(self.tokens[self.at - 1][1]))
        if self.is_word("_"):
            self.at += 1
            return Term("absent")
        if self.is_word("and") and self.peek(1)[1] == "(":
            self.at += 1
            name = "and"
        else:
            name = self.word("an operator, a variable or a number")
        if self.symbol(".."):
            return Term("list", name)
        if not self.symbol("("):
            return Term("variable", name)
        term = Term("apply", name)
        while not self.symbol(")"):
            if self.peek()[0] == "word" and self.peek(1)[1] == ":":
                attribute = self.peek()[1]
                self.at += 2
                term.attributes.append((attribute, self.expression()))
            else:
                term.operands.append(self.term())
            if not self.symbol(","):
                self.expect(")")
                break
        return term

    def expression(self):
        return self.infix(self.multiple, "+-", self.fold_expression)

    def multiple(self):
        return self.infix(self.signed, "*/", self.fold_expression)

    def fold_expression(self, sign, a, b):
        if sign == "/":
            if a.kind != "number" or b.kind != "number":
                self.fails("'/' between numbers")
            return Expression("number", number=computed("/", a.number, b.number))
        return Expression(sign, arguments=[a, b])

    def signed(self):
        if not self.symbol("-"):
            return self.indexed()
        operand = self.signed()
        return Expression("number", number=-operand.number) if operand.kind == "number" else Expression("negate", arguments=[operand])

    def indexed(self):
        value = self.primary()
        while self.symbol("["):
            value = Expression("index", arguments=[value, self.expression()])
            self.expect("]")
        return Expression("optional", arguments=[value]) if self.symbol("?") else value

    def primary(self):
        if self.peek()[0] == "number":
            self.at += 1
            number = Fraction(self.tokens[self.at - 1][1])
            if not self.symbol("^"):
                return Expression("number", number=number)
            return Expression("ones", self.word("a sequence"))
        if self.symbol("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.symbol("["):
            return Expression("list", arguments=self.elements("]"))
        name = self.word("a number, a name or a list")
        if name == "inf":
            return Expression("number", number=INFINITY)
        if self.symbol(".."):
            return Expression("sequence", name)
        if self.symbol("("):
            return Expression("call", name, arguments=self.elements(")"))
        return Expression("name", name)

    def guard(self):
        if self.is_word(*PREDICATES) and self.peek(1)[1] == "(":
            kind = self.word("a guard")
            self.at += 1
            value = self.word("a variable")
            arguments = []
            while self.symbol(","):
                arguments.append(self.expression())
            self.expect(")")
            if kind == "uses":
                self.expect("=")
                arguments.append(self.expression())
            return Guard(kind, arguments, value)
        left = self.expression()
        relation = self.symbol("=", "!=", ">=", ">", "<=", "<")
        if not relation:
            self.fails("a relation")
        return Guard(relation, [left, self.expression()])


def computed(sign, a, b):
    if sign == "/" and b == 0:
        raise RuleError("a division by 0")
    return a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a / b


FAMILY = re.compile(r"rule (\S*\{n\}\S*) for n in (\d+)\.\.(\d*)\s*$")
# The last member that is a rule, of a family without a last number.
LAST_OF_OPEN = 3
WORDS = re.compile(r"rule (\S*\{f\}\S*) for f in (\w+(?:, *\w+)*)\s*$")


def member(line, n, in_guards):
    """The lines that one line of a family is in its member of the number n."""
    line = line.replace("{n}", str(n))
    line = re.sub(r"(\w+)\{1\.\.n\}", lambda match: ", ".join(f"{match[1]}{k}" for k in range(1, n + 1)), line)
    if "{i}" not in line:
        return [line]
    if not in_guards:
        return [line.replace("{i}", str(k)) for k in range(1, n + 1)]
    head, where, guards = line.rpartition("where ")
    each = [" and ".join(guard.replace("{i}", str(k)) for k in range(1, n + 1)) if "{i}" in guard else guard
            for guard in guards.split(" and ")]
    return [head + where + " and ".join(each)]


def with_members(text, most=64):
    """The text with each family of rules written as its first `most` members (docs/rules.md, Families)."""
    result, lines, at = [], text.split("\n"), 0
    while at < len(lines):
        family = FAMILY.match(lines[at])
        words = WORDS.match(lines[at])
        end = at + 1
        while (family or words) and end < len(lines) and not lines[end].startswith(("rule ", "#")):
            end += 1
        if not family and not words:
            result.append(lines[at])
        elif words:
            for word in re.split(", *", words[2])[:most]:
                result += [line.replace("{f}", word) for line in ["rule " + words[1]] + lines[at + 1:end]]
        else:
            for n in range(int(family[2]), min(int(family[3] or LAST_OF_OPEN) + 1, int(family[2]) + most)):
                result.append("rule " + family[1].replace("{n}", str(n)))
                in_guards = False
                for line in lines[at + 1:end]:
                    in_guards = in_guards or "where " in line
                    result += member(line, n, in_guards)
        at = end
    return "\n".join(result)


def read_rules(text, members=64):
    """The rules of a text; of a family the first `members`."""
    return Parser(with_members(text, members)).rules()


def read_guards(texts):
    return [Parser(text).guard() for text in texts]
