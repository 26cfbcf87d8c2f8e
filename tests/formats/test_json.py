"""JSON lines."""

import json
from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import SerializationError
from millrace.common.types import Row
from millrace.formats import JsonLinesEncoder, JsonLinesFormat

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(values, max_size=5))
def test_what_is_written_is_read(written: list) -> None:
    encoded = JsonLinesEncoder().encode_all(written)
    assert JsonLinesFormat().decode(encoded.splitlines(keepends=True)) == written


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (Row(a=1, b=Row(c=2)), '{"a": 1, "b": {"c": 2}}'),
        (Row(1, 2), "[1, 2]"),
        (datetime(2013, 1, 2, 3), '"2013-01-02T03:00:00"'),
        (date(2013, 1, 2), '"2013-01-02"'),
        (Decimal("1.50"), '"1.50"'),
        ("é\n", '"é\\n"'),
    ],
)
def test_forms_of_other_types(value: object, line: str) -> None:
    assert JsonLinesEncoder().encode(value).decode() == line + "\n"


def test_a_value_without_a_form_is_named() -> None:
    """With the path to it, in whatever it stands."""
    values = {
        "field 'a'": {"a": {1}},
        r"field 'a\.b\[1\]\.c'": {"z": 1, "a": {"b": (0, Row(c={1}))}},
        r"field '\[2\]'": [1, 2, {1}],
    }
    for where, value in values.items():
        with pytest.raises(SerializationError, match=f"{where} of the record .*: it is a set"):
            JsonLinesEncoder().encode_all([{"a": 1}, value])
    with pytest.raises(SerializationError, match="keys must be str"):
        JsonLinesEncoder().encode({("x", 1): 2})


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list = []
    value.append(value)
    with pytest.raises(SerializationError, match="contains itself"):
        JsonLinesEncoder().encode(value)


@pytest.mark.parametrize("line", ["{", "1,2", "{} {}", "nul", "[1"])
def test_a_broken_line_is_shown_and_never_glued_to_others(line: str) -> None:
    with pytest.raises(SerializationError) as error:
        JsonLinesFormat().decode([b"{}\n", f"{line}\n".encode(), b"2]\n"])
    assert line in str(error.value)
    with pytest.raises(json.JSONDecodeError):
        json.loads(line)


@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}, Row(a=-float("inf"))])
def test_json_has_no_nan(value: object) -> None:
    with pytest.raises(SerializationError, match=r"no form in JSON.*nan_as_null=True"):
        JsonLinesEncoder().encode_all([1, value])


def test_nan_can_be_written_as_null() -> None:
    nan = float("nan")
    encoder = JsonLinesEncoder(nan_as_null=True)
    lines = encoder.encode_all([{"a": nan, "b": [1.5, (nan,)]}, Row(x=nan), Row(1, nan), nan])
    assert lines == b'{"a": null, "b": [1.5, [null]]}\n{"x": null}\n[1, null]\nnull\n'
    with pytest.raises(SerializationError, match="no form in JSON"):
        encoder.encode({nan: 1})


@pytest.mark.parametrize("value", [10**5000, "\ud800"], ids=["long", "surrogate"])
def test_values_that_python_cannot_write_are_refused(value: object) -> None:
    with pytest.raises(SerializationError, match="no form in JSON"):
        JsonLinesEncoder().encode(value)


@pytest.mark.parametrize("nan_as_null", [False, True])
def test_a_record_that_is_nested_too_deeply_is_refused(nan_as_null) -> None:
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    encoder = JsonLinesEncoder(nan_as_null=nan_as_null)
    with pytest.raises(SerializationError, match="nested too deeply"):
        encoder.encode_all([{"ok": 1}, deep])
