from __future__ import annotations

from typing import Any

import pytest

from millrace.common.sink import WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.async_sink import AsyncSinkWriter, BufferLimits, UnsentEntries
from millrace.connectors.retries import FixedPauses


class Letters(AsyncSinkWriter[str]):
    """Sends words to a service that has a script: what it does not take of each request."""

    def __init__(self, limits: BufferLimits, *script: str, retries: int = 9, passes: bool = False):
        self.pauses: list[float] = []
        super().__init__(WriterContext(0, 1, "run"), limits, self.pauses.append)
        self.script, self.requests = list(script), list[list[str]]()
        self.retries, self.passes = retries, passes

    def write(self, batch: RowBatch[Any]) -> None:
        for word in batch.values:
            self._add(word, len(word), word[0] if word[0].isupper() else None)

    def _pauses(self) -> FixedPauses:
        return FixedPauses(range(1, self.retries + 1))

    def _request(self, entries: list[str]) -> UnsentEntries[str]:
        self.requests.append(entries)
        refused = self.script.pop(0) if self.script else ""
        left = [entry for entry in entries if entry[0] in refused]
        return UnsentEntries(left, OSError("busy") if left and "!" not in refused else None)

    def _gave_up(self, unsent: UnsentEntries[str], tries: int) -> None:
        if not self.passes:
            raise OSError(f"{unsent.entries} after {tries} tries: {unsent.failure}")


def test_requests_have_so_many_entries_and_bytes() -> None:
    writer = Letters(BufferLimits(3, 6))
    writer.write(RowBatch(["a", "b", "c", "d", "eeeee", "f", "ggggggggg"]))
    assert writer.requests == [["a", "b", "c"], ["d", "eeeee"], ["f"]]
    writer.flush(False)
    writer.flush(False)
    assert writer.requests[3:] == [["ggggggggg"]]


def test_of_entries_with_one_key_the_last_is_sent() -> None:
    writer = Letters(BufferLimits(bytes=9))
    writer.write(RowBatch(["Aaaa", "b", "Ac", "Add", "e"]))
    assert writer.requests == []
    writer.flush(False)
    assert writer.requests == [["b", "Add", "e"]]


def test_what_was_not_taken_is_sent_again_before_anything_else() -> None:
    writer = Letters(BufferLimits(3), "bc", "b", "b!")
    writer.write(RowBatch(["a", "b", "c", "d"]))
    writer.flush(False)
    assert writer.requests == [["a", "b", "c"], ["b", "c"], ["b"], ["b"], ["d"]]
    assert writer.pauses == [1, 2]  # what was not tried is sent at once


def test_the_writer_decides_what_becomes_of_the_rest() -> None:
    with pytest.raises(OSError, match=r"\['b'\] after 2 tries: busy"):
        Letters(BufferLimits(2), "b", "b", retries=1).write(RowBatch(["a", "b"]))
    lenient = Letters(BufferLimits(2), "b", "b", retries=1, passes=True)
    lenient.write(RowBatch(["a", "b", "c"]))
    lenient.flush(True)
    assert lenient.requests == [["a", "b"], ["b"], ["c"]]
