"""Checks the rules of plain English that a machine can hold (CONTRIBUTING.md, "Plain English").

Run by ``make lint``; exits 1 if a rule is broken. With paths as arguments it checks these only.

Rules:
    opening   a docstring does not begin with "Of", "What", "Who", "How" or another word that puts
              the thing it names last; nor does the text below a constant or a field
    who       "who" and "whom" speak of people; "whoever" and "whose ... whose" are not used
    archaic   no "thereof", "wherein", "whereupon" and the like
    chains    no two of "which", "that" and "what" side by side, and no "some of which"
    length    the first sentence of a docstring has at most 32 words, a page's sentence at most 60
    ambiguous a docstring's first paragraph, and a page, have no word that has two meanings, or that
              stands for a time or a default without naming it: "at once", "meanwhile", "for good",
              "unless set"; decisions are records, which stay as they are
    setter    the docstring of a method ``set_...`` begins with a verb

The rules about words hold in docstrings, in the messages of errors that are raised, and on pages.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from check_house import Finding

MAX_FIRST_SENTENCE = 32
MAX_PAGE_SENTENCE = 60
OPENINGS = frozenset({"Of", "What", "Who", "Whose", "Whom", "How", "That", "Those", "By", "As"})
"""First words that put the thing a docstring names last."""
PEOPLE = (
    "anybody|anyone|author|authors|colleague|colleagues|customer|customers|developer|developers"
    "|engineer|engineers|everybody|everyone|maintainer|maintainers|nobody|one|operator|operators"
    "|owner|owners|people|person|persons|reader|readers|somebody|someone|somebody else|stranger"
    "|strangers|team|teams|those|user|users|visitor|visitors|you|anybody else|everybody else"
)
WHO = re.compile(r"\bwhom?\b", re.IGNORECASE)
AFTER_PEOPLE = re.compile(rf"\b(?:{PEOPLE})\b[,)]?\W*$", re.IGNORECASE)
WHOEVER = re.compile(r"\b(whoever|whomever|whosoever)\b", re.IGNORECASE)
ARCHAIC = re.compile(
    r"\b(thereof|therein|thereto|thereupon|wherein|whereof|whereupon|whereby|hitherto|heretofore)\b",
    re.IGNORECASE,
)
CHAINS = re.compile(
    r"\b(some|any|none|one|most|many|two|how many) of (which|whom)\b"
    r"|\b(which|that) (which|what)\b|\bwhat (what|which|that)\b",
    re.IGNORECASE,
)
TWO_MEANINGS = (
    (re.compile(r"\bat once\b", re.IGNORECASE), 'say "immediately", "together" or "in one step"'),
    (re.compile(r"\bmeanwhile\b", re.IGNORECASE), "name the time"),
    (re.compile(r"\bfor good\b", re.IGNORECASE), 'say "permanently", or what no longer happens'),
    (re.compile(r"\bunless set\b", re.IGNORECASE), 'say "by default"'),
)
"""Words that a reader of a page, too, has to read twice, with advice."""
AMBIGUOUS = (
    *TWO_MEANINGS,
    (re.compile(r"\b[Rr]aises? as `"), 'say "raises the same errors as"'),
    (re.compile(r"^Without effect\b"), "say what the call does nevertheless, and what it does not"),
    (re.compile(r"\bboth of whose\b|\bof which both\b"), "name both things"),
)
"""Words that a reader of a docstring's first paragraph has to read twice, with advice."""
NOUNS = frozenset(
    {"A", "An", "Conditions", "Handler", "Maximum", "Minimum", "Number", "Options", "Policy"}
    | {"Prefix", "Schema", "The", "Timeout", "Values", "Whether"}
)
"""First words that make a setter's docstring a noun without a verb."""
SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?:;](?=\s|$)")
CODE_BLOCK = re.compile(r"^( *)(```|~~~).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
PAGES = ("README.md", "CONTRIBUTING.md")
"""Pages outside ``docs``."""
EXAMPLES = re.compile(r"<!-- before -->.*?<!-- after -->", re.DOTALL)
"""Examples of what not to write, in the style page."""


def check(paths: list[Path]) -> Iterator[Finding]:
    """Yield the findings in modules (.py) and pages (.md), in the order of the paths."""
    for path in paths:
        text = path.read_text("utf-8")
        yield from check_module(path, text) if path.suffix == ".py" else check_page(path, text)


def check_module(path: Path, text: str) -> Iterator[Finding]:
    """Yield the findings in a module's docstrings and messages."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for message in broken_words(message_of(node.exc)):
                yield Finding(path, node.lineno, message)
        if not isinstance(node, kinds):
            continue
        for statement in attribute_docstrings(node.body):
            for message in broken_opening(value_of(statement)):
                yield Finding(path, statement.lineno, message)
        docstring = ast.get_docstring(node)
        if docstring is None:
            continue
        name = "" if isinstance(node, ast.Module) else node.name
        broken = [*broken_first_line(docstring, name), *broken_words(prose_of(docstring))]
        for message in broken:
            yield Finding(path, node.body[0].lineno, message)


def attribute_docstrings(body: list[ast.stmt]) -> Iterator[ast.Expr]:
    """Texts that stand below an assignment and describe its name."""
    for before, statement in pairwise(body):
        if isinstance(before, ast.Assign | ast.AnnAssign) and value_of(statement):
            assert isinstance(statement, ast.Expr)
            yield statement


def value_of(statement: ast.stmt) -> str:
    """The text that a statement consists of, empty for any other statement."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else ""
    return ""


def check_page(path: Path, text: str) -> Iterator[Finding]:
    """Yield the findings in the prose of a page in Markdown."""
    for line, paragraph in paragraphs(text):
        for message in broken_words(paragraph):
            yield Finding(path, line, message)
        if "decisions" not in path.parts:
            for message in ambiguous(paragraph, TWO_MEANINGS):
                yield Finding(path, line, message)
        if paragraph.lstrip().startswith(("|", "#")):
            continue
        for sentence in SENTENCE_END.split(paragraph):
            count = len(sentence.split())
            if count > MAX_PAGE_SENTENCE:
                start = " ".join(sentence.split()[:6])
                yield Finding(path, line, f'"{start} ..." has {count} words: make it two sentences')


def broken_first_line(docstring: str, name: str = "") -> Iterator[str]:
    """Yield what is wrong with a docstring's first paragraph. ``name`` is that of the function."""
    first_paragraph = " ".join(docstring.split("\n\n", maxsplit=1)[0].split())
    yield from broken_opening(first_paragraph)
    if name.startswith("set_") and first_paragraph.split()[0] in NOUNS:
        yield f'"{name}" begins with "{first_paragraph.split()[0]}": begin with a verb'
    yield from ambiguous(first_paragraph, AMBIGUOUS)
    count = len(SENTENCE_END.split(first_paragraph)[0].split())
    if count > MAX_FIRST_SENTENCE:
        yield f"the first sentence has {count} words, at most {MAX_FIRST_SENTENCE} allowed"


def ambiguous(prose: str, words: Iterable[tuple[re.Pattern[str], str]]) -> Iterator[str]:
    """Yield the words of a list that prose has, with their advice."""
    for pattern, advice in words:
        for match in pattern.finditer(prose):
            yield f'"{context(prose, match)}": {advice}'


def broken_opening(text: str) -> Iterator[str]:
    """Yield what is wrong with a text's first word."""
    opening, _, rest = text.partition(" ")
    # "As `Supervisor.lead`." refers to a twin
    if opening in OPENINGS and not rest.startswith("`"):
        yield f'begins with "{opening}": name the thing first'


def broken_words(prose: str) -> Iterator[str]:
    """Yield the words and chains in prose that a reader has to read twice."""
    for match in WHO.finditer(prose):
        if not AFTER_PEOPLE.search(prose[: match.start()]):
            yield f'"{context(prose, match)}": "who" speaks of people'
    for pattern, advice in (
        (WHOEVER, "name the person or the thing"),
        (ARCHAIC, "use a word of today"),
        (CHAINS, "make it two sentences"),
    ):
        for match in pattern.finditer(prose):
            yield f'"{context(prose, match)}": {advice}'


def context(prose: str, match: re.Match[str]) -> str:
    """Up to three words on each side of a match."""
    before = prose[: match.start()].split()[-3:]
    after = prose[match.end() :].split()[:3]
    return " ".join([*before, match[0], *after])


def prose_of(docstring: str) -> str:
    """A docstring without its examples, their output, and literals."""
    lines, in_example = list[str](), False
    for line in docstring.splitlines():
        in_example = line.lstrip().startswith(">>>") or (in_example and line.strip() != "")
        if not in_example:
            lines.append(line)
    return re.sub(r"``.*?``", "", "\n".join(lines), flags=re.DOTALL)


def message_of(exception: ast.expr) -> str:
    """The literal text in an expression that makes an exception."""
    constants = (node for node in ast.walk(exception) if isinstance(node, ast.Constant))
    return " ".join(node.value for node in constants if isinstance(node.value, str))


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a page with their 1-based lines; code is left out."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    text = EXAMPLES.sub(blank, CODE_BLOCK.sub(blank, text))
    start, gathered = 1, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        begins = re.match(r"\s*([-*+]|\d+\.|\||#)", line) is not None
        if gathered and (begins or not line.strip()):
            yield start, re.sub(r"`[^`]*`", "``", " ".join(gathered))
            gathered = []
        if line.strip():
            start = start if gathered else number
            gathered.append(line.strip())


def all_paths(root: Path) -> list[Path]:
    """Modules under src, and the pages, of a work tree."""
    pages = [root / name for name in PAGES]
    return [*sorted((root / "src").rglob("*.py")), *pages, *sorted((root / "docs").rglob("*.md"))]


def main(arguments: list[str]) -> int:
    """Check the paths of the arguments, or the whole work tree; return the exit code."""
    root = Path(__file__).resolve().parents[1]
    paths = [Path(argument) for argument in arguments] or all_paths(root)
    files = [file for path in paths for file in (files_below(path) if path.is_dir() else [path])]
    findings = list(check(files))
    for finding in findings:
        print(finding)
    print(f"plain English: {len(findings)} to rewrite" if findings else "plain English: kept")
    return 1 if findings else 0


def files_below(folder: Path) -> list[Path]:
    """Modules and pages below a folder."""
    return sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".md"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
