"""Expressions give what Flink gives: types and texts that Flink 2.3 printed, in tables beside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from millrace.common.errors import MillraceError
from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.expressions.evaluation import compiled
from millrace.expressions.registry import functions, resolve_cast
from millrace.expressions.resolved import ResolvedExpression

CASES = [
    json.loads(line)
    for file in sorted(Path(__file__).parent.glob("flink_results*.jsonl"))
    for line in file.read_text("utf-8").splitlines()
]
"""Expression, type (or ERROR) and its text by ``CAST(... AS STRING)``."""
ONE_ROW = pa.record_batch({"v": [1]})


@pytest.mark.parametrize(("text", "kind", "shown"), CASES, ids=[case[0] for case in CASES])
def test_an_expression_has_flinks_type_and_value(
    text: str, kind: str, shown: str | None, read: Callable[[str], ResolvedExpression]
) -> None:
    if kind == "ERROR":
        with pytest.raises(MillraceError):
            evaluated(read(text))
        return
    expression = read(text)
    assert str(expression.output_type) == kind
    assert evaluated(expression) == shown


def evaluated(expression: ResolvedExpression) -> str | None:
    text = resolve_cast(expression, VarCharType())
    found: str | None = compiled(text, RowType.of())(ONE_ROW)[0].as_py()
    return found


EXAMPLES = [example for definition in functions() for example in definition.examples]


@pytest.mark.parametrize(("text", "shown"), EXAMPLES, ids=[text for text, _ in EXAMPLES])
def test_an_example_of_the_documentation_is_true(
    text: str, shown: str, read: Callable[[str], ResolvedExpression]
) -> None:
    assert evaluated(read(text)) == shown
