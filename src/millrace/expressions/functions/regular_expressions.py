"""Functions for texts that use Java's regular expressions, and functions for URLs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from millrace.expressions.columns import CallSite, Datum, is_scalar, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.functions.java_pattern import JavaPattern
from millrace.expressions.functions.java_regex import PatternSyntaxError, java_pattern
from millrace.expressions.functions.pattern_columns import (
    by_pattern,
    count_in,
    find_all_in,
    find_in,
    has_match,
    place_in,
    replaced_in,
)
from millrace.expressions.functions.strings import TEXT, Kernel, python, string_function
from millrace.expressions.functions.utf16 import code_units
from millrace.expressions.result_types import always, fixed, where_sure

__all__ = ["REGULAR_EXPRESSIONS"]

_WRONG_PERCENT = re.compile("%(?![0-9a-fA-F]{2})")


@dataclass(frozen=True, slots=True)
class _Search:
    """A function's search for a pattern, in two forms: for whole columns and for single texts.

    Attributes:
        in_column: search of an array of texts by RE2; None where RE2 cannot decide.
        in_text: search of one text by Python.
        unfound: result for a text without a match.
        wrong: result for a text if the pattern or the group number is invalid.
    """

    in_column: Callable[[JavaPattern, Any], Any]
    in_text: Callable[[JavaPattern, str], Any]
    unfound: Callable[[str], Any]
    wrong: Any = None

    def made(self, arrow: Any, pattern: str, texts: Any) -> Any:
        """Array with the result for each text."""
        if texts.null_count == len(texts):
            return pa.nulls(len(texts), arrow)
        try:
            known = java_pattern(pattern)
        except PatternSyntaxError:
            return per_value(lambda text: self.wrong, arrow, texts)
        column = self.in_column(known, texts)
        return self._one_by_one(known, texts, arrow) if column is None else column

    def _one_by_one(self, known: JavaPattern, texts: Any, arrow: Any) -> Any:
        there = has_match(known, texts)
        if there is None:
            return per_value(lambda text: self.in_text(known, text), arrow, texts)

        def value(text: str, is_there: bool) -> Any:
            return self.in_text(known, text) if is_there else self.unfound(text)

        return per_value(value, arrow, texts, there)


def _searched(site: CallSite, text: Datum, pattern: Datum, search: _Search) -> Datum:
    return by_pattern(partial(search.made, site.arrow), text, pattern, site.arrow)


_HAS = _Search(
    has_match,
    lambda known, text: known.search(text) is not None,
    lambda text: False,
    wrong=False,
)


def _regexp(site: CallSite, text: Datum, pattern: Datum) -> Datum:
    matching = _searched(site, text, pattern, _HAS)
    if is_scalar(pattern) and pattern.as_py() != "":
        return matching
    return pc.if_else(pc.equal(pattern, ""), pc.and_(matching, pa.scalar(False)), matching)


def _replace(site: CallSite, text: Datum, pattern: Datum, new: Datum) -> Datum:
    if not is_scalar(new):
        return per_value(_replaced, site.arrow, text, pattern, new)
    if not new.is_valid:
        return pa.scalar(None, site.arrow)
    kept = new.as_py()
    search = _Search(
        lambda known, texts: replaced_in(known, texts, kept),
        lambda known, text: known.replaced(text, kept),
        lambda text: text,
    )
    return _searched(site, text, pattern, search)


def _is_pattern(text: Any) -> bool:
    try:
        return isinstance(text, str) and bool(java_pattern(text))
    except EvaluationError:  # which tells what is not supported, when there is a text
        return False


def _replaced(text: str, pattern: str, new: str) -> str | None:
    try:
        return java_pattern(pattern).replaced(text, new)
    except PatternSyntaxError:
        return None


def _of_group(search: Callable[[int], _Search], default: int) -> Kernel:
    """Kernel of a function that takes a group number."""

    def kernel(site: CallSite, text: Datum, pattern: Datum, group: Datum | None = None) -> Datum:
        if group is None:
            return _searched(site, text, pattern, search(default))
        if is_scalar(group):
            if not group.is_valid:
                return pa.scalar(None, site.arrow)
            return _searched(site, text, pattern, search(group.as_py()))

        def one(text: str, pattern: str, number: int) -> Any:
            return search(number).made(site.arrow, pattern, pa.array([text]))[0].as_py()

        return per_value(one, site.arrow, text, pattern, group)

    return kernel


def _first(group: int) -> _Search:
    def in_column(known: JavaPattern, texts: Any) -> Any:
        if not _has_group(known, group):
            return pa.nulls(len(texts), pa.string())
        return find_in(known, texts, group)

    def in_text(known: JavaPattern, text: str) -> str | None:
        match = known.search(text)
        return match and match[group]

    return _Search(in_column, in_text, lambda text: None)


def _every(group: int) -> _Search:
    def in_column(known: JavaPattern, texts: Any) -> Any:
        if not _has_group(known, group):
            return pa.nulls(len(texts), pa.list_(pa.string()))
        return find_all_in(known, texts, group)

    def in_text(known: JavaPattern, text: str) -> list[str | None]:
        return [match[group] for match in known.matches(text)]

    return _Search(in_column, in_text, lambda text: [])


def _has_group(known: JavaPattern, group: int) -> bool:
    return 0 <= group <= known.compiled.groups


_COUNT = _Search(count_in, lambda known, text: sum(1 for _ in known.matches(text)), lambda text: 0)


def _begin(known: JavaPattern, text: str) -> int:
    match = known.search(text)
    return code_units(text[: match.start()]) + 1 if match else 0


_PLACE = _Search(place_in, _begin, lambda text: 0)


def _kernel(search: _Search) -> Kernel:
    return lambda site, text, pattern: _searched(site, text, pattern, search)


def _url_part(url: str, part: str, key: str | None = None) -> str | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if not parts.scheme:
        return None
    if part == "QUERY" and key is not None:
        for parameter in parts.query.split("&"):
            name, equals, value = parameter.partition("=")
            if equals and name == key:
                return value
        return None
    query = f"?{parts.query}" if parts.query else ""
    user, at, _ = parts.netloc.rpartition("@")
    host = re.sub(r":\d*$", "", parts.netloc.rpartition("@")[2]) if port else None
    return {
        "HOST": host or parts.hostname,
        "PATH": parts.path,
        "QUERY": parts.query or None,
        "REF": parts.fragment or None,
        "PROTOCOL": parts.scheme,
        "AUTHORITY": parts.netloc or None,
        "FILE": parts.path + query,
        "USERINFO": user if at else None,
    }.get(part)


def _decoded(text: str) -> str | None:
    """The decoded text, as by ``URLDecoder``: bytes that are not UTF-8 become U+FFFD, and a
    wrong % is an error."""
    return None if _WRONG_PERCENT.search(text) else unquote_plus(text, errors="replace")


_TWO = ((TEXT, TEXT),)
_URL = "'http://u@host:80/p?x=1#R'"

REGULAR_EXPRESSIONS: tuple[FunctionDefinition, ...] = (
    string_function(
        "REGEXP",
        _TWO,
        always("BOOLEAN"),
        _regexp,
        "Whether a part of the text matches a regular expression of Java; FALSE if the "
        "expression is empty or invalid.",
        ("REGEXP('abc', 'b')", "TRUE"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_REPLACE",
        ((TEXT, TEXT, TEXT),),
        where_sure("STRING", _is_pattern, position=1),
        _replace,
        "The text with each match replaced by a text, which is inserted literally. NULL if "
        "the regular expression is invalid.",
        ("REGEXP_REPLACE('foobar', 'oo|ar', '')", "fb"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_EXTRACT",
        ((TEXT, TEXT, "INT?"),),
        fixed("STRING"),
        _of_group(_first, 0),
        "A group of the first match; 0 is the whole match.",
        ("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2)", "bar"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_EXTRACT_ALL",
        ((TEXT, TEXT, "INT?"),),
        fixed("ARRAY<STRING>"),
        _of_group(_every, 1),
        "A group of each match, by default group 1.",
        ("REGEXP_EXTRACT_ALL('a1b2', '([a-z])([0-9])', 2)", "[1, 2]"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_COUNT",
        _TWO,
        fixed("INT"),
        _kernel(_COUNT),
        "Number of matches.",
        ("REGEXP_COUNT('aXbXc', 'X')", "2"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_INSTR",
        _TWO,
        fixed("INT"),
        _kernel(_PLACE),
        "Position of the first match, from 1; 0 if there is none.",
        ("REGEXP_INSTR('abcabc', 'c')", "3"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_SUBSTR",
        _TWO,
        fixed("STRING"),
        _kernel(_first(0)),
        "The first match.",
        ("REGEXP_SUBSTR('abc123', '[0-9]+')", "123"),
        may_fail=True,
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
        "The text in URL encoding.",
        ("URL_ENCODE('a b&c')", "a+b%26c"),
    ),
    string_function(
        "URL_DECODE",
        ((TEXT,),),
        fixed("STRING"),
        python(_decoded),
        "The text decoded from URL encoding.",
        ("URL_DECODE('a+b%26c')", "a b&c"),
    ),
)
