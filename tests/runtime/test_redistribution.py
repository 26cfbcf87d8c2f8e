"""What a subtask restores from others, mode by mode, against a naive model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import CheckpointError
from millrace.runtime.declared_state import DeclaredValue, declared_table
from millrace.runtime.epoch import RestoreAssignment, StateHandle
from millrace.runtime.operator import Operator, OperatorContext
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.runtime.redistribution import Redistribution, RestoringSubtask
from millrace.runtime.watermark_valve import VALVE_STATE
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import VALVE, TableId
from millrace.state.table_kinds import FLAT, SPLIT_LIST

MAX_PARALLELISM = 16
ELEMENTS = OperatorStateDeclaration("elements", RedistributionMode.SPLIT)
FILES = OperatorStateDeclaration("files", RedistributionMode.SPLIT, dropped_on_fork=True)
ALL = OperatorStateDeclaration("all", RedistributionMode.UNION)
RULES = OperatorStateDeclaration("rules", RedistributionMode.BROADCAST)
POSITIONS = OperatorStateDeclaration("positions", RedistributionMode.SOURCE_SPLIT)
WATERMARK = OperatorStateDeclaration("watermark", RedistributionMode.SMALLEST_WATERMARK)
READ = OperatorStateDeclaration("read", RedistributionMode.SMALLEST_WATERMARK, of_readers=True)
TOTAL = OperatorStateDeclaration("total", RedistributionMode.MERGE, sum)
TRANSFER = OperatorStateDeclaration("transfer", RedistributionMode.MERGE, sum, dropped_on_fork=True)
LISTS = ELEMENTS, FILES, ALL
VALUES = WATERMARK, READ, TOTAL, TRANSFER
DECLARED = (*LISTS, RULES, POSITIONS, *VALUES)


class Owner(Operator):
    """Has a state of each mode."""

    operator_states = DECLARED

    def __init__(self, state: SubtaskState, index: int, parallelism: int) -> None:
        clock: Callable[[], int] = int
        self.context = OperatorContext(
            "op", "Owner", index, parallelism, MAX_PARALLELISM, state, clock
        )


CONTENT = st.fixed_dictionaries(
    {
        **{of.name: st.lists(st.integers(0, 99), max_size=3) for of in LISTS},
        **{of.name: st.none() | st.integers(0, 99) for of in VALUES},
        "positions": st.dictionaries(st.sampled_from("stuvw"), st.integers(0, 99), max_size=3),
        "keyed": st.dictionaries(st.integers(0, 99), st.integers(), max_size=9),
    }
)


def written(content: dict[str, Any], index: int, parallelism: int, epochs: int) -> list[StateDelta]:
    """The deltas of a subtask that wrote something else first."""
    state = SubtaskState()
    owner = Owner(state, index, parallelism)
    deltas: list[StateDelta] = []
    for epoch in range(epochs):
        last = epoch == epochs - 1
        for declared in LISTS:
            table = declared_table(owner, declared)
            elements = content[declared.name] if last else [-1, -2, -3, -4]
            for place in list(table.data):
                table.remove(place)
            for number, element in enumerate(elements):
                table.put((index, number), element)
        rules = declared_table(owner, RULES)
        for name, rule in content["rules"].items():
            rules.put(name, rule if last else "old")
        positions = DeclaredValue(owner, POSITIONS)
        for split, position in content["positions"].items():
            positions.put(position if last else -1, split)
        for declared in VALUES:
            value = content[declared.name] if last else -1
            if value is None:
                DeclaredValue(owner, declared).remove()
            else:
                DeclaredValue(owner, declared).put(value)
        keyed = state.table(TableId("op", "keyed"), FLAT)
        for key, value in content["keyed"].items():
            keyed.put(key, value)
        state.operator_table().put(VALVE, (([(index, False)], 100 + index), False))
        delta = state.snapshot(epoch, f"{epoch}")
        if delta is not None:
            deltas.append(delta)
        state.align(f"{epoch}", (), inline)
    return deltas


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def found(state: SubtaskState, index: int, parallelism: int) -> dict[str, Any]:
    """What a subtask has of each state."""
    owner = Owner(state, index, parallelism)
    lists = {of.name: declared_table(owner, of).data for of in LISTS}
    values = {of.name: DeclaredValue(owner, of).get() for of in VALUES}
    kept = state.operator_table().data.items()
    return {
        **{name: [data[place] for place in sorted(data)] for name, data in lists.items()},
        **values,
        "rules": declared_table(owner, RULES).data,
        "positions": {key[2]: value for key, value in kept if key[:2] == ("op", "positions")},
        "keyed": state.table(TableId("op", "keyed"), FLAT).data,
        "valve": state.operator_table().data.get(VALVE),
    }


def expected(
    contents: list[dict[str, Any]], index: int, parallelism: int, splits: set[str], forked: bool
) -> dict[str, Any]:
    """The same by the words of `RedistributionMode`."""
    same = len(contents) == parallelism
    own = contents[index] if same else {}
    result: dict[str, Any] = {"rules": contents[0]["rules"]}
    for declared in LISTS:
        everything = [element for content in contents for element in content[declared.name]]
        if declared.mode is RedistributionMode.UNION:
            result[declared.name] = everything
        else:
            result[declared.name] = own[declared.name] if same else everything[index::parallelism]
    for declared in VALUES:
        values = [content[declared.name] for content in contents]
        merge = declared.merge or min
        merged = None if None in values else merge(values)
        if declared is READ and not splits:
            merged = None
        result[declared.name] = own[declared.name] if same else merged
    positions = {s: p for content in contents for s, p in content["positions"].items()}
    result["positions"] = (
        own["positions"] if same else {s: p for s, p in positions.items() if s in splits}
    )
    groups = key_group_range(index, parallelism, MAX_PARALLELISM)
    result["keyed"] = {
        key: value
        for content in contents
        for key, value in content["keyed"].items()
        if key_group_of(key, MAX_PARALLELISM) in groups
    }
    if forked:
        result |= {"files": [], "transfer": None}
    return result


def restored(
    handles: list[StateHandle], index: int, parallelism: int, splits: set[str], **options: bool
) -> SubtaskState:
    state = SubtaskState()
    subtask = RestoringSubtask(
        index,
        parallelism,
        MAX_PARALLELISM,
        operators={"op": "Owner"},
        states={
            **{TableId("op", of.name): of for of in DECLARED},
            TableId(*VALVE): VALVE_STATE,
        },
        splits=frozenset(splits),
        reads=frozenset({"op"} if splits else ()),
    )
    assignment = RestoreAssignment(tuple(handles), **options)
    Redistribution(state, subtask, inline).restore(assignment, "restored")
    return state


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(1, 5), st.booleans(), st.integers(1, 3))
def test_every_mode_against_the_model(data, before, after, forked, epochs) -> None:
    """From any parallelism to any other, with one delta or several; twice in a row."""
    contents = data.draw(st.lists(CONTENT, min_size=before, max_size=before))
    rules = data.draw(st.dictionaries(st.sampled_from("pqr"), st.integers(), max_size=2))
    splits = data.draw(st.lists(st.sets(st.sampled_from("stuvw")), min_size=after, max_size=after))
    for number, content in enumerate(contents):
        content["rules"] = rules
        groups = key_group_range(number, before, MAX_PARALLELISM)
        content["keyed"] = {
            key: value
            for key, value in content["keyed"].items()
            if key_group_of(key, MAX_PARALLELISM) in groups
        }
        for other in contents[:number]:  # a split is read by one subtask
            for split in other["positions"]:
                content["positions"].pop(split, None)
    handles = [
        StateHandle(index, before, tuple(written(content, index, before, epochs)), True)
        for index, content in enumerate(contents)
    ]
    for index in range(after):
        state = restored(handles, index, after, splits[index], forked=forked)
        seen = found(state, index, after)
        valve = seen.pop("valve")
        assert seen == expected(contents, index, after, splits[index], forked)
        if before == after:
            assert valve == (([(index, False)], 100 + index), False)
        else:
            assert valve == (([], 100), False)
        delta = state.snapshot(9, "9")
        assert delta is not None
        again = SubtaskState()
        again.restore("9", [delta], inline)
        assert found(again, index, after)["elements"] == seen["elements"]


def test_watermarks_of_inputs_need_the_same_inputs() -> None:
    """And what single channels had reached counts only where they can be told apart."""
    content = {"rules": {}, "positions": {}, "keyed": {}, "elements": [], "files": [], "all": []}
    content |= {of.name: None for of in VALUES}
    handles = [StateHandle(n, 2, tuple(written(content, n, 2, 1)), True) for n in range(2)]

    def valve(handles: list[StateHandle], **options: bool) -> Any:
        return restored(handles, 1, 2, set(), **options).operator_table().data.get(VALVE)

    assert valve(handles) == (([(1, False)], 101), False)
    assert valve(handles, same_channels=False) == (([], 101), False)
    assert valve(handles, same_inputs=False) is None
    chained = [StateHandle(h.subtask, h.parallelism, h.deltas, head=False) for h in handles]
    assert valve(chained) is None


def test_a_state_that_the_operator_does_not_declare_is_refused() -> None:
    """It was another kind of operator's: nobody can say what it means."""
    state = SubtaskState()
    state.operator_table().put(("op", "strange"), 1)
    delta = state.snapshot(0, "0")
    assert delta is not None
    handles = [StateHandle(index, 2, (delta,), True) for index in range(2)]
    with pytest.raises(CheckpointError, match=r"state 'strange' of operator 'Owner' \(uid op\)"):
        restored(handles, 0, 3, set())


def test_other_operators_state_is_not_looked_at() -> None:
    """It is restored by the subtasks that have them."""
    state = SubtaskState()
    state.operator_table().put(("other", "strange"), 1)
    state.table(TableId("other", "list"), SPLIT_LIST).put((0, 0), 1)
    delta = state.snapshot(0, "0")
    assert delta is not None
    taken = restored([StateHandle(0, 1, (delta,), True)], 0, 3, set())
    assert taken.operator_table().data == {}
    assert TableId("other", "list") not in taken.tables
