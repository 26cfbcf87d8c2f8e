"""JSON: paths, and what is said of wrong ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial

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
    assert walk(document, "lax $.no[*]", json.loads) == []


@pytest.mark.parametrize("path", ["$.no", "strict $.no", "$.null"])
def test_only_a_lax_path_may_lead_nowhere(path: str) -> None:
    document = '{"null": null}'
    with pytest.raises(PathMissingError):
        walk(document, path, json.loads)
    assert walk(document, f"lax $.{path.rpartition('.')[-1]}", json.loads) is None


def test_a_path_that_leads_to_the_same_in_many_ways_is_refused() -> None:
    with pytest.raises(EvaluationError, match="more than 100,000 values"):
        walk("[" * 300 + "]" * 300, "lax $..*..*..*..*", json.loads)


def test_a_lax_path_forgives_a_text_that_is_no_json() -> None:
    assert walk("{bad", "lax $.a", json.loads) is None
    with pytest.raises(ValueError, match="Expecting"):
        walk("{bad", "$.a", json.loads)


@pytest.mark.parametrize(
    "path", ["$.a[", "$a", "$.", "$..", "", "$.a[?(@.b]", "$[?(1 ~ 2)]", "$[:]"]
)
def test_a_wrong_path_is_shown(path: str) -> None:
    with pytest.raises(EvaluationError, match="JSON path"):
        walk("{}", path, json.loads)


def test_error_on_empty_fails(read: Callable[[str], ResolvedExpression]) -> None:
    call = read("""JSON_VALUE('{"a": 1}', 'lax $.b' ERROR ON EMPTY)""")
    with pytest.raises(EvaluationError, match="no scalar at"):
        compiled(call, RowType.of())(pa.record_batch({"v": [1]}))


STORE = """{"book": [
    {"title": "a", "price": 8.95, "tags": ["x", "y"], "isbn": "1"},
    {"title": "b", "price": 12.99, "tags": []},
    {"title": "c d", "price": 22, "isbn": "3"}
], "bicycle": {"price": 19.95}, "limit": 10, "n": [1, "x", null, 2, "2"]}"""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("limit", 10),
        ("$.book[-1].title", "c d"),
        ("$['bicycle','limit']", {"bicycle": {"price": 19.95}, "limit": 10}),
        ("$.book[*]['title','isbn']", [
            {"title": "a", "isbn": "1"}, {"title": "b"}, {"title": "c d", "isbn": "3"},
        ]),
        ("$.book[1:].title", ["b", "c d"]),
        ("$.book[:-1].title", ["a", "b"]),
        ("$.book[-2:].title", ["b", "c d"]),
        ("$.book[0:9].title", ["a", "b", "c d"]),
        ("$.book[1:-1].title", []),
        ("$..price", [8.95, 12.99, 22, 19.95]),
        ("$..book[0].title", ["a"]),
        ("$..[0]", [{"title": "a", "price": 8.95, "tags": ["x", "y"], "isbn": "1"}, "x", 1]),
        ("$.book[?(@.isbn)].title", ["a", "c d"]),
        ("$.book[?(!@.isbn)].title", ["b"]),
        ("$.book[?(@.price < $.limit)].title", ["a"]),
        ("$.book[?(@.price > 10 && @.price <= 22)].title", ["b", "c d"]),
        ("$.book[?(@.price < 9 || (@.title == 'c d'))].title", ["a", "c d"]),
        ("$.book[?(@.title =~ /C.*/i)].title", ["c d"]),
        ("$.book[?(@.title in ['a', 'b'])].title", ["a", "b"]),
        ('$.book[?(@.title nin ["a"])].title', ["b", "c d"]),
        ("$.book[?('x' in @.tags)].title", ["a"]),
        ("$.book[?(@.tags contains 'y')].title", ["a"]),
        ("$.book[?(@.tags size 2)].title", ["a"]),
        ("$.book[?(@.tags empty true)].title", ["b"]),
        ("$.book[?(@.isbn != '1')].title", ["b", "c d"]),
        ("$..[?(@.price == 19.95)]", [{"price": 19.95}]),
        ("$.n[?(@ == 2)]", [2, "2"]),
        ("$.n[?(@ == null)]", [None]),
        ("$.n[?(@ >= 'x')]", ["x"]),
        ("$.book.length()", 3),
        ("$.n.sum()", 3.0),
        ("$..price.max()", 22.0),
        ("$.bicycle.keys()", ["price"]),
        ("$.bicycle.*", [19.95]),
    ],
)  # fmt: skip
def test_paths_are_those_of_jayway(path: str, value: object) -> None:
    """Numbers with a point are decimals, as those of JSON functions."""
    found = walk(STORE, path, partial(json.loads, parse_float=Decimal))
    assert json.dumps(found, default=float) == json.dumps(value)


@pytest.mark.parametrize("path", ["$.no[*]", "$.limit[0]", "$.limit[?(@.a)]", "$.n.a", "$.n[9]"])
def test_the_definite_beginning_of_a_strict_path_leads_somewhere(path: str) -> None:
    with pytest.raises(PathMissingError):
        walk(STORE, path, json.loads)
    assert not walk(STORE, f"lax {path}", json.loads)


def value_of(read: Callable[[str], ResolvedExpression], text: str) -> object:
    found = compiled(read(text), RowType.of())(pa.record_batch({"v": [1]}))
    return found[0].as_py() if isinstance(found, pa.Array) else found.as_py()


DEEP = "[" * 990 + "]" * 990
TOO_DEEP = "[" * 1_001 + "]" * 1_001


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (f"'{DEEP}' IS JSON", True),
        (f"'{TOO_DEEP}' IS JSON", False),
        (f"JSON_QUERY('{DEEP}', '$')", DEEP),
        (f"JSON_QUERY('{TOO_DEEP}', '$' NULL ON ERROR)", None),
        (f"JSON_EXISTS('{DEEP}', '$..a')", True),
        (f"JSON_VALUE('{TOO_DEEP}', '$.a' DEFAULT 'e' ON ERROR)", "e"),
        ("JSON_VALUE('{}', 'lax $.a' DEFAULT 7 ON EMPTY)", "7"),
        ("JSON_VALUE('{}', 'lax $.a' DEFAULT TRUE ON EMPTY)", "true"),
        ("JSON_VALUE('{}', 'lax $.a' RETURNING DOUBLE DEFAULT 7 ON EMPTY)", 7.0),
        ("JSON_VALUE('{}', 'lax $.a' RETURNING INTEGER DEFAULT -7 ON EMPTY)", -7),
        ("""JSON_VALUE('{"a":1E999999999}', '$.a' RETURNING INTEGER)""", None),
        ("""JSON_VALUE('{"a":1E999999999}', '$.a')""", "1E+999999999"),
        ("""JSON_VALUE('{"a":1E99999999999999999999}', '$.a' DEFAULT 'e' ON ERROR)""", "e"),
        ("""JSON_VALUE('{"a":1E-999999999}', '$.a' RETURNING INTEGER)""", 0),
        ("""JSON_VALUE('{"a":2147483648}', '$.a' RETURNING INTEGER DEFAULT 7 ON ERROR)""", 7),
        ("""JSON_VALUE('{"a":"1E99"}', '$.a' RETURNING INTEGER DEFAULT 7 ON ERROR)""", 7),
        ("""JSON_VALUE('{"a":1e999}', '$.a' RETURNING DOUBLE)""", None),
        ("""JSON_VALUE('{"a":"1_0"}', '$.a' RETURNING INTEGER)""", None),
        ("""JSON_VALUE('{"a":"\\ud83d"}', '$.a')""", "?"),
        ("""JSON_QUERY('{"\\ud83d":["\\ud83d"]}', '$')""", '{"?":["?"]}'),
        ("""JSON_QUERY('{"a":["\\u001f"]}', '$.a')""", '["\\u001F"]'),
        ("""JSON_QUERY('["\\ud83d", 1.50, true, [1]]', '$' RETURNING ARRAY<STRING>)""",
         ["?", "1.50", "true", "[1]"]),
        ("""JSON_QUERY('{"a": 1}', '$' RETURNING ARRAY<STRING> EMPTY ARRAY ON ERROR)""", []),
        ("""JSON_OBJECT(KEY 'K' VALUE JSON(''))""", '{"K":null}'),
        ("""JSON_ARRAY(JSON('  '))""", "[]"),
        ("""JSON_UNQUOTE('"["abc"]"')""", '["abc"]'),
        ("""JSON_UNQUOTE('"a\\u0041\\n\\/"')""", "aA\n/"),
        ("""JSON_UNQUOTE('"\\ud83d\\ude00\\ud83d"')""", "\U0001f600?"),
        ("""JSON_UNQUOTE('"')""", '"'),
        ("""JSON_UNQUOTE('"\\x"')""", '"\\x"'),
        ("""JSON_QUERY('{"b": [1, "x"]}', '$.b[?(@ == 1)]')""", "[1]"),
        ("""JSON_EXISTS('{"b": [1]}', '$.b[?(@ == 1)]')""", True),
        ("""JSON_QUERY('{"a": {"k": 1}, "a": {"k": 2, "k": 3}}', '$.a')""", '{"k":3}'),
    ],
    ids=range(33),
)  # fmt: skip
def test_hostile_documents_have_a_value(
    read: Callable[[str], ResolvedExpression], call: str, value: object
) -> None:
    """Or NULL, at once."""
    assert value_of(read, call) == value


def test_members_are_sorted_as_in_java(read: Callable[[str], ResolvedExpression]) -> None:
    """By units of 16 bits: a character beyond the first plane comes before U+FFFD."""
    call = """JSON_QUERY('{"\ufffd": 1, "\U0001f600": 2, "a": 3}', '$')"""
    assert value_of(read, call) == '{"a":3,"\U0001f600":2,"\ufffd":1}'
