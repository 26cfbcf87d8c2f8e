"""RE2 finds in columns what Python, and Java, find in each text, and needs no more time for one
text than for another."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.common.types.logical.parser import parse_type
from millrace.expressions import registry
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.java_pattern import JavaPattern
from millrace.expressions.functions.java_regex import java_pattern
from millrace.expressions.functions.pattern_columns import (
    by_pattern,
    count_in,
    find_all_in,
    find_in,
    has_match,
    place_in,
    replaced_in,
)
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference, ValueLiteral

ATOMS = (
    *("a", "b", "é", ".", r"\d", "[ab]", "[^a]", r"\s", "^", "$", r"\R", "😀", "(?i)a", r"\Qb\E"),
    *(r"\A", r"\n", r"\r"),
)
SIGNS = ("*", "+", "?", "*?", "+?", "??", "{1,2}", "{0,2}", "{2}")


def drawn(random: Random, depth: int = 0) -> str:
    """A pattern."""
    kind = random.random()
    if depth > 3 or kind < 0.3:
        return random.choice(ATOMS)
    part = drawn(random, depth + 1)
    if kind < 0.55:
        return part + drawn(random, depth + 1)
    if kind < 0.7:
        return f"({part})"
    if kind < 0.85:
        both = f"{part}|{drawn(random, depth + 1)}"
        return both if kind < 0.75 else f"(?:{both})"
    return random.choice(("(?:{})", "({})")).format(part) + random.choice(SIGNS)


def in_each_text(known: JavaPattern, text: str) -> list[Any]:
    """What Python finds: all that `in_the_column` gives."""
    first, every = known.search(text), list(known.matches(text))
    groups = range(known.compiled.groups + 1)
    return [
        first is not None,
        known.replaced(text, r"-\1"),
        len(every),
        sum(1 + (c > "\uffff") for c in text[: first.start()]) + 1 if first else 0,
        *(first and first[group] for group in groups),
        *([found[group] for found in every] for group in groups),
    ]


def in_the_column(known: JavaPattern, texts: Any) -> list[Any]:
    """What RE2 finds; None of what it cannot say."""
    groups = range(known.compiled.groups + 1)
    return [
        has_match(known, texts),
        replaced_in(known, texts, r"-\1"),
        count_in(known, texts),
        place_in(known, texts),
        *(find_in(known, texts, group) for group in groups),
        *(find_all_in(known, texts, group) for group in groups),
    ]


def test_a_column_has_what_each_text_has() -> None:
    random, told = Random(1), 0
    for _ in range(300):
        pattern = drawn(random)
        try:
            known = java_pattern(pattern)
        except EvaluationError:
            continue
        texts = ["".join(random.choices("abé1 \n\r😀", k=random.randrange(8))) for _ in range(4)]
        wanted = [in_each_text(known, text) for text in texts]
        for place, made in enumerate(in_the_column(known, pa.array([*texts, None]))):
            if made is not None:
                told += 1
                assert made.to_pylist() == [*(one[place] for one in wanted), None], pattern
    assert told > 1_000


def test_patterns_of_a_column_are_taken_one_by_one() -> None:
    taken: list[tuple[str, list[str | None]]] = []

    def column(pattern: str, texts: Any) -> Any:
        taken.append((pattern, texts.to_pylist()))
        return pa.array([text and f"{pattern}{text}" for text in texts.to_pylist()], pa.string())

    texts, patterns = pa.array(["1", "2", None, "4", "5"]), pa.array(["x", "y", "x", None, "x"])
    made = by_pattern(column, texts, patterns, pa.string())
    assert made.to_pylist() == ["x1", "y2", None, None, "x5"]
    assert taken == [("x", ["1", None, "5"]), ("y", ["2"])]
    assert by_pattern(column, pa.scalar("1"), patterns, pa.string()).to_pylist()[1] == "y1"
    assert by_pattern(column, pa.scalar("1"), pa.scalar("y"), pa.string()).as_py() == "y1"
    assert not by_pattern(column, texts, pa.scalar(None, pa.string()), pa.string()).is_valid


TEXT = VarCharType()
LONG = "a" * 5_000 + "!"
HOSTILE = [
    ("REGEXP", "(a+)+$", False),
    ("REGEXP", "(a*)*b", False),
    ("REGEXP_EXTRACT", "((a+)+)$", None),
    ("REGEXP_EXTRACT", "(a|a)*b|!", "!"),
    ("REGEXP_EXTRACT_ALL", "(a+)+(b)", []),
    ("REGEXP_EXTRACT_ALL", "(a|aa)+b|(!)", [None]),
    ("REGEXP_COUNT", "(a+)+b|!", 1),
    ("REGEXP_INSTR", "(a+)+b|!", 5_001),
    ("REGEXP_SUBSTR", "(a+)+b|!", "!"),
    ("LIKE", "%a%a%a%a%a%a_b", False),
    ("SIMILAR TO", "(a+)+b", False),
]


@pytest.mark.parametrize("of_a_column", [False, True], ids=["constant", "column"])
@pytest.mark.parametrize(("name", "pattern", "found"), HOSTILE, ids=[c[0] + c[1] for c in HOSTILE])
def test_a_pattern_that_python_would_never_end_with(
    name: str, pattern: str, found: Any, of_a_column: bool
) -> None:
    sought = FieldReference(1, TEXT, "p") if of_a_column else ValueLiteral(pattern, TEXT)
    call = resolve_call(registry.function(name), (FieldReference(0, TEXT, "t"), sought))
    rows = RowType.of(("t", TEXT), ("p", TEXT))
    made = compiled(call, rows)(pa.record_batch({"t": [LONG], "p": [pattern]}))
    assert made.to_pylist() == [found]


@pytest.mark.parametrize(
    ("name", "constants", "kind"),
    [
        ("REGEXP_REPLACE", ("a", "b", "c"), "STRING NOT NULL"),
        ("REGEXP_REPLACE", ("a", "(", "c"), "STRING"),
        ("REGEXP_REPLACE", ("a", "b|\ud800", "c"), "STRING"),  # which is evaluated as b|?
        ("REGEXP_REPLACE", ("a", None, "c"), "STRING"),
        ("FROM_BASE64", ("YQ==",), "STRING NOT NULL"),
        ("FROM_BASE64", ("?",), "STRING"),
        ("FROM_BASE64", (None,), "STRING"),
    ],
)
def test_what_may_be_null_says_so(name: str, constants: tuple[str | None, ...], kind: str) -> None:
    text = parse_type("STRING NOT NULL")
    arguments = tuple(
        FieldReference(0, text, "t") if each is None else ValueLiteral(each, text)
        for each in constants
    )
    assert str(resolve_call(registry.function(name), arguments).output_type) == kind


@pytest.mark.parametrize("different", [1, 3, 4_000])
def test_texts_that_repeat_have_what_each_of_them_has(different: int) -> None:
    """Each different text is searched once where many repeat, which decides nothing."""
    texts = pa.array([None if i % 5 == 0 else f"a{i % different} b{i % 2}" for i in range(4_000)])
    known = java_pattern("a([0-9]+)")
    wanted = [text and text[1:].split()[0] for text in texts.to_pylist()]
    assert find_in(known, texts, 1).to_pylist() == wanted
    found = find_all_in(known, texts, 1).to_pylist()
    assert found == [None if text is None else [text] for text in wanted]
