"""JSON: paths, and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.json_paths import PathMissingError, walk
from millrace.expressions.resolved import ResolvedExpression


def test_a_path_leads_to_one_value_or_many() -> None:
    document = {"a": [{"c": 1}, {"c": 2}, {}], "b.c": {"d": 3}}
    assert walk(document, "$.a[1].c") == (False, [2])
    assert walk(document, "lax $.a[*].c") == (True, [1, 2])
    assert walk(document, "$['b.c'].d") == (False, [3])
    assert walk(document, "$..c") == (True, [1, 2])
    assert walk(document, "$.no") == (False, [])
    with pytest.raises(PathMissingError):
        walk(document, "strict $.no")


@pytest.mark.parametrize("path", ["a", "$.a[", "$a"])
def test_a_wrong_path_is_shown(path: str) -> None:
    with pytest.raises(EvaluationError, match="JSON path"):
        walk({}, path)


def test_error_on_empty_fails(read: Callable[[str], ResolvedExpression]) -> None:
    call = read("""JSON_VALUE('{"a": 1}', 'lax $.b' ERROR ON EMPTY)""")
    with pytest.raises(EvaluationError, match="nothing at"):
        compiled(call, RowType.of())(pa.record_batch({"v": [1]}))
