"""What is told when a task fails, and rows that came to the wrong task."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millrace.common.errors import StateError
from millrace.spark.state_frames import _cause, _packet, _Packets

FAILED = """\
[UDF_ERROR.PAYLOAD] An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "somewhere.py", line 1, in run
    yield from make(index)
millrace.common.errors.{error}: state 'x' is damaged: it ends
"""


def test_our_errors_are_told_as_they_are() -> None:
    """Without the traceback, of whatever kind they are."""
    for error in ("StateError", "CheckpointCorruptError", "SerializationError"):
        assert _cause(FAILED.format(error=error)) == "state 'x' is damaged: it ends"


def test_other_errors_are_told_whole() -> None:
    """There may be a program to mend."""
    text = FAILED.format(error="ValueError")
    assert _cause(text) == f"reading or writing state in Spark failed: {text.strip()}"
    assert _cause("no", "the query failed") == "the query failed: no"


def test_packets_of_one_target() -> None:
    """Come one by one; those of two in one task are refused."""
    empty = pa.RecordBatch.from_arrays(
        [pa.array([], pa.int32()), pa.array([], pa.binary())], ["target", "packet"]
    )
    packets = _Packets(iter([empty, _packet(3, b"a"), empty, _packet(3, b"b")]))
    assert (packets.target, list(packets)) == (3, [b"a", b"b"])
    assert _Packets(iter([empty])).target is None
    with pytest.raises(StateError, match="several subtasks"):
        list(_Packets(iter([_packet(3, b"a"), _packet(4, b"b")])))
