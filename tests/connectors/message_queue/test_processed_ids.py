"""Ids that are remembered: while a message may come again, and no longer."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.message_queue.processed_ids import (
    ACKNOWLEDGED_MS,
    RESTORED_MS,
    ProcessedIds,
)


def test_ids_of_acknowledged_messages_are_forgotten_after_a_while() -> None:
    ids = ProcessedIds(None, 0)
    assert ids.add("a")
    ids.acknowledged(0)
    assert not ids.add("a"), "the server may not know yet"
    ids.acknowledged(10)
    ids.acknowledged(10 + ACKNOWLEDGED_MS)
    assert ids.snapshot() == ((), ())
    assert ids.add("a")


def test_restored_ids_are_kept_for_long() -> None:
    """As a worker that is gone may still hold their messages."""
    ids = ProcessedIds(None, 0)
    ids.add("a")
    ids.add("b")
    restored = ProcessedIds(ids.snapshot(), 1_000)
    restored.acknowledged(1_000 + RESTORED_MS - 1)
    assert not restored.add("a")
    restored.acknowledged(1_000 + RESTORED_MS)
    assert restored.add("b")


@given(st.lists(st.one_of(st.sampled_from("abcdef"), st.sampled_from(["ack", "restore"]))))
def test_nothing_is_processed_twice_within_the_time(events: list[str]) -> None:
    """Whatever is acknowledged and restored meanwhile."""
    ids, seen = ProcessedIds(None, 0), set()
    for event in events:
        if event == "ack":
            ids.acknowledged(1)
        elif event == "restore":
            ids = ProcessedIds(pickle.loads(pickle.dumps(ids.snapshot())), 1)
        else:
            assert ids.add(event) == (event not in seen)
            seen.add(event)
