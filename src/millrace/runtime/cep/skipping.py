"""After-match skipping: drops the matches that a completed match excludes (Flink docs, "FlinkCEP",
section After Match Skip Strategy).
"""

from __future__ import annotations

from bisect import bisect_left, insort_right
from collections.abc import Callable
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy, Skip
from millrace.runtime.cep.partial_match import FoundMatch, Matches, Order

__all__ = ["OnPruned", "release"]

OnPruned = Callable[[Any, FoundMatch], None]
"""Called with a discarded partial match or match, and the match that discards it."""


def release(
    strategy: AfterMatchSkipStrategy,
    matches: Matches,
    new_matches: list[FoundMatch],
    time: int,
    on_pruned: OnPruned | None = None,
) -> list[FoundMatch]:
    """Add new matches, and return the matches that can no longer be discarded by an earlier match
    after ``time`` (ms since the epoch).

    Raises:
        JobExecutionError: there is nothing to skip to, and the strategy says that this is an error.
    """
    held_back, released = matches.held_back, []
    if strategy.kind is Skip.NO_SKIP:
        if not held_back:
            return new_matches
        # a former version of the program had another strategy
        released, matches.held_back = held_back + new_matches, []
        for match in released:
            match.time = time
        return released
    for match in new_matches:
        insort_right(held_back, match, key=_start)
    while held_back and not _may_still_win(matches, held_back[0]):
        match = held_back.pop(0)
        match.time = time
        released.append(match)
        limit = _limit(strategy, match)
        if limit is not None:
            _discard(matches, match, limit, on_pruned)
    return released


def _start(match: Any) -> Order:
    order: Order = match.start.order
    return order


def _may_still_win(matches: Matches, match: FoundMatch) -> bool:
    """Whether a partial match began before ``match`` did."""
    return bool(matches.partial) and matches.partial[0].start.order < match.start.order


def _discard(matches: Matches, match: FoundMatch, limit: Order, on_pruned: OnPruned | None) -> None:
    """Discard the matches that began before ``limit``, because of ``match``. No match began
    before ``match``, and the matches are ordered by their first events."""
    others: list[Any]
    for others in (matches.partial, matches.held_back):
        count = bisect_left(others, limit, key=_start)
        if on_pruned is not None:
            for other in others[:count]:
                on_pruned(other, match)
        del others[:count]


def _limit(strategy: AfterMatchSkipStrategy, match: FoundMatch) -> Order | None:
    """Least order at which other matches may begin: matches that began earlier are discarded.
    None if no match is discarded."""
    if strategy.kind is Skip.TO_NEXT:
        return _after(match.start.order)
    if strategy.kind is Skip.PAST_LAST_EVENT:
        return _after(match.last.event.order)
    return _skipped_to(strategy, match)


def _after(order: Order) -> Order:
    """Position right after an event."""
    time, number = order
    return time, number + 1


def _skipped_to(strategy: AfterMatchSkipStrategy, match: FoundMatch) -> Order | None:
    """Position of the event to skip to."""
    orders = [e.event.order for e in match.entries() if e.name == strategy.pattern_name]
    if not orders:
        if strategy.throws:
            raise JobExecutionError(
                f"{strategy!r}: a match has no event of '{strategy.pattern_name}', to which "
                "the strategy skips"
            )
        return None
    target = orders[0 if strategy.kind is Skip.TO_FIRST else -1]
    if strategy.throws and target == match.start.order:
        raise JobExecutionError(
            f"{strategy!r}: a match begins with the event to which the strategy skips, so "
            "nothing would be skipped"
        )
    return target
