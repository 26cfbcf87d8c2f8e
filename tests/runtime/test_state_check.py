"""A value that is not of the declared type of its state is refused before it is in there."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common import Row, Time, Types
from millrace.common.errors import SerializationError, UserFunctionError
from millrace.common.state.descriptors import StateDescriptor
from millrace.common.state.state_ttl import StateTtlConfig
from millrace.common.types.type_information import TypeInformation
from millrace.datastream import (
    AggregateFunction,
    CheckpointedFunction,
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.runtime.state_check import StateCheck, entry_check, key_check, value_check
from millrace.testing import run_local

LONG, PAIR = Types.LONG(), Types.TUPLE([Types.STRING(), Types.LONG()])
TTL = StateTtlConfig.new_builder(Time.hours(1)).build()


class Last(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return value

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a


class Store(KeyedProcessFunction):
    """Puts every record into a state."""

    def __init__(self, descriptor: StateDescriptor, method: str, *before: Any) -> None:
        self.descriptor, self.method, self.before = descriptor, method, before

    def open(self, runtime_context):
        kind = self.descriptor.kind
        get = "get_state" if kind == "value" else f"get_{kind}_state"
        self.state = getattr(runtime_context, get)(self.descriptor)

    def process_element(self, value, ctx):
        getattr(self.state, self.method)(*self.before, value)
        yield value


def last(one, other):
    return other


WAYS = {
    "value": (lambda: ValueStateDescriptor("s", LONG), "update", (), 1, "state 's' is"),
    "tuple": (lambda: ValueStateDescriptor("s", PAIR), "update", (), ("a", 1), "state 's' is"),
    "mutable": (
        lambda: ValueStateDescriptor("s", Types.LIST(LONG)), "update", (), [1], "state 's' is",
    ),
    "list": (lambda: ListStateDescriptor("s", LONG), "add", (), 1, "an element of state 's'"),
    "lists": (lambda: ListStateDescriptor("s", LONG), "update", (), [1], "an element of state"),
    "all": (lambda: ListStateDescriptor("s", LONG), "add_all", (), [1], "an element of state"),
    "map": (
        lambda: MapStateDescriptor("s", LONG, LONG), "put", (1,), 1, "a value of state 's'",
    ),
    "map key": (
        lambda: MapStateDescriptor("s", PAIR, LONG), "put_all", (), {("a", 1): 1}, "a key of",
    ),
    "reducing": (lambda: ReducingStateDescriptor("s", last, LONG), "add", (), 1, "state 's' is"),
    "aggregating": (
        lambda: AggregatingStateDescriptor("s", Last(), LONG), "add", (), 1, "state 's' is",
    ),
}  # fmt: skip
BAD = {1: "7", ("a", 1): ("a", "7")}


def bad_of(good: Any) -> Any:
    if isinstance(good, list):
        return ["7"]
    return {("a", "7"): 1} if isinstance(good, dict) else BAD[good]


@pytest.mark.parametrize("declared", [LONG, PAIR, Types.TUPLE([])], ids=repr)
def test_a_tuple_without_fields(declared: TypeInformation[Any]) -> None:
    check = StateCheck("state", declared)
    if declared == Types.TUPLE([]):
        check(())
    else:
        with pytest.raises(SerializationError):
            check(())


@pytest.mark.parametrize("expires", [False, True], ids=["kept", "ttl"])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_of_the_type_is_refused(way: str, expires: bool) -> None:
    make, method, before, good, told = WAYS[way]
    descriptor = make()
    if expires:
        descriptor.enable_time_to_live(TTL)
    bad = bad_of(good)
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        records = env.from_collection([good, good, bad])
        stored = (
            records.key_by(lambda _: 0).process(Store(descriptor, method, *before)).name("Keep")
        )
        with pytest.raises(UserFunctionError) as refused:
            list(stored.execute_and_collect())
    shown = str(refused.value)
    assert "operator 'Keep'" in shown
    assert repr(bad) in shown
    assert told in shown
    assert "'7' (str), not LONG" in shown


@pytest.mark.parametrize(
    "descriptor",
    [
        ValueStateDescriptor("s"),
        ValueStateDescriptor("s", Types.PICKLED_BYTE_ARRAY()),
        ListStateDescriptor("s"),
        MapStateDescriptor("s"),
    ],
    ids=repr,
)
def test_nothing_is_checked_where_nothing_is_declared(descriptor: StateDescriptor) -> None:
    assert entry_check(descriptor) is None
    assert key_check(descriptor) is None
    if isinstance(descriptor, ValueStateDescriptor):
        assert value_check(descriptor) is None


class Buffer(MapFunction, CheckpointedFunction):
    """Keeps what it has seen in a list of the operator."""

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.list = store.get_list_state(ListStateDescriptor("seen", LONG))

    def snapshot_state(self, context):
        pass

    def map(self, value):
        self.list.add(value)
        return value


def test_operator_state_is_checked_too() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([1, "7"]).map(Buffer())
        with pytest.raises(UserFunctionError, match="an element of state 'seen' is declared as"):
            list(stream.execute_and_collect())


def test_none_is_of_every_type() -> None:
    check = value_check(ValueStateDescriptor("s", PAIR))
    assert check is not None
    check(None)
    check(("a", None))
    check(Row("a", 1))


@pytest.mark.parametrize(
    ("type_info", "good", "bad"),
    [
        (Types.LONG(), [0, 2**63 - 1, True], [2**63, -(2**63) - 1, 1.0, "1"]),
        (Types.DOUBLE(), [0.5, 1, float("nan")], ["1"]),
        (Types.STRING(), ["a"], [b"a", 1]),
        (PAIR, [("a", 1), ["a", 1]], [("a", 2**63), ("a",), (1, "a"), ("a", 1, 1), "a1"]),
        (Types.TUPLE([PAIR]), [(("a", 1),)], [(("a", "7"),)]),
    ],
)
def test_the_usual_and_the_unusual_are_told_apart(type_info, good, bad) -> None:
    check = StateCheck("it", type_info)
    for value in good:
        check(value)
    for value in bad:
        with pytest.raises(SerializationError, match="it is declared as"):
            check(value)
