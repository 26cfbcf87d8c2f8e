"""Patterns, events and matches as Flink has them.

The cases are about what the examples of Flink's documentation and Flink's own tests of its matcher
are about. What each file says of Flink was put out by Flink's matcher. Its own notation is
explained in ``pattern_notation.py``; a line is::

    pattern ; events => match | match / what timed out @ when !! Flink's, where it differs
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pattern_notation import Found, found, pattern

from millrace.cep import MalformedPatternError

HERE = Path(__file__).parent
MOST_DIFFERENCES = 20


def lines(name: str) -> list[str]:
    """The cases of a file."""
    text = (HERE / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def read(text: str) -> Found:
    """What a case says was found."""
    matches, _, timed_out = text.partition("/")
    return Found(_split(matches), _split(timed_out))


def _split(text: str) -> list[str]:
    return sorted(part.strip() for part in text.split("|") if part.strip())


CASES = lines("flink_examples.txt")
DIFFERENCES = lines("flink_differences.txt")


@pytest.mark.parametrize("case", CASES)
def test_it_is_as_in_flink(case: str) -> None:
    question, wanted = case.split("=>")
    text, events = question.split(";")
    assert found(text.strip(), events.strip()) == read(wanted)


@pytest.mark.parametrize("case", DIFFERENCES)
def test_it_differs_as_said(case: str) -> None:
    """One that differs no more has to move to the other file."""
    question, answers = case.split("=>")
    ours, theirs = map(read, answers.split("!!"))
    text, events = question.split(";")
    assert found(text.strip(), events.strip()) == ours
    assert ours != theirs


def test_differences_stay_few() -> None:
    assert len(DIFFERENCES) <= MOST_DIFFERENCES < len(CASES) / 5


REFUSED = [
    "a+ greedy .. b?",
    "a ..! b",
    "a? ..! b .. c",
    "( a .. b ){2} greedy",
    "a greedy .. b",
    "a consecutive .. b",
    "a combinations .. b",
    "a{2} until:x .. b",
    "a+ until:x until:y .. b",
    "a .. b .. a",
    "a ..! b? .. c",
    "a{0} .. b",
    "a{3,2} .. b",
]


@pytest.mark.parametrize("text", REFUSED)
def test_it_is_refused_as_in_flink(text: str) -> None:
    with pytest.raises(MalformedPatternError):
        pattern(text).model()


def test_the_notation_says_what_it_means() -> None:
    """A pattern that is read wrong could agree with anything."""
    said = pattern("[to_last b] a .. b{2,}? consecutive greedy ... c gap:3 within:9")
    a, b, c = said.model().parts
    assert repr(said) == "Pattern.begin('a').followed_by('b').followed_by_any('c')"
    assert (b.quantifier.least, b.quantifier.most, b.quantifier.optional) == (2, None, True)
    assert (b.quantifier.inner.value, b.quantifier.greedy) == ("next", True)
    assert (a.window_time, c.window_time, said.model().within) == (None, 3, 9)
    assert repr(said.model().skip) == "AfterMatchSkipStrategy.skip_to_last('b')"
