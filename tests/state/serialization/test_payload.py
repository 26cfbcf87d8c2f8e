"""Payloads with buffers: what is not copied on its way into a file is the same when it is read."""

from __future__ import annotations

import pickle
from types import CodeType
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import SerializationError
from millrace.state.columns.column_entries import ColumnEntries, ColumnKeys
from millrace.state.serialization.payload import decode, encode, encode_chunks
from millrace.state.serialization.pickles import DYNAMIC_CODE, dump_code, dump_pickle

NUMBERS = np.arange(1000)
TEXTS = pa.array([None if n % 7 == 0 else "x" * (n % 13) for n in NUMBERS.tolist()])
BATCH = pa.record_batch({"key": pa.array(NUMBERS), "text": TEXTS})


def table_delta() -> dict[str, ColumnEntries | ColumnKeys]:
    return {"put": ColumnEntries(BATCH, 1, 0), "del": ColumnKeys(BATCH.select(["key"]), 1, 0)}


def test_columns_are_chunks_of_their_own() -> None:
    """Their bytes are views of what Arrow wrote, and all of it reads as one payload."""
    chunks = encode_chunks(table_delta())
    assert sum(isinstance(chunk, memoryview) for chunk in chunks) == 2
    assert max(len(chunk) for chunk in chunks if isinstance(chunk, bytes)) < 1000
    payload = b"".join(chunks)
    assert len(payload) % 8 == 0
    found = decode(payload)
    assert found["put"].batch.equals(BATCH)
    assert found["del"].batch.equals(BATCH.select(["key"]))


def test_columns_are_read_in_place() -> None:
    """Arrow's arrays are aligned as they were, and are not copied out of the payload."""
    payload = b"".join(encode_chunks(table_delta()))
    start = pa.py_buffer(payload).address
    address = decode(payload)["put"].batch.column(0).buffers()[1].address
    assert start < address < start + len(payload)
    assert (address - start) % 8 == 0


def test_columns_in_one_piece() -> None:
    """Where nobody asks for chunks the buffers are part of the pickle."""
    assert decode(encode(table_delta()))["put"].batch.equals(BATCH)


@pytest.mark.parametrize("value", [{"put": {"a": 1}, "del": []}, {"put": {"a": {1}}}, [object]])
def test_what_has_no_buffers_is_one_chunk(value: object) -> None:
    """Plain values as well as others."""
    (chunk,) = encode_chunks(value)
    assert decode(chunk) == value


@pytest.mark.parametrize("end", [1, 8, 12, 16, 20])
def test_the_sizes_of_buffers_are_missing(end: int) -> None:
    """A payload that ends within its head is refused."""
    payload = b"".join(encode_chunks(table_delta()))
    with pytest.raises(SerializationError, match="ends before them"):
        decode(payload[:end])


def test_functions_keep_the_name_of_their_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a cloudpickle that writes another one, as from 3.1.3 on."""
    reduce = cloudpickle.Pickler.dispatch_table[CodeType]

    def nameless(code: CodeType) -> tuple[Any, ...]:
        make, arguments, *more = reduce(code)
        hidden = [DYNAMIC_CODE if each == code.co_filename else each for each in arguments]
        return (make, tuple(hidden), *more)

    monkeypatch.setitem(cloudpickle.Pickler.dispatch_table, CodeType, nameless)
    source = compile("lambda n: (lambda m: 1 / m)(n)", "/jobs/mine.py", "eval")
    function = eval(source)
    assert pickle.loads(cloudpickle.dumps(function)).__code__.co_filename == DYNAMIC_CODE
    for pickled in (dump_code(function, lambda: "it"), dump_pickle(function)):
        loaded = pickle.loads(pickled)
        inner = [each for each in loaded.__code__.co_consts if isinstance(each, CodeType)]
        assert {each.co_filename for each in (loaded.__code__, *inner)} == {"/jobs/mine.py"}
        assert loaded(2) == 0.5
