"""Columns of state in files: what is damaged is told, and never read as if it were not."""

import pickle
import random

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import SerializationError
from millrace.state.columns.column_entries import ColumnEntries, _restored


def data_of(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def test_entries_come_back_as_they_were() -> None:
    entries = ColumnEntries(pa.record_batch({"k": ["a", "b"], "n": [1, 2]}), 1, 0)
    assert dict(pickle.loads(pickle.dumps(entries))) == {"a": (1,), "b": (2,)}


@pytest.mark.parametrize(("key", "inner"), [(3, 0), (1, 2), (-1, 0), (2, -1)])
def test_counts_of_columns_that_cannot_be_are_refused(key: int, inner: int) -> None:
    data = data_of(pa.record_batch({"k": ["a"], "n": [1]}))
    with pytest.raises(SerializationError, match="columns of state are damaged"):
        _restored(ColumnEntries, data, key, inner)


def test_offsets_that_leave_the_buffer_are_refused() -> None:
    offsets = np.array([0, 1 << 20, 2], np.int32)
    text = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"ab")]
    )
    data = data_of(pa.RecordBatch.from_arrays([text], ["k"]))
    with pytest.raises(SerializationError, match="columns of state are damaged"):
        _restored(ColumnEntries, data, 1, 0)


@pytest.mark.parametrize("seed", range(40))
def test_damage_anywhere_gives_entries_or_an_error_of_ours(seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(data_of(pa.record_batch({"k": ["a", "bc", None], "n": [1, 2, 3]})))
    for _ in range(3):
        data[chance.randrange(len(data))] = chance.randrange(256)
    part = bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
    try:
        found = _restored(ColumnEntries, part, 1, 0)
    except SerializationError:
        return
    found.batch.validate(full=True)
