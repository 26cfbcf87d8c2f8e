"""Functions of regular expressions, Java's, and of URLs (Flink docs, String)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.functions.strings import TEXT, python, string_function
from millrace.expressions.result_types import always, fixed

__all__ = ["REGULAR_EXPRESSIONS", "java_pattern"]

_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "XDigit": "0-9a-fA-F",
    "Space": r"\s",
    "Blank": r" \t",
    "ASCII": r"\x00-\x7f",
    "L": r"^\W\d_",
    "IsAlphabetic": r"^\W\d_",
    "N": r"\d",
}
_JAVA = re.compile(r"\\(.)(?:\{(\w+)\})?|\(\?<(?=[A-Za-z])|\[|\]")


@lru_cache(maxsize=1024)
def java_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of ``java.util.regex`` as one of Python's.

    Raises:
        EvaluationError: it is no regular expression, or Python has nothing like it.

    >>> bool(java_pattern(r"\\p{Alpha}+").fullmatch("abc"))
    True
    """
    depth = 0

    def piece(found: re.Match[str]) -> str:
        nonlocal depth
        text, letter, name = found[0], found[1], found[2]
        if text in "[]":
            depth = depth + 1 if text == "[" else max(depth - 1, 0)
            return text
        if text.startswith("(?<"):
            return "(?P<"
        if letter in ("p", "P") and name in _CLASSES:
            members = _CLASSES[name]
            if depth and letter == "p" and members[0] != "^":
                return members
            negated = (letter == "P") != (members[0] == "^")
            return f"[{'^' if negated else ''}{members.lstrip('^')}]"
        if letter == "z":
            return r"\Z"
        if letter == "Z":
            return r"(?=\n?\Z)"
        if letter == "h":
            return r"[ \t]"
        return text

    try:
        unicode = r"\p{L}" in pattern or r"\p{IsAlphabetic}" in pattern
        return re.compile(_JAVA.sub(piece, pattern), 0 if unicode else re.ASCII)
    except re.error as error:
        raise EvaluationError(f"{pattern!r} is no regular expression: {error}") from None


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Null where the pattern is wrong, as Flink's newer functions have it."""

    def guarded(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (EvaluationError, IndexError):
            return None

    return guarded


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    found = java_pattern(pattern).search(text)
    return found[group] if found else None


def _extract_all(text: str, pattern: str, group: int = 1) -> list[str | None]:
    return [found[group] for found in java_pattern(pattern).finditer(text)]


def _replace(text: str, pattern: str, new: str) -> str:
    return java_pattern(pattern).sub(lambda found: new, text)


def _instr(text: str, pattern: str) -> int:
    found = java_pattern(pattern).search(text)
    return found.start() + 1 if found else 0


def _url_part(url: str, part: str, key: str | None = None) -> str | None:
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError:
        return None
    if not found.scheme:
        return None
    if part == "QUERY" and key is not None:
        for each in found.query.split("&"):
            name, equals, value = each.partition("=")
            if equals and name == key:
                return value
        return None
    query = f"?{found.query}" if found.query else ""
    user, at, _ = found.netloc.rpartition("@")
    host = re.sub(r":\d*$", "", found.netloc.rpartition("@")[2]) if port else None
    return {
        "HOST": host or found.hostname,
        "PATH": found.path,
        "QUERY": found.query or None,
        "REF": found.fragment or None,
        "PROTOCOL": found.scheme,
        "AUTHORITY": found.netloc or None,
        "FILE": found.path + query,
        "USERINFO": user if at else None,
    }.get(part)


def _decoded(text: str) -> str | None:
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        return None


_TWO = ((TEXT, TEXT),)
_URL = "'http://u@host:80/p?x=1#R'"

REGULAR_EXPRESSIONS: tuple[FunctionDefinition, ...] = (
    string_function(
        "REGEXP",
        _TWO,
        always("BOOLEAN"),
        python(lambda text, pattern: bool(pattern and java_pattern(pattern).search(text))),
        "Whether a part of the text matches a regular expression of Java, an empty one: never.",
        ("REGEXP('abc', 'b')", "TRUE"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_REPLACE",
        ((TEXT, TEXT, TEXT),),
        always("STRING"),
        python(_replace),
        "The text with each match replaced; the new text is taken as it is.",
        ("REGEXP_REPLACE('foobar', 'oo|ar', '')", "fb"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_EXTRACT",
        ((TEXT, TEXT, "INT?"),),
        fixed("STRING"),
        python(_guarded(_extract)),
        "A group of the first match; 0 is all of it.",
        ("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2)", "bar"),
    ),
    string_function(
        "REGEXP_EXTRACT_ALL",
        ((TEXT, TEXT, "INT?"),),
        fixed("ARRAY<STRING>"),
        python(_guarded(_extract_all)),
        "A group of each match; 1 unless told.",
        ("REGEXP_EXTRACT_ALL('a1b2', '([a-z])([0-9])', 2)", "[1, 2]"),
    ),
    string_function(
        "REGEXP_COUNT",
        _TWO,
        fixed("INT"),
        python(_guarded(lambda text, pattern: len(list(java_pattern(pattern).finditer(text))))),
        "How many matches there are.",
        ("REGEXP_COUNT('aXbXc', 'X')", "2"),
    ),
    string_function(
        "REGEXP_INSTR",
        _TWO,
        fixed("INT"),
        python(_guarded(_instr)),
        "Where the first match is, from 1; 0: nowhere.",
        ("REGEXP_INSTR('abcabc', 'c')", "3"),
    ),
    string_function(
        "REGEXP_SUBSTR",
        _TWO,
        fixed("STRING"),
        python(_guarded(_extract)),
        "The first match.",
        ("REGEXP_SUBSTR('abc123', '[0-9]+')", "123"),
    ),
    string_function(
        "PARSE_URL",
        ((TEXT, TEXT, f"{TEXT}?"),),
        fixed("STRING"),
        python(_url_part),
        "HOST, PATH, QUERY (or a key of it), REF, PROTOCOL, AUTHORITY, FILE or USERINFO of a URL.",
        (f"PARSE_URL({_URL}, 'HOST')", "host"),
    ),
    string_function(
        "URL_ENCODE",
        ((TEXT,),),
        fixed("STRING"),
        python(lambda text: quote_plus(text, safe="*-._")),
        "The text as a form in a URL has it.",
        ("URL_ENCODE('a b&c')", "a+b%26c"),
    ),
    string_function(
        "URL_DECODE",
        ((TEXT,),),
        fixed("STRING"),
        python(_decoded),
        "The text of what URL_ENCODE made.",
        ("URL_DECODE('a+b%26c')", "a b&c"),
    ),
)
