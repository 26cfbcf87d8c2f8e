"""The builder of the Elasticsearch sink refuses what cannot be, in sentences."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.sink import CommitMode, DeliveryGuarantee, WriterContext
from millrace.common.types import Row, RowKind
from millrace.common.types.batch import RowBatch
from millrace.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchAction,
    ElasticsearchEmitter,
    ElasticsearchError,
    FlushBackoffType,
)
from millrace.connectors.elasticsearch.writer import ElasticsearchWriter


def complete() -> Elasticsearch7SinkBuilder:
    emitter = ElasticsearchEmitter.static_index("users", "id")
    return Elasticsearch7SinkBuilder().set_hosts("localhost:9200").set_emitter(emitter)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda b: b.set_hosts([]), "'http://host:9200' or a list"),
        (lambda b: b.set_hosts("ftp://x"), r"set_hosts\(\) takes 'http://host:9200'"),
        (lambda b: b.set_hosts("http://x/y"), "set_connection_path_prefix"),
        (lambda b: b.set_hosts("x:port"), "is not the address of a host"),
        (lambda b: b.set_emitter("users"), "takes an ElasticsearchEmitter"),
        (lambda b: b.set_delivery_guarantee("at-least-once"), "takes a DeliveryGuarantee"),
        (lambda b: b.set_bulk_flush_max_actions(0), "a positive number or -1"),
        (lambda b: b.set_bulk_flush_max_size_mb(-2), "a positive number or -1"),
        (lambda b: b.set_bulk_flush_backoff_strategy("x", 1, 1), "takes a FlushBackoffType"),
        (
            lambda b: b.set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, -1, 1),
            "a number of retries",
        ),
        (lambda b: b.set_failure_handler("skip"), "takes a function"),
        (lambda b: b.set_connection_timeout(0), "positive number of milliseconds"),
        (lambda b: ElasticsearchEmitter.static_index(""), "index is a name"),
        (lambda b: ElasticsearchEmitter.dynamic_index("i", 7), "key_field is a name"),
        (lambda b: ElasticsearchEmitter.static_index("i", "k", ""), "doc_type is a name"),
        (lambda b: ElasticsearchEmitter.of("f"), "takes a function"),
    ],
)
def test_what_cannot_be(call: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        call(complete())


def test_what_is_missing() -> None:
    with pytest.raises(JobDefinitionError, match=r"needs set_emitter\(\)"):
        Elasticsearch7SinkBuilder().build()
    emitter = ElasticsearchEmitter.static_index("users")
    with pytest.raises(JobDefinitionError, match=r"needs set_hosts\(\)"):
        Elasticsearch7SinkBuilder().set_emitter(emitter).build()


def test_exactly_once_commits_in_the_subtask() -> None:
    assert complete().build().commit_mode is CommitMode.BEFORE_NEXT_EPOCH
    sink = complete().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    assert sink.build().commit_mode is CommitMode.IN_SUBTASK


def test_passwords_in_addresses_are_not_repeated() -> None:
    with pytest.raises(JobDefinitionError, match="without user and password") as refused:
        complete().set_hosts("http://ada:secret@localhost")
    assert "secret" not in str(refused.value)


def test_without_the_package_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "urllib3", None)
    sink = complete().build()
    with pytest.raises(ElasticsearchError, match=r"pip install 'millrace\[elasticsearch\]'"):
        sink.create_writer(WriterContext(0, 1, "run"), None)


class Requests:
    """A client that notes what it is given, line by line."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def send(self, actions: list[Any]) -> list[Any]:
        for action in actions:
            self.lines += [action.header, *([action.document] if action.document else [])]
        return []


@pytest.mark.parametrize(
    ("builder", "doc_type", "written"),
    [
        (Elasticsearch6SinkBuilder, "user", ',"_type":"user"'),
        (Elasticsearch6SinkBuilder, None, ',"_type":"_doc"'),
        (Elasticsearch7SinkBuilder, "user", ""),
    ],
)
def test_elasticsearch_6_is_told_the_types_of_documents(
    builder: Any, doc_type: str | None, written: str
) -> None:
    """Elasticsearch 6 refuses documents without a type, later versions those with one."""
    emitter = ElasticsearchEmitter.static_index("users", "id", doc_type)
    sink = builder().set_hosts("localhost:9200").set_emitter(emitter).build()
    client = Requests()
    writer = ElasticsearchWriter(sink._settings, WriterContext(0, 1, "run"), client=client)
    writer.write(RowBatch([Row(id=7, name="ada"), Row.of_kind(RowKind.DELETE, id=8, name="eve")]))
    writer.flush(False)
    assert [line.decode() for line in client.lines] == [
        f'{{"index":{{"_index":"users","_id":"7"{written}}}}}',
        '{"id":7,"name":"ada"}',
        f'{{"delete":{{"_index":"users","_id":"8"{written}}}}}',
    ]


def test_actions_of_a_function_have_types_for_elasticsearch_6_too() -> None:
    """An update names its type beside its index; one without a type has the usual one."""

    def actions(name: str) -> list[ElasticsearchAction]:
        return [
            ElasticsearchAction.update("users", {"name": name}, "1"),
            ElasticsearchAction("index", "users", "2", {"name": name}, "user"),
        ]

    emitter = ElasticsearchEmitter.of(actions)
    sink = Elasticsearch6SinkBuilder().set_hosts("localhost").set_emitter(emitter).build()
    client = Requests()
    writer = ElasticsearchWriter(sink._settings, WriterContext(0, 1, "run"), client=client)
    writer.write(RowBatch(["ada"]))
    writer.flush(False)
    assert client.lines[::2] == [
        b'{"update":{"_index":"users","_id":"1","_type":"_doc"}}',
        b'{"index":{"_index":"users","_id":"2","_type":"user"}}',
    ]
