"""JSON: paths, and what is said of wrong ones."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa
import pytest

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.json_paths import PathMissingError, walk
from millrace.expressions.resolved import ResolvedExpression


def test_a_path_leads_to_one_value_or_many() -> None:
    document = '{"a": [{"c": 1}, {"c": 2}, {}], "b.c": {"d": 3}}'
    assert walk(document, "$.a[1].c", json.loads) == 2
    assert walk(document, "lax $.a[*].c", json.loads) == [1, 2]
    assert walk(document, "$['b.c'].d", json.loads) == 3
    assert walk(document, "$..c", json.loads) == [1, 2]
    assert walk(document, "$.a[0, 1]", json.loads) == [{"c": 1}, {"c": 2}]
    assert walk(document, "$.no[*]", json.loads) == []


@pytest.mark.parametrize("path", ["$.no", "strict $.no", "$.null"])
def test_only_a_lax_path_may_lead_nowhere(path: str) -> None:
    document = '{"null": null}'
    with pytest.raises(PathMissingError):
        walk(document, path, json.loads)
    assert walk(document, f"lax $.{path.rpartition('.')[-1]}", json.loads) is None


def test_a_lax_path_forgives_a_text_that_is_no_json() -> None:
    assert walk("{bad", "lax $.a", json.loads) is None
    with pytest.raises(ValueError, match="Expecting"):
        walk("{bad", "$.a", json.loads)


@pytest.mark.parametrize("path", ["a", "$.a[", "$a"])
def test_a_wrong_path_is_shown(path: str) -> None:
    with pytest.raises(EvaluationError, match="JSON path"):
        walk("{}", path, json.loads)


def test_error_on_empty_fails(read: Callable[[str], ResolvedExpression]) -> None:
    call = read("""JSON_VALUE('{"a": 1}', 'lax $.b' ERROR ON EMPTY)""")
    with pytest.raises(EvaluationError, match="no scalar at"):
        compiled(call, RowType.of())(pa.record_batch({"v": [1]}))
