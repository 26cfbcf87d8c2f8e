"""Every exchange on columns against the same exchange on the same records as rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobExecutionError, KeyTypeError
from millrace.common.functions.key_selector import batch_keys, resolve_key_selector
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.exchange import create_exchange
from millrace.runtime.exchange_output import ExchangeOutput
from millrace.runtime.program import Exchange, JobEdge
from millrace.runtime.subtask import ChannelReader
from millrace.state.serialization.pickles import dump_code

KEYS = {
    "name": "key",
    "names": ("key", "word"),
    "nested": ("word", ("key", "number")),
    "function": lambda record: record["key"] % 3,
    "key selector of a name": ["word"],
}
SCHEMA = pa.schema([("key", pa.int64()), ("word", pa.string()), ("number", pa.int64())])
Record = dict[str, Any]


def _modulo(key: int, targets: int) -> int:
    return key % targets


def exchange(kind: Exchange, key: Any = "key", targets: int = 3, limit: int = 4) -> ExchangeOutput:
    keyed = kind in (Exchange.KEYED, Exchange.CUSTOM)
    edge = JobEdge(
        5, 0, 1, kind,
        resolve_key_selector(key) if keyed else None,
        batch_keys(key) if keyed else None,
        name="key_by after Source",
        partitioner=dump_code(_modulo, str) if kind is Exchange.CUSTOM else b"",
    )  # fmt: skip
    made = create_exchange(edge, 1, 2, targets, limit, 128)
    made.open(None)
    made.begin_epoch(0, attempt=9)
    return made


def columns(
    records: list[Record], times: list[int] | None = None, form: str = "dict"
) -> ColumnBatch:
    data = pa.RecordBatch.from_pylist(records, schema=SCHEMA)
    return ColumnBatch(data, None if times is None else pa.array(times, pa.int64()), form=form)


def sent(output: ExchangeOutput) -> list[Buffer]:
    output.end_epoch(idle=False)
    return [Buffer.unpack(buffer.pack()) for buffer in output.full]


def received(buffers: list[Buffer]) -> dict[int, list[tuple[Any, int | None]]]:
    """Per target: (record, event time) in their order."""
    arrived: dict[int, list[tuple[Any, int | None]]] = defaultdict(list)
    for target in {buffer.target for buffer in buffers}:
        reader = ChannelReader()
        mine = [buffer for buffer in buffers if buffer.target == target]
        for buffer in sorted(mine, key=lambda buffer: buffer.sequence):
            if buffer.kind != BufferKind.END:
                rows = reader.read(buffer).to_rows()
                assert len(rows) == buffer.size
                times = rows.timestamps or [None] * len(rows)
                arrived[target] += zip(rows.values, times, strict=True)
    return arrived


RECORDS = st.lists(st.tuples(st.integers(-5, 9), st.sampled_from(["a", "b", "ü"])), max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(list(Exchange)),
    st.sampled_from(sorted(KEYS)),
    st.lists(st.tuples(RECORDS, st.booleans(), st.booleans()), max_size=6),
    st.sampled_from([2, 3, 20]),
)
def test_columns_go_where_rows_go(kind, key, batches, targets) -> None:
    """Batches of both forms, with and without event times, in one exchange, and as rows only."""
    selector = "key" if kind is Exchange.CUSTOM else KEYS[key]
    mixed, rows = exchange(kind, selector, targets), exchange(kind, selector, targets)
    sent_records, serial = [], 0
    for pairs, timed, columnar in batches:
        records = []
        for number, word in pairs:
            records.append({"key": number, "word": word, "number": serial})
            serial += 1
        times = [record["number"] + 1000 for record in records] if timed else None
        plain: Batch = RowBatch(records, times)
        mixed.emit(columns(records, times) if columnar else plain)
        rows.emit(plain)
        sent_records += zip(records, times or [None] * len(records), strict=True)
    found, expected = received(sent(mixed)), received(sent(rows))
    if kind in (Exchange.REBALANCE, Exchange.RESCALE, Exchange.SHUFFLE):
        # which target gets a record is free; nothing is lost, and the order stays
        assert _numbers(found) == Counter(record["number"] for record, _ in sent_records)
        for pairs in found.values():
            numbers = [record["number"] for record, _ in pairs]
            assert numbers == sorted(numbers)
            assert all(time in (None, record["number"] + 1000) for record, time in pairs)
    else:
        assert found == expected


def _numbers(arrived: dict[int, list[tuple[Any, int | None]]]) -> Counter[int]:
    return Counter(record["number"] for pairs in arrived.values() for record, _ in pairs)


@pytest.mark.parametrize("kind", [Exchange.REBALANCE, Exchange.RESCALE])
def test_columns_are_spread_evenly(kind) -> None:
    output = exchange(kind, targets=3)
    for size in (1, 5, 1, 200, 6):
        output.emit(columns([{"key": 1, "word": "a", "number": n} for n in range(size)]))
    sizes = [len(pairs) for pairs in received(sent(output)).values()]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("kind", [Exchange.SHUFFLE, Exchange.REBALANCE])
def test_a_repeated_epoch_spreads_alike(kind) -> None:
    first, second = exchange(kind), exchange(kind)
    second.emit(columns([{"key": 1, "word": "aborted", "number": 1}]))
    second.begin_epoch(0, attempt=9)
    for output in (first, second):
        output.emit(columns([{"key": n, "word": "a", "number": n} for n in range(50)]))
    assert sent(first) == sent(second)


def test_small_batches_are_coalesced() -> None:
    output = exchange(Exchange.KEYED, targets=32, limit=100)
    for start in range(0, 3000, 10):
        output.emit(
            columns([{"key": n, "word": "a", "number": n} for n in range(start, start + 10)])
        )
    assert not output.full
    buffers = [buffer for buffer in sent(output) if buffer.kind != BufferKind.END]
    assert len(buffers) == 32
    assert {buffer.kind for buffer in buffers} == {BufferKind.COLUMNS_BEGIN}
    assert _numbers(received(buffers)) == Counter(range(3000))


def test_many_wait_no_longer_and_the_schema_goes_once() -> None:
    output = exchange(Exchange.FORWARD, targets=2, limit=100)
    for _ in range(3):
        output.emit(columns([{"key": n, "word": "a", "number": n} for n in range(1600)]))
    assert [buffer.kind for buffer in output.full] == [
        BufferKind.COLUMNS_BEGIN, BufferKind.COLUMNS, BufferKind.COLUMNS,
    ]  # fmt: skip


def test_big_batches_are_cut() -> None:
    output = exchange(Exchange.FORWARD, targets=2)
    words = ["x" * 1_000_000] * 40
    output.emit(columns([{"key": n, "word": word, "number": n} for n, word in enumerate(words)]))
    assert max(len(buffer.payload) for buffer in output.full) < 18_000_000
    assert _numbers(received(sent(output))) == Counter(range(40))


def test_another_schema_begins_another_stream() -> None:
    output = exchange(Exchange.FORWARD, targets=2)
    batches = [{"x": [1, 2]}, {"x": ["a"]}, {"y": [None]}, {"x": [3]}]
    for data in batches:
        output.emit(ColumnBatch(pa.record_batch(data)))
    arrived = received(sent(output))
    assert [record for record, _ in arrived[1]] == [
        {"x": 1}, {"x": 2}, {"x": "a"}, {"y": None}, {"x": 3},
    ]  # fmt: skip


def test_dictionaries_that_differ_are_joined() -> None:
    output = exchange(Exchange.KEYED, "word", targets=5)
    words = [["a", "b", None], ["c", "a"], ["d"]]
    for part in words:
        output.emit(ColumnBatch(pa.record_batch({"word": pa.array(part).dictionary_encode()})))
    plain = exchange(Exchange.KEYED, "word", targets=5)
    plain.emit(RowBatch([{"word": word} for part in words for word in part]))
    assert received(sent(output)) == received(sent(plain))


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_views_are_divided(kind) -> None:
    output = exchange(Exchange.KEYED, "x")
    array = pa.array(["a", "b", None, "c" * 50]).cast(kind)
    output.emit(ColumnBatch(pa.record_batch({"x": array})))
    arrived = received(sent(output))
    assert sorted(str(record["x"]) for pairs in arrived.values() for record, _ in pairs) == sorted(
        map(str, array.to_pylist())
    )


def test_row_kinds_travel() -> None:
    output = exchange(Exchange.KEYED, "key")
    batch = columns([{"key": n, "word": "a", "number": n} for n in range(20)], form="row")
    batch.row_kinds = pa.array([n % 4 for n in range(20)], pa.int8())
    output.emit(batch)
    rows = [row for pairs in received(sent(output)).values() for row, _ in pairs]
    assert len(rows) == 20
    assert all(row.get_row_kind().value == row.number % 4 for row in rows)


@pytest.mark.parametrize("form", ["row", "tuple"])
@pytest.mark.parametrize("key", [0, -1, (0, 1)])
def test_positions_are_columns_of_rows_and_tuples(form, key) -> None:
    records = [{"key": n, "word": "a", "number": n * n} for n in range(20)]
    output, plain = exchange(Exchange.KEYED, key), exchange(Exchange.KEYED, key)
    output.emit(columns(records, form=form))
    plain.emit(RowBatch(columns(records, form=form).to_rows().values))
    assert received(sent(output)) == received(sent(plain))


def test_a_missing_field_is_named_as_for_rows() -> None:
    output = exchange(Exchange.KEYED, "nothing")
    output.emit(columns([{"key": 1, "word": "a", "number": 1}]))
    with pytest.raises(JobExecutionError, match=r"key_by\('nothing'\).*has no field 'nothing'"):
        sent(output)


@pytest.mark.parametrize("key", ["x", lambda record: record["x"]], ids=["name", "function"])
@pytest.mark.parametrize("value", [{"a": 1}, float("nan")], ids=["struct", "nan"])
def test_keys_without_a_stable_encoding_are_refused(key, value) -> None:
    output = exchange(Exchange.KEYED, key)
    output.emit(ColumnBatch(pa.record_batch({"x": [value]})))
    with pytest.raises(KeyTypeError):
        sent(output)


@pytest.mark.parametrize("key", ["x", lambda record: record["x"]], ids=["name", "function"])
def test_lists_in_columns_key_like_tuples(key) -> None:
    """They go where the tuple of a record goes."""
    output, plain = exchange(Exchange.KEYED, key), exchange(Exchange.KEYED, lambda r: tuple(r["x"]))
    batch = ColumnBatch(pa.record_batch({"x": [[n, n + 1] for n in range(20)]}))
    output.emit(batch)
    plain.emit(batch)
    assert received(sent(output)) == received(sent(plain))


def test_what_arrow_cannot_divide_is_named() -> None:
    output = exchange(Exchange.KEYED, "key")
    ends = pa.RunEndEncodedArray.from_arrays([1, 3], ["a", "b"])
    output.emit(ColumnBatch(pa.record_batch({"key": [1, 2, 3], "runs": ends})))
    with pytest.raises(JobExecutionError, match="'runs' of type run_end_encoded.*cast it"):
        sent(output)


def of_small_indices(first: int) -> ColumnBatch:
    words = pa.array([f"w{number}" for number in range(first, first + 100)])
    indices = pa.array(range(100), pa.int8())
    return ColumnBatch(
        pa.record_batch({"word": pa.DictionaryArray.from_arrays(indices, words)}),
    )


@pytest.mark.parametrize("kind", [Exchange.FORWARD, Exchange.BROADCAST, Exchange.KEYED])
def test_dictionaries_that_are_too_many_for_their_indices_are_not_joined(kind: Exchange) -> None:
    output = exchange(kind, "word", targets=2)
    for first in (0, 100, 200):
        output.emit(of_small_indices(first))
    arrived = received(sent(output))
    expected = {f"w{number}" for number in range(300)}
    assert {record["word"] for found in arrived.values() for record, _ in found} == expected


def test_records_without_fields_are_divided_too() -> None:
    nothing = columns([{"key": 1, "word": "", "number": 2}] * 7).data.select([])
    output = exchange(Exchange.SHUFFLE)
    output.emit(ColumnBatch(nothing, form="tuple"))
    assert sum(map(len, received(sent(output)).values())) == 7


def test_no_piece_of_columns_tells_a_watermark_that_the_others_are_behind() -> None:
    output = exchange(Exchange.GLOBAL, limit=4096)
    output.emit_watermark(5)
    output.emit(ColumnBatch(pa.record_batch({"word": ["x" * 1000] * 9000})))
    output.emit_watermark(9)
    output.emit(ColumnBatch(pa.record_batch({"word": ["x" * 100_000] * 300})))
    *pieces, end = (buffer for buffer in sent(output) if buffer.target == 0)
    assert [buffer.watermark for buffer in pieces] == [5] * len(pieces)
    assert len(pieces) > 1
    assert end.watermark == 9


def test_metadata_that_differs_does_not_begin_another_stream() -> None:
    output = exchange(Exchange.GLOBAL, limit=1)
    for number in range(3):
        batch = columns([{"key": number, "word": "a", "number": 1}] * 20)
        noted = batch.data.replace_schema_metadata({"pandas": str(number)})
        output.emit(ColumnBatch(noted))
    output.end_epoch(False)
    buffers = [buffer for buffer in sent(output) if buffer.kind != BufferKind.END]
    begun = [buffer.kind for buffer in buffers].count(BufferKind.COLUMNS_BEGIN)
    assert begun == 1
    reader = ChannelReader()
    read = [record for buffer in buffers for record in reader.read(buffer).to_rows().values]
    assert [record["key"] for record in read] == [n for n in range(3) for _ in range(20)]


def test_columns_for_the_same_task_are_handed_over() -> None:
    output = exchange(Exchange.BROADCAST, targets=3)
    output.tasks, output.hands_over = 2, True
    batch = columns([{"key": 1, "word": "a", "number": 2}], [7])
    output.emit(batch)
    output.flush()
    handed = {buffer.target: buffer.batch for buffer in output.full}
    assert handed[0] is handed[2] is None
    assert handed[1] is not None
    assert handed[1].to_rows().values == batch.to_rows().values
    assert handed[1].to_rows().timestamps == [7]
    encoded = [buffer for buffer in output.full if buffer.batch is None]
    assert {t: [time for _, time in got] for t, got in received(encoded).items()} == {
        0: [7],
        2: [7],
    }
    assert output.records == 3
