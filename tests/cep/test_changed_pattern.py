"""What docs/cep/pattern-api.md says of patterns that change across a savepoint."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.cep import CEP, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from millrace.common.errors import CheckpointError
from millrace.testing import OperatorHarness


class Telling(PatternProcessFunction[str, Any], TimedOutPartialMatchHandler[str]):
    def process_match(self, match: Any, ctx: Any) -> Any:
        yield " ".join(event for events in match.values() for event in events)

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield f"over at {ctx.timestamp()}"


def job(pattern: Pattern) -> OperatorHarness:
    return OperatorHarness(
        lambda stream: CEP.pattern(stream.key_by(lambda value: 0), pattern).process(Telling())
    )


def named(letter: str) -> Any:
    return lambda value: value[0] == letter


def part(before: Pattern, name: str) -> Pattern:
    return before.followed_by(name).where(named(name))


A = Pattern.begin("a").where(named("a"))


def run(before: Pattern, events: str, after: Pattern, more: str) -> list[Any]:
    """What the changed job finds that goes on where the other one has stopped."""
    first = job(before)
    for number, event in enumerate(events.split()):
        first.process_element(event, number)
    first.process_watermark(10)
    second = job(after).restored(first.snapshot())
    for number, event in enumerate(more.split()):
        second.process_element(event, 11 + number)
    second.process_watermark(1_000)
    return second.output()


@pytest.mark.parametrize(
    ("after", "more", "found"),
    [
        (part(part(A, "b"), "c"), "c", ["a b c"]),
        (part(part(Pattern.begin("a").where(named("x")), "b"), "c"), "c", ["a b c"]),
        (part(part(A, "b"), "d"), "c d", ["a b d"]),
        (part(part(part(A, "b"), "n"), "c"), "c n c", ["a b n c"]),
        (part(A, "b").times(1, 3).followed_by("c").where(named("c")), "b c", ["a b b c", "a b c"]),
        (part(part(A, "b"), "c").within(20), "x", ["over at 20"]),
        (part(part(A, "b"), "c").within(5), "c", ["over at 5"]),
    ],
    ids=[
        "nothing",
        "condition",
        "later part",
        "new part",
        "oftener",
        "limit",
        "shorter limit",
    ],
)
def test_what_may_change(after: Pattern, more: str, found: list[str]) -> None:
    assert run(part(part(A, "b"), "c"), "a b", after, more) == found


@pytest.mark.parametrize(
    "after",
    [
        part(part(A, "B"), "c"),
        part(part(part(A, "x"), "b"), "c"),
        part(part(Pattern.begin("b").where(named("b")), "a"), "c"),
        part(Pattern.begin("b").where(named("b")), "c"),
        part(A, "b"),
    ],
    ids=["name", "part between", "order", "part gone", "nothing to wait for"],
)
def test_what_must_stay(after: Pattern) -> None:
    with pytest.raises(CheckpointError, match=r"taken 'a', 'b'.*has no place.*new uid"):
        run(part(part(A, "b"), "c"), "a b", after, "c")


def test_what_has_been_taken_must_still_be_allowed_so_often() -> None:
    before = part(part(A, "b").times(3), "c")
    assert run(before, "a b b", part(part(A, "b").times(2), "c"), "c") == ["a b b c"]
    with pytest.raises(CheckpointError, match="taken 'a', 'b'"):
        run(before, "a b b b", part(part(A, "b").times(2), "c"), "c")


def test_what_is_waited_for_must_stay_once_another_way_is_closed() -> None:
    before = A.next("b").where(named("b")).optional().followed_by("c").where(named("c"))
    renamed = A.next("b").where(named("b")).optional().followed_by("d").where(named("d"))
    assert run(before, "a", renamed, "d") == ["a d"]
    with pytest.raises(CheckpointError, match="waits for 'c'"):
        run(before, "a x", renamed, "d")
