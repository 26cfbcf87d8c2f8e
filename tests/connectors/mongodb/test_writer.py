"""What the MongoDB writer does about bulks that were not carried out whole: a server of FerretDB's
kind never answers so, one of a replica set that changes its primary does."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy
import pytest
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from millrace.common import ErrorPolicy
from millrace.connectors.mongodb import MongoSink, MongoUnavailableError
from millrace.connectors.mongodb import writer as writer_module
from millrace.connectors.mongodb.operations import KeyedOperations
from millrace.connectors.row_changes import ReplacedRows

STOPPED = {"code": 11600, "errmsg": "interrupted at shutdown"}
DUPLICATE = {"code": 11000, "errmsg": "E11000 duplicate key"}
LATE = {"code": 64, "errmsg": "waiting for replication timed out"}


class Server:
    """Answers each bulk with the next of the given details, then takes all."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.bulks: list[list[str]] = []

    def get_database(self, _name: str) -> Server:
        return self

    def get_collection(self, _name: str, **_options: Any) -> Server:
        return self

    def close(self) -> None:
        pass

    def bulk_write(self, operations: list[Any], ordered: bool) -> None:
        self.bulks.append([key(operation) for operation in operations])
        if self.answers:
            raise BulkWriteError(
                {"writeErrors": [], "writeConcernErrors": [], **self.answers.pop(0)}
            )


def key(operation: Any) -> str:
    found = operation._filter["_id"]
    return found["$eq"] if isinstance(found, dict) else found


def harness_of(server: Server, monkeypatch: Any, sink_harness: Any, ordered: bool) -> Any:
    monkeypatch.setattr(writer_module, "connected", lambda _: server)
    made = MongoSink.builder().set_uri("mongodb://h/").set_database("d").set_collection("c")
    if ordered:
        made.set_serialization_schema(lambda one: UpdateOne({"_id": one["_id"]}, {"$set": one}))
    made.set_max_retries(1).set_retry_interval_ms(0).set_error_policy(ErrorPolicy.skip())
    return sink_harness(made.build())


RECORDS = [{"_id": name} for name in "abcd"]


@pytest.mark.parametrize("ordered", [False, True])
def test_what_a_server_that_stops_did_not_take_is_sent_again(
    ordered: bool, monkeypatch: pytest.MonkeyPatch, sink_harness: Any
) -> None:
    server = Server({"writeErrors": [{"index": 1, **STOPPED}]})
    harness_of(server, monkeypatch, sink_harness, ordered).run_epoch(RECORDS)
    assert server.bulks[1:] == [list("bcd") if ordered else ["b"]]


@pytest.mark.parametrize("ordered", [False, True])
def test_what_is_refused_is_left_out(
    ordered: bool, monkeypatch: pytest.MonkeyPatch, sink_harness: Any
) -> None:
    server = Server({"writeErrors": [{"index": 1, **DUPLICATE}]})
    harness_of(server, monkeypatch, sink_harness, ordered).run_epoch(RECORDS)
    assert server.bulks[1:] == ([list("cd")] if ordered else [])


def test_what_is_not_confirmed_is_sent_again_but_for_what_is_refused(
    monkeypatch: pytest.MonkeyPatch, sink_harness: Any
) -> None:
    errors = {"writeErrors": [{"index": 1, **DUPLICATE}], "writeConcernErrors": [LATE]}
    server = Server(errors)
    harness_of(server, monkeypatch, sink_harness, False).run_epoch(RECORDS)
    assert server.bulks[1:] == [list("acd")]


def test_it_gives_up_in_the_end(monkeypatch: pytest.MonkeyPatch, sink_harness: Any) -> None:
    server = Server(*[{"writeErrors": [{"index": 0, **STOPPED}]}] * 5)
    with pytest.raises(MongoUnavailableError, match=r"takes no writes now: .*tried 2 times"):
        harness_of(server, monkeypatch, sink_harness, False).run_epoch(RECORDS)


@pytest.mark.parametrize(
    "keys",
    [
        [1, 1.0, Decimal("1.0"), numpy.int64(1)],
        [float("nan"), Decimal("nan"), numpy.float64("nan")],
        [{"b": 1, "c": [1]}, {"b": 1.0, "c": [Decimal(1)]}],
        ["a"],
        [True],
    ],
)
def test_keys_that_are_one_to_mongodb_are_one_in_a_bulk(keys: list[Any]) -> None:
    others = [7, "7", False, b"7", {"a": 1}]
    records = [{"_id": key} for key in keys + others]
    tokens = [token for token, _ in KeyedOperations().of(records, ReplacedRows())]
    assert len(set(tokens)) == 1 + len(others)
