"""What a match that was found takes away from others (Flink docs, "FlinkCEP", section After Match
Skip Strategy)."""

from __future__ import annotations

from bisect import insort_right
from collections.abc import Callable
from typing import Any

from millrace.common.after_match_skip_strategy import AfterMatchSkipStrategy, Skip
from millrace.common.errors import JobExecutionError
from millrace.runtime.cep.partial_match import FoundMatch, Matches, Order

__all__ = ["OnPruned", "release"]

OnPruned = Callable[[Any, FoundMatch], None]
"""Called with a partial or found match that a match takes away, and that match."""


def release(
    strategy: AfterMatchSkipStrategy,
    matches: Matches,
    found: list[FoundMatch],
    time: int,
    on_pruned: OnPruned | None = None,
) -> list[FoundMatch]:
    """Take note of matches that were found; returns those that nothing earlier can win over, as
    of ``time`` (ms since the epoch).

    Raises:
        JobExecutionError: there is nothing to skip to, and the strategy says that this is an error.
    """
    if strategy.kind is Skip.NO_SKIP:
        return found
    held_back, released = matches.held_back, []
    for match in found:
        insort_right(held_back, match, key=_start)
    while held_back and not _may_still_win(matches, held_back[0]):
        match = held_back.pop(0)
        match.time = time
        released.append(match)
        _prune(matches, match, _taken_away(strategy, match), on_pruned)
    return released


def _start(match: Any) -> Order:
    order: Order = match.start.order
    return order


def _may_still_win(matches: Matches, match: FoundMatch) -> bool:
    """Whether a partial match began before ``match`` did."""
    return bool(matches.partial) and matches.partial[0].start.order < match.start.order


def _prune(
    matches: Matches,
    match: FoundMatch,
    taken_away: Callable[[Order], bool] | None,
    on_pruned: OnPruned | None,
) -> None:
    if taken_away is None:
        return
    if on_pruned is not None:
        others: list[Any] = [*matches.partial, *matches.held_back]
        for other in others:
            if taken_away(other.start.order):
                on_pruned(other, match)
    matches.partial = [p for p in matches.partial if not taken_away(p.start.order)]
    # in place: whoever releases matches goes on with this list
    matches.held_back[:] = [m for m in matches.held_back if not taken_away(m.start.order)]


def _taken_away(
    strategy: AfterMatchSkipStrategy, match: FoundMatch
) -> Callable[[Order], bool] | None:
    """Whether what begins with an event is taken away, given the event's place; None: nothing."""
    if strategy.kind is Skip.TO_NEXT:
        start = match.start.order
        return lambda order: order == start
    if strategy.kind is Skip.PAST_LAST_EVENT:
        last = match.last.event.order
        return lambda order: order <= last
    target = _skipped_to(strategy, match)
    return None if target is None else lambda order: order < target


def _skipped_to(strategy: AfterMatchSkipStrategy, match: FoundMatch) -> Order | None:
    """The place of the event that is skipped to."""
    orders = [e.event.order for e in match.entries() if e.name == strategy.pattern_name]
    if not orders:
        if strategy.throws:
            raise JobExecutionError(
                f"{strategy!r}: a match has no event of '{strategy.pattern_name}' to skip to"
            )
        return None
    target = orders[0 if strategy.kind is Skip.TO_FIRST else -1]
    if strategy.throws and target == match.start.order:
        raise JobExecutionError(
            f"{strategy!r}: a match begins with the event to skip to, so nothing would be skipped"
        )
    return target
