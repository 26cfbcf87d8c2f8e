"""Patterns of Java find in Python what they find in Java."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.java_regex import PatternSyntaxError, java_pattern
from millrace.expressions.functions.sql_patterns import like_regex, similar_regex

FOUND = [
    (r"[a-z&&[^b]]", "abc", ["a", "c"]),
    (r"[a-d[m-p]]+", "bnxo", ["bn", "o"]),
    (r"[a-z&&[def]&&[^e]]", "defg", ["d", "f"]),
    (r"[]a]+", "a]b", ["a]"]),
    (r"[^\W\d]", "_5", ["_"]),
    (r"\Q[a]*\E+", "[a]**", ["[a]**"]),
    (r"(?iu)ä", "Ä", ["Ä"]),
    (r"(?i)ä", "Ä", []),
    (r"(?i)[^a]", "A", []),
    (r"x(?i)y|z", "xYZ", ["xY", "Z"]),
    (r"(?i:a)b", "AbAB", ["Ab"]),
    (r"(?x) a b # a comment", "ab", ["ab"]),
    (r"a*?b", "aab", ["aab"]),
    (r"a*+a", "aaa", []),
    (r"(?>a|ab)c", "abc", []),
    (r"a{2,3}+", "aaaa", ["aaa"]),
    (r"(?<y>\d{4})-\k<y>", "2024-2024", ["2024-2024"]),
    (r"(a)(b)?\2", "ab", []),
    (r"(a)\11", "aa1", ["aa1"]),
    (r"\2(a)", "a", []),
    (r"(?<=a|bc)d", "bcd ad d", ["d", "d"]),
    (r"(?<!a|bc)d", "bcd ad d", ["d"]),
    (r".", "\r", []),
    (r"(?s).", "\r", ["\r"]),
    (r"(?d).", "\r\n", ["\r"]),
    (r"a$", "a\r\n", ["a"]),
    (r"a\z", "a\n", []),
    (r"a\Z", "a\n", ["a"]),
    (r"(?m)^b$", "a\r\nb\r\nc", ["b"]),
    (r"\R", "\r\n\u2028", ["\r\n", "\u2028"]),
    (r"\h+\v", " \t\x0b", [" \t\x0b"]),
    (r"\d", "٣", []),
    (r"(?U)\d", "٣", ["٣"]),
    (r"\s", "\xa0\x0b", ["\x0b"]),
    (r"\p{Alpha}+\p{Punct}", "éab!", ["ab!"]),
    (r"\p{L}+", "été1", ["été"]),
    (r"\pL\p{Lu}\P{Lu}", "aBc", ["aBc"]),
    (r"\p{IsGreek}+", "xλω", ["λω"]),
    (r"\p{script=Cyrillic}", "aж", ["ж"]),
    (r"\p{gc=Nd}", "a1", ["1"]),
    (r"\p{javaLowerCase}", "Aa", ["a"]),
    (r"\p{IsAlphabetic}", "1é", ["é"]),
    (r"[\p{L}&&[^\p{Lu}]]", "Aa", ["a"]),
    (r"\x41\u0042\x{43}\0104\cA", "ABCD\x01", ["ABCD\x01"]),
    (r"\uD83D\uDE00", "😀", ["😀"]),
    (r"\N{DIGIT ONE}", "1", ["1"]),
    (r"a|b|", "ab", ["a", "b", ""]),
    (r"\bb", "éb b", ["b"]),
]
WRONG = [
    *("[", "(", ")", "*", "+a", "a{2,1}", "a{99999999999}", "a{,2}", "{", "\\", "a**", "(?z)"),
    *("[b-a]", r"\y", r"\k<n>", "(?<1>a)", "(?<n>a)(?<n>b)", "[[]x[]]", r"\xg"),
]


@pytest.mark.parametrize(("pattern", "text", "found"), FOUND, ids=[case[0] for case in FOUND])
def test_what_a_pattern_finds(pattern: str, text: str, found: list[str]) -> None:
    known = java_pattern(pattern)
    assert [each[0] for each in known.matches(text)] == found
    if known.linear is not None:
        assert pc.match_substring_regex(pa.array([text]), known.linear)[0].as_py() == bool(found)
    if known.replaces:
        made = pc.replace_substring_regex(pa.array([text]), known.linear, "-")[0].as_py()
        assert made == known.replaced(text, "-")


@pytest.mark.parametrize("pattern", WRONG)
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(PatternSyntaxError, match="is not a regular expression"):
        java_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\G", r"\X", r"\b{g}", r"(?<=a+)b", r"\p{InGreek}", "(" * 2000 + ")" * 2000]
)
def test_what_is_not_supported_is_told(pattern: str) -> None:
    with pytest.raises(EvaluationError, match="not supported|unsupported|too deeply"):
        java_pattern(pattern)


def test_a_search_that_would_not_end_goes_to_re2() -> None:
    linear = java_pattern("(a+)+$").linear
    assert linear is not None
    assert pc.match_substring_regex(pa.array(["a" * 5000 + "!"]), linear)[0].as_py() is False


def test_long_patterns_are_read_in_one_pass() -> None:
    letters = "".join(chr(200 + 2 * number) for number in range(20_000))
    assert java_pattern(f"[{letters}]").search("a" + letters[-1:])
    assert len(similar_regex("[" + "a" * 200_000 + "]")) == 200_002
    assert like_regex("a_" * 100_000).count("[^") == 100_000


@pytest.mark.parametrize(
    ("pattern", "limit", "parts"),
    [
        (",", 0, ["a", "b"]),
        (",", 2, ["a", "b,,"]),
        (",", -1, ["a", "b", "", ""]),
        ("", 0, ["a", ",", "b", ",", ","]),
        ("x", 0, ["a,b,,"]),
        (".", 0, []),
    ],
)
def test_parts_are_those_of_split(pattern: str, limit: int, parts: list[str]) -> None:
    assert java_pattern(pattern).split("a,b,,", limit) == parts
