"""Conditions as JSON: what they mean, and what is refused."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.cep import Pattern
from millrace.cep.rules import RuleError, field_condition
from millrace.cep.rules.condition_form import written_condition
from millrace.common.functions.pattern_conditions import IterativeCondition, all_of, condition_of
from millrace.common.types import Row
from millrace.runtime.cep.inspectable_condition import equalities, without_context
from millrace.runtime.cep.pattern_model import Event


class Taken(IterativeCondition.Context):
    def __init__(self, **events: list[Any]) -> None:
        self.events = events

    def get_events_for_pattern(self, name: str) -> list[Any]:
        return self.events.get(name, [])

    def timestamp(self) -> int:
        return 0

    def current_processing_time(self) -> int:
        return 0


SMALL = {"field": "amount", "op": "<", "value": 10}


def holds(form: dict[str, Any], event: Any, **taken: list[Any]) -> bool:
    return bool(field_condition(form).with_context()(event, Taken(**taken)))


Named = namedtuple("Named", ["amount"])


@dataclass
class Charge:
    amount: Any

    @property
    def secret(self) -> int:
        raise AssertionError("a property is code")


class Plain:
    def __init__(self, amount: Any) -> None:
        self.amount = amount


class Slotted:
    __slots__ = ("amount",)

    def __init__(self, amount: Any) -> None:
        self.amount = amount


@pytest.mark.parametrize(
    ("op", "value", "true", "false"),
    [
        ("==", 5, [5, 5.0], [4, "5", None]),
        ("!=", 5, [4, "5"], [5, None]),
        ("<", 5, [4, -1.5], [5, 6, "4", None, float("nan")]),
        ("<=", 5, [5], [6, None]),
        (">", "b", ["c"], ["b", 7, None]),
        (">=", "b", ["b"], ["a", None]),
        ("in", [1, "x"], [1, "x"], [2, None, [1]]),
        ("not in", [1, "x"], [2, "y"], [1, None, [2]]),
        ("between", [3, 5], [3, 5], [2, 6, "4", None]),
        ("is null", ..., [None], [0, ""]),
        ("is not null", ..., [0, ""], [None]),
        ("starts with", "eu-", ["eu-1"], ["us-1", 5, None]),
        ("ends with", "-1", ["eu-1"], ["eu-2", None]),
        ("contains", "u-", ["eu-1"], ["x", ["u-"], None]),
    ],
)
def test_operators(op: str, value: Any, true: list[Any], false: list[Any]) -> None:
    form = {"field": "amount", "op": op} | ({} if value is ... else {"value": value})
    for amount in true:
        assert holds(form, {"amount": amount}), amount
        assert not holds({"not": form}, {"amount": amount}), amount
    for amount in false:
        assert not holds(form, {"amount": amount}), amount
    if None in false:
        assert not any(holds(form, event) for event in ({}, "no object at all"))


@pytest.mark.parametrize(
    "event", [{"amount": 5}, Named(5), Charge(5), Plain(5), Slotted(5), Row(amount=5)]
)
def test_fields_by_name(event: Any) -> None:
    assert holds({"field": "amount", "op": "==", "value": 5}, event)
    assert holds({"field": ["amount"], "op": "==", "value": 5}, event)
    for name in ("secret", "__class__", "__init__", "keys", "count", "_fields"):
        assert holds({"field": name, "op": "is null"}, event)


def test_fields_by_position_inside_and_of_plain_events() -> None:
    assert holds({"field": 1, "op": "==", "value": 5}, ("a", 5))
    assert holds({"field": 7, "op": "is null"}, ("a", 5))
    assert holds({"field": ["card", "country"], "op": "==", "value": "PT"},
                 {"card": {"country": "PT"}})  # fmt: skip
    assert holds({"field": ["card", "country"], "op": "is null"}, {"card": 3})
    assert holds({"field": [], "op": "<", "value": 9}, 5)


def test_and_or_not_and_types() -> None:
    small = {"field": "amount", "op": "<", "value": 10}
    euro = {"field": "currency", "op": "==", "value": "EUR"}
    assert holds({"and": [small, euro]}, {"amount": 5, "currency": "EUR"})
    assert not holds({"and": [small, euro]}, {"amount": 50, "currency": "EUR"})
    assert holds({"or": [small, euro]}, {"amount": 50, "currency": "EUR"})
    assert holds({"or": [small, euro]}, {"amount": "50", "currency": "EUR"})
    assert not holds({"or": [small, {"not": euro}]}, {"amount": 50, "currency": "EUR"})
    assert holds({"type": "Charge"}, Charge(3))
    assert not holds({"type": "Charge"}, Plain(3))


def test_events_already_matched() -> None:
    small = [{"amount": 3, "country": "PT"}, {"amount": 5, "country": "ES"}, {"country": "FR"}]

    def about(which: str, op: str, value: Any) -> bool:
        left = {"field": "amount", "of": "small", "event": which}
        return holds({"left": left, "op": op, "value": value}, {}, small=small)

    other = {"field": "country", "op": "!=", "value": {"field": "country", "of": "small"}}
    assert holds(other, {"country": "PT"}, small=small)
    assert not holds(other, {"country": "FR"}, small=small)
    assert not holds(other, {"country": "PT"})
    assert about("first", "==", 3)
    assert not about("last", "==", 3)
    assert about("sum", "==", 8)
    assert about("avg", "==", 4)
    assert about("min", "==", 3)
    assert about("max", "==", 5)
    count = {"of": "small", "event": "count", "op": "==", "value": 3}
    assert holds(count, {}, small=small)


def test_arithmetic() -> None:
    ten_times = {"*": [{"field": "amount", "of": "small"}, 10]}
    form = {"field": "amount", "op": ">", "value": ten_times}
    assert holds(form, {"amount": 51}, small=[{"amount": 5}])
    assert not holds(form, {"amount": 50}, small=[{"amount": 5}])
    assert not holds(form, {"amount": 50}, small=[{"amount": "5"}])
    half = {"left": {"/": [{"field": "a"}, {"field": "b"}]}, "op": "==", "value": 0.5}
    assert holds(half, {"a": 1, "b": 2})
    assert not holds(half, {"a": 1, "b": 0})
    assert not holds({"left": {"+": [{"field": "a"}, 1]}, "op": "is not null"}, {"a": "x"})


class Undecided:
    """As an array is: what comparing it gives is neither true nor false."""

    def __eq__(self, other: object) -> Any:
        return self

    __ne__ = __lt__ = __gt__ = __eq__
    __hash__ = None

    def __bool__(self) -> bool:
        raise ValueError("the truth of this is ambiguous")


@pytest.mark.parametrize("op", ["==", "!=", "<", ">", "in", "not in"])
def test_what_is_neither_true_nor_false_is_false(op: str) -> None:
    form = {"field": "amount", "op": op, "value": [1] if "in" in op else 1}
    condition = field_condition(form)
    for amount in (Undecided(), np.array([1, 2])):
        assert condition.call({"amount": amount}) is False
    joined = field_condition({"or": [form, {"field": "amount", "op": "is not null"}]})
    assert joined.call({"amount": Undecided()}) is True


def test_arithmetic_of_all_kinds_of_numbers() -> None:
    form = {"left": {"*": [{"field": "a"}, 1.5]}, "op": "==", "value": 3}
    for two in (2, 2.0, Decimal(2), np.int64(2), np.float32(2), Fraction(2)):
        assert holds(form, {"a": two}), repr(two)
    tenth = {"left": {"+": [0.1, {"field": "a"}]}, "op": "==", "value": {"field": "b"}}
    assert holds(tenth, {"a": Decimal("0.2"), "b": Decimal("0.3")})
    parts = {"left": {"/": [{"field": "a"}, {"field": "b"}]}, "op": "is not null"}
    for nothing in (0, 0.0, Decimal(0), np.int64(0), np.float64(0)):
        assert not holds(parts, {"a": np.int64(3), "b": nothing})
    for other in (True, np.bool_(True), 1j, "2", None, Fraction(10**400), Decimal("sNaN")):
        assert not holds(parts, {"a": other, "b": 2})
        assert not holds(parts, {"a": 2, "b": other})
    squared = {"left": {"*": [{"field": "a"}, {"field": "a"}]}, "op": ">", "value": 0}
    assert holds(squared, {"a": np.int64(2**40)}), "it does not wrap around"


def test_numbers_that_only_cost_time_are_no_results() -> None:
    many = {"left": {"*": [{"field": "a"}] * 2000}, "op": ">", "value": 0}
    assert holds(many, {"a": 1})
    assert not holds(many, {"a": 10})


def test_a_subtype_is_written_by_its_name() -> None:
    part = Pattern.begin("a").subtype(Charge).where(field_condition(SMALL))
    (event,) = part.model().parts
    assert isinstance(event, Event)
    assert event.condition is not None
    assert written_condition(event.condition) == {"and": [{"type": "Charge"}, SMALL]}


def test_a_class_that_decides_itself_what_is_of_it_is_not_written() -> None:
    (event,) = Pattern.begin("a").subtype(Mapping).model().parts
    assert isinstance(event, Event)
    assert event.condition is not None
    with pytest.raises(RuleError, match="Mapping has an instance check of its own"):
        written_condition(event.condition)


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ([], "condition: expected an object, got a list"),
        ({"field": "a", "op": "=", "value": 1}, "condition.op: expected one of ==, !=, <"),
        ({"field": "a", "op": "<"}, "condition: 'value' is missing"),
        ({"op": "<", "value": 1}, "condition: 'field' is missing"),
        ({"field": "a", "op": "==", "value": None}, "no comparison with null is true"),
        ({"field": "a", "op": "is null", "value": 1}, "condition.value: 'is null' takes no value"),
        ({"field": "a", "op": "in", "value": 3}, "condition.value: expected a list, got 3"),
        ({"field": "a", "op": "in", "value": [[1]]}, "value[0]: expected text, a number, true or"),
        ({"field": "a", "op": "between", "value": [1, 2, 3]}, "expected the least and the most"),
        ({"field": "a", "op": "<", "value": float("nan")}, "nan is not a number that can be "
                                                           "compare"),
        ({"feild": "a", "op": "<", "value": 1}, "there is no 'feild' here; did you mean 'field'?"),
        ({"field": "", "op": "<", "value": 1}, "condition.field: is empty"),
        ({"field": -1, "op": "<", "value": 1}, "condition.field: expected a whole number of 0"),
        ({"field": "a", "event": "last", "op": "is null"}, "condition.event: needs 'of'"),
        ({"field": "a", "left": 1, "op": "is null"}, "condition.field: repeats the operand 'left'"),
        ({"field": "a", "of": "b", "event": "lst", "op": "is null"}, "event: expected one of firs"),
        ({"field": "a", "of": "b", "event": "count", "op": "is null"}, "a count of events needs n"),
        ({"and": []}, "condition.and: expected a list of 1 or more, got one of 0"),
        ({"and": [{"or": [{"type": 4}]}]}, "condition.and[0].or[0].type: expected text, got 4"),
        ({"left": {"+": [1]}, "op": "is null"}, "condition.left.+: expected a list of 2 or more"),
        ({"field": "a", "op": "<", "value": {"eval": "1"}}, "condition.value: there is no 'eval'"),
    ],
)  # fmt: skip
def test_refusals(form: Any, problem: str) -> None:
    with pytest.raises(RuleError) as caught:
        field_condition(form)
    assert problem in str(caught.value)


def test_too_deep() -> None:
    form: Any = {"field": "a", "op": "is null"}
    for _ in range(500):
        form = {"not": form}
    with pytest.raises(RuleError, match="nested more than 40 levels deep"):
        field_condition(form)


# -- made up conditions ----------------------------------------------------------------------------

FIELDS = st.sampled_from(["a", "b", "__class__", 0, ["a", "b"], []])
CONSTANTS = st.sampled_from([0, 1, 2.5, True, "x", "xy", "'); import os; ('", "value", 10**30])
OPERANDS = st.recursive(
    CONSTANTS
    | st.builds(lambda f: {"field": f}, FIELDS)
    | st.builds(
        lambda f, which: {"field": f, "of": "s", "event": which},
        FIELDS,
        st.sampled_from(["first", "last", "sum", "avg", "min", "max"]),
    )
    | st.just({"of": "s", "event": "count"}),
    lambda inner: st.builds(
        lambda op, operands: {op: operands},
        st.sampled_from(["+", "-", "*", "/"]),
        st.lists(inner, min_size=2, max_size=3),
    ),
    max_leaves=4,
)
TESTS = (
    st.tuples(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), OPERANDS)
    | st.tuples(st.sampled_from(["in", "not in"]), st.lists(CONSTANTS, min_size=1, max_size=3))
    | st.tuples(st.just("between"), st.tuples(OPERANDS, OPERANDS).map(list))
    | st.tuples(st.sampled_from(["starts with", "ends with", "contains"]), OPERANDS)
    | st.tuples(st.sampled_from(["is null", "is not null"]), st.none())
)


def _leaf(left: Any, test: tuple[str, Any]) -> dict[str, Any]:
    op, value = test
    form = dict(left) if isinstance(left, dict) and {"field", "of"} & set(left) else {"left": left}
    return form | {"op": op} | ({} if value is None else {"value": value})


CONDITIONS = st.recursive(
    st.builds(_leaf, OPERANDS, TESTS) | st.just({"type": "dict"}),
    lambda inner: (
        st.builds(
            lambda word, parts: {word: parts},
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=1, max_size=3),
        )
        | st.builds(lambda part: {"not": part}, inner)
    ),
    max_leaves=5,
)
VALUES = st.sampled_from([None, 0, 1, 2.5, "x", "xyz", [], {"b": 1}, float("nan"), True])
EVENTS = st.fixed_dictionaries({}, optional={"a": VALUES, "b": VALUES}) | VALUES | st.tuples(VALUES)


@given(CONDITIONS, EVENTS, st.lists(EVENTS, max_size=3))
def test_the_compiled_condition_is_the_tree(
    form: dict[str, Any], event: Any, taken: list[Any]
) -> None:
    """Never an exception, and what it implies is true of each event that satisfies it."""
    condition = field_condition(form)
    context = Taken(s=taken)
    answer = bool(condition.with_context()(event, context))
    assert answer is condition.source.tree.holds(event, context)
    simple = without_context(condition)
    assert not answer or simple is None or simple.call(event)
    for known in equalities(condition):
        assert not answer or any(
            field_condition({"field": list(known.path), "op": "==", "value": value}).call(event)
            for value in known.values
        )


@given(CONDITIONS)
def test_written_and_read_again(form: dict[str, Any]) -> None:
    written = written_condition(field_condition(form))
    assert field_condition(json.loads(json.dumps(written))).source.tree == (
        field_condition(form).source.tree
    )
    assert written_condition(field_condition(written)) == written


def test_joined_by_python() -> None:
    euro = field_condition({"field": "currency", "op": "==", "value": "EUR"})
    late = field_condition({"field": "a", "op": "<", "value": {"field": "a", "of": "s"}})
    both = all_of(euro, late)
    assert [known.values for known in equalities(both)] == [frozenset({"EUR"})]
    simple = without_context(both)
    assert simple is not None
    assert simple.call({"currency": "EUR"})
    assert not simple.call({})
    assert written_condition(both) == {
        "and": [written_condition(euro), written_condition(late)],
    }
    code = condition_of(lambda value: value > 3, "where")
    assert equalities(all_of(code, euro)) == equalities(euro)
    assert without_context(code) is code
    with pytest.raises(RuleError, match="is code, and code cannot be written as JSON"):
        written_condition(all_of(euro, code))
