"""GROUP BY: net changes that lead to what grouping everything at once gives."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import pytest
from tests.table_runtime.subtask import MAXIMUM, Row, Subtask, columns, materialised

from millrace.common.types.logical.logical_type import (
    ArrayType,
    BigIntType,
    BooleanType,
    LogicalType,
    RowType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.aggregate_functions import aggregate_function
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import AggregateCall
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.table_runtime.group_aggregate import (
    GroupAggregateOperator,
    GroupAggregateSpec,
)

LONG, TEXT = BigIntType(), VarCharType()
INPUT = RowType.of(("k", TEXT), ("n", LONG), ("v", LONG), ("t", TEXT), ("f", BooleanType()))
V, T, F = 2, 3, 4


def call(
    function: str | FunctionDefinition, *arguments: int, type: LogicalType = LONG, **more: Any
) -> AggregateCall:
    definition = registry.function(function) if isinstance(function, str) else function
    return AggregateCall(definition, arguments, type, **more)


class UserSum:
    """SUM, as a program writes it."""

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def accumulate(self, accumulator: list[int], value: int | None) -> None:
        self._add(accumulator, value, 1)

    def retract(self, accumulator: list[int], value: int | None) -> None:
        self._add(accumulator, value, -1)

    def get_value(self, accumulator: list[int]) -> int | None:
        return accumulator[1] if accumulator[0] else None

    def _add(self, accumulator: list[int], value: int | None, sign: int) -> None:
        if value is not None:
            accumulator[0] += sign
            accumulator[1] += sign * value


def pandas_sum(values: Any) -> int | None:
    return int(values.sum()) if values.count() else None


USER_SUM = aggregate_function("user_sum", UserSum(), LONG)
PANDAS_SUM = aggregate_function("pandas_sum", pandas_sum, LONG, "pandas")
SUMS = ("SUM", USER_SUM.name, PANDAS_SUM.name)
CALLS = (
    call("COUNT"),
    call("COUNT", V),
    call("SUM", V),
    call("AVG", V),
    call("MIN", V),
    call("MAX", T, type=TEXT),
    call("COUNT", T, distinct=True),
    call("SUM", V, distinct=True),
    call("COUNT", V, T, distinct=True),
    call("SUM", V, filter=F),
    call("COUNT", V, distinct=True, filter=F),
    call("MAX", V, filter=F),
    call(USER_SUM, V),
    call(USER_SUM, V, distinct=True),
    call(PANDAS_SUM, V, filter=F),
)


def expected(rows: Counter[Row], groups: tuple[int, ...]) -> Counter[Row]:
    """The result of all rows at once, by another way."""
    found: dict[Row, list[Row]] = {}
    for row in rows.elements():
        found.setdefault(tuple(row[index] for index in groups), []).append(row)
    return Counter({(*key, *map(partial(value, of), CALLS)): 1 for key, of in found.items()})


def value(rows: list[Row], call: AggregateCall) -> Any:
    if call.filter is not None:
        rows = [row for row in rows if row[call.filter]]
    if not call.arguments:
        return len(rows)
    values = [tuple(row[index] for index in call.arguments) for row in rows]
    values = [each for each in values if None not in each]
    if call.distinct:
        values = list(set(values))
    if call.function.name == "COUNT":
        return len(values)
    if not values:
        return None
    single = [each[0] for each in values]
    if call.function.name in SUMS:
        return sum(single)
    if call.function.name == "AVG":
        return int(sum(single) / len(single))
    return min(single) if call.function.name == "MIN" else max(single)


def spec(groups: tuple[int, ...], **more: Any) -> GroupAggregateSpec:
    names = [(f"g{index}", INPUT.fields[index].type) for index in groups]
    outputs = [(f"a{number}", each.type) for number, each in enumerate(CALLS)]
    return GroupAggregateSpec(INPUT, groups, CALLS, RowType.of(*names, *outputs), **more)


def random_row(chance: random.Random) -> Row:
    return (
        chance.choice([None, "a", "b", "cc"]),
        chance.randrange(3),
        chance.choice([None, -5, 0, 1, 7]),
        chance.choice([None, "x", "y", ""]),
        chance.choice([None, True, False]),
    )


def random_changes(chance: random.Random, rows: Counter[Row], retract: bool) -> Any:
    changes = []
    for _ in range(chance.randrange(1, 25)):
        held = list(rows.elements())
        if retract and held and chance.random() < 0.48:
            row = chance.choice(held)
            rows[row] -= 1
            changes.append((chance.choice(["-D", "-U"]), row))
        else:
            row = random_row(chance)
            rows[row] += 1
            changes.append((chance.choice(["+I", "+U"]) if retract else "+I", row))
    return changes


@pytest.mark.turns(5)
@pytest.mark.parametrize("groups", [(0,), (0, 1), ()])
@pytest.mark.parametrize("retract", [False, True])
@pytest.mark.parametrize("flushes", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(2))
def test_any_epochs_aborts_and_restores_give_what_one_go_gives(
    groups: tuple[int, ...], retract: bool, seed: int, flushes: float
) -> None:
    chance, rows = random.Random(seed), Counter[Row]()
    factory = partial(GroupAggregateOperator, spec(groups, retracts=retract))
    subtask = Subtask(factory, flushes=flushes)
    for _ in range(10):
        if chance.random() < 0.3:
            lost = random_changes(chance, Counter(rows), retract)
            subtask.epoch([columns(INPUT, lost)], abort=True)
        changes = random_changes(chance, rows, retract)
        cut = chance.randrange(len(changes) + 1)
        subtask.epoch([columns(INPUT, part) for part in (changes[:cut], changes[cut:])])
        assert materialised(subtask.changes) == expected(rows, groups)
        if chance.random() < 0.2:
            again = subtask.restored()
            again.changes = subtask.changes
            subtask = again


def test_a_rescaled_job_goes_on_with_the_same_groups() -> None:
    chance, rows = random.Random(11), Counter[Row]()
    one = Subtask(partial(GroupAggregateOperator, spec((0, 1))))
    one.epoch([columns(INPUT, random_changes(chance, rows, True)) for _ in range(5)])
    changes = random_changes(chance, rows, True)
    found = list(one.changes)
    for index in range(3):
        own = key_group_range(index, 3, MAXIMUM)
        part = one.restored(index, 3)
        mine = [each for each in changes if key_group_of(each[1][:2], MAXIMUM) in own]
        found += part.epoch([columns(INPUT, mine)])
    assert materialised(found) == expected(rows, (0, 1))


def test_changes_are_net_and_update_before_comes_first() -> None:
    subtask = Subtask(partial(GroupAggregateOperator, simple()))
    row = ("a", 0, 1, None, None)
    assert subtask.epoch([columns(INPUT, [("+I", row)] * 3)]) == [("+I", ("a", 3))]
    assert subtask.epoch([columns(INPUT, [("+I", row), ("-D", row)])]) == []
    assert subtask.epoch([columns(INPUT, [("+I", row)])]) == [("-U", ("a", 3)), ("+U", ("a", 4))]
    assert subtask.epoch([columns(INPUT, [("-D", row)] * 4)]) == [("-D", ("a", 4))]
    assert subtask.epoch([columns(INPUT, [("+I", row)])]) == [("+I", ("a", 1))]


def test_a_flush_emits_the_net_changes_since_the_last_one() -> None:
    subtask = Subtask(partial(GroupAggregateOperator, simple()), flushes=1.0)
    row = ("a", 0, 1, None, None)
    batches = [[("+I", row)], [("+I", row), ("-D", row)], [("+I", row)], [("-D", row)] * 2]
    assert subtask.epoch([columns(INPUT, batch) for batch in batches]) == [
        ("+I", ("a", 1)),
        ("-U", ("a", 1)),
        ("+U", ("a", 2)),
        ("-D", ("a", 2)),
    ]


def test_an_abort_undoes_what_came_before_and_after_a_flush() -> None:
    subtask = Subtask(partial(GroupAggregateOperator, simple()), flushes=1.0)
    row, other = ("a", 0, 1, None, None), ("b", 0, 1, None, None)
    subtask.epoch([columns(INPUT, [("+I", row)])])
    lost = [[("+I", row)], [("-D", row)] * 2, [("+I", row), ("+I", other)]]
    subtask.epoch([columns(INPUT, batch) for batch in lost], abort=True)
    subtask.epoch([columns(INPUT, [("+I", row), ("+I", other)])])
    assert materialised(subtask.changes) == {("a", 2): 1, ("b", 1): 1}


def test_a_consumer_that_needs_no_update_before_gets_none() -> None:
    subtask = Subtask(partial(GroupAggregateOperator, simple(emits_update_before=False)))
    row = ("a", 0, 1, None, None)
    subtask.epoch([columns(INPUT, [("+I", row)])])
    assert subtask.epoch([columns(INPUT, [("+I", row)])]) == [("+U", ("a", 2))]
    assert subtask.epoch([columns(INPUT, [("-D", row)] * 2)]) == [("-D", ("a", 2))]


def test_state_that_nobody_used_for_its_time_to_live_is_forgotten() -> None:
    subtask = Subtask(partial(GroupAggregateOperator, simple(state_ttl=100)))
    row, other = ("a", 0, 1, None, None), ("b", 0, 1, None, None)
    subtask.epoch([columns(INPUT, [("+I", row), ("+I", other)])])
    subtask.now = 60
    subtask.epoch([columns(INPUT, [("+I", other)])])
    subtask.now = 120
    assert subtask.epoch([columns(INPUT, [("+I", row), ("+I", other)])]) == [
        ("-U", ("b", 2)),
        ("+I", ("a", 1)),
        ("+U", ("b", 3)),
    ]
    subtask.now = 500
    assert subtask.epoch([]) == []
    assert sum(table.entry_count() for table in subtask.state.tables.values()) == 0


def test_what_an_expired_group_takes_back_first_is_not_counted() -> None:
    subtask = Subtask(partial(GroupAggregateOperator, simple(state_ttl=100)))
    old, new = ("a", 0, 1, None, None), ("a", 0, 2, None, None)
    subtask.epoch([columns(INPUT, [("+I", old)])])
    subtask.now = 100
    update = [("-U", old), ("+U", new), ("-D", ("b", 0, 1, None, None))]
    assert subtask.epoch([columns(INPUT, update)]) == [("+I", ("a", 1))]
    assert subtask.epoch([columns(INPUT, [("-D", new)])]) == [("-D", ("a", 1))]
    assert subtask.epoch([columns(INPUT, [("-D", new)])]) == []
    assert sum(table.entry_count() for table in subtask.state.tables.values()) == 0


def test_with_a_time_to_live_an_equal_result_is_given_again() -> None:
    changes = [("+I", ("a", 0, 1, None, None)), ("-D", ("a", 0, 1, None, None))]
    for state_ttl, expected in ((0, []), (100, [("-U", ("a", 1)), ("+U", ("a", 1))])):
        subtask = Subtask(partial(GroupAggregateOperator, simple(state_ttl=state_ttl)))
        subtask.epoch([columns(INPUT, changes[:1])])
        assert subtask.epoch([columns(INPUT, changes)]) == expected


def test_one_group_of_no_rows_has_a_row_in_batch_mode_only() -> None:
    factory = partial(GroupAggregateOperator, spec((), batch=True))
    assert Subtask(factory).epoch([], ended=True) == [
        ("+I", (0, 0, None, None, None, None, 0, None, 0, None, 0, *[None] * 4))
    ]
    assert Subtask(partial(GroupAggregateOperator, spec(()))).epoch([], ended=True) == []


def simple(**more: Any) -> GroupAggregateSpec:
    output = RowType.of(("k", TEXT), ("n", LONG))
    return GroupAggregateSpec(INPUT, (0,), (call("COUNT"),), output, **more)


def test_collected_values_survive_aborts_and_restores() -> None:
    calls = (
        call("LISTAGG", T, type=TEXT),
        call("JSON_OBJECTAGG", T, V, type=TEXT),
        call("LAST_VALUE", V),
        call("ARRAY_AGG", V, type=ArrayType(LONG)),
    )
    output = RowType.of(("k", TEXT), *((f"a{n}", each.type) for n, each in enumerate(calls)))
    spec = GroupAggregateSpec(INPUT, (0,), calls, output, emits_update_before=False)
    subtask = Subtask(partial(GroupAggregateOperator, spec))
    one, two, three = (("a", 0, n, t, None) for n, t in ((1, "x"), (2, "y"), (3, "x")))
    first = ("a", "x,y", '{"x":1,"y":2}', 2, [1, 2])
    assert subtask.epoch([columns(INPUT, [("+I", one), ("+I", two)])]) == [("+I", first)]
    subtask.epoch([columns(INPUT, [("+I", ("a", 0, 9, "z", None)), ("-D", two)])], abort=True)
    again = subtask.restored()
    second = ("a", "y,x", '{"x":3,"y":2}', 3, [2, 3])
    assert again.epoch([columns(INPUT, [("-D", one), ("+I", three)])]) == [("+U", second)]
    assert again.epoch([columns(INPUT, [("-D", two), ("-D", three)])]) == [("-D", second)]
