"""Keys that are not of the type declared for them are refused where records are spread by key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millrace.common import Types
from millrace.common.errors import SerializationError, UserFunctionError
from millrace.common.functions.key_selector import batch_keys, resolve_key_selector
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.exchange import create_exchange
from millrace.runtime.exchange_output import ExchangeOutput
from millrace.runtime.program import Exchange, JobEdge
from millrace.testing import run_local

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def run(records: list[Any], key: Any, key_type: Any) -> list[Any]:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        keyed = env.from_collection(records).name("letters").key_by(key, key_type)
        return list(keyed.map(lambda record: record).execute_and_collect())


def keyed(key: Any, key_type: Any) -> ExchangeOutput:
    edge = JobEdge(
        5, 0, 1, Exchange.KEYED, resolve_key_selector(key), batch_keys(key), key_type=key_type
    )
    made = create_exchange(edge, 0, 1, 3, 100, 128)
    made.begin_epoch(0, attempt=0)
    return made


def rows(n: list[Any], word: list[Any]) -> Batch:
    return RowBatch([{"n": one, "word": other} for one, other in zip(n, word, strict=True)])


def columns(n: list[Any], word: list[Any]) -> Batch:
    return ColumnBatch(pa.record_batch({"n": n, "word": word}))


def test_the_record_and_the_operator_are_named() -> None:
    with pytest.raises(UserFunctionError) as caught:
        run([("a", 1), ("b", 2), ("c", "3")], lambda record: record[1], Types.LONG())
    assert caught.value.operator == "key_by after letters"
    assert caught.value.record == "('c', '3')"
    expected = "keys are declared as LONG, but it is '3' (str), not LONG: '3'; give key_by() the"
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("key", "key_type"),
    [
        (0, Types.LONG()),
        ([1, 0], PAIR),
        (list, Types.LIST(Types.STRING())),
        (lambda record: None, Types.STRING()),
    ],
)
def test_keys_of_the_type_go_on(key: Any, key_type: Any) -> None:
    records: list[Any] = [(1, "a"), (2, "b"), (1, "a")]
    if key_type == Types.LIST(Types.STRING()):
        records = [("1", "a"), ("2", "b")]
    assert sorted(run(records, key, key_type)) == sorted(records)


@pytest.mark.parametrize("batch", [rows, columns])
@pytest.mark.parametrize(
    ("key", "key_type"),
    [
        ("n", Types.STRING()),
        ("word", Types.LONG()),
        (["n", "word"], PAIR),
        (lambda record: record["n"], Types.STRING()),
        (lambda record: record["word"], Types.LONG()),
    ],
)
def test_whatever_the_form_of_the_batch(batch: Any, key: Any, key_type: Any) -> None:
    exchange = keyed(key, key_type)

    def send() -> None:
        exchange.emit(batch([1, 2], ["a", "b"]))
        exchange.end_epoch(False)

    with pytest.raises(SerializationError, match="keys are declared as "):
        send()


def test_columns_of_another_type_are_looked_at_again() -> None:
    exchange = keyed("n", Types.INT())
    for _ in range(2):
        exchange.emit(columns([1, None, 3], ["a", "b", "c"]))
        exchange.end_epoch(False)
        exchange.begin_epoch(1, attempt=1)
    exchange.emit(columns(["1"], ["a"]))
    with pytest.raises(SerializationError, match="not INT"):
        exchange.end_epoch(False)


def test_without_a_type_any_key_is_right() -> None:
    records = [(1, "a"), ("1", "b")]
    assert sorted(run(records, 0, None), key=str) == sorted(records, key=str)
    assert sorted(run(records, 0, Types.PICKLED_BYTE_ARRAY()), key=str) == sorted(records, key=str)
