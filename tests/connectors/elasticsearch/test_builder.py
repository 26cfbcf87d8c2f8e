"""The builder of the Elasticsearch sink refuses what cannot be, in sentences."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.sink import DeliveryGuarantee, WriterContext
from millrace.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchError,
    FlushBackoffType,
)


def complete() -> Elasticsearch7SinkBuilder:
    emitter = ElasticsearchEmitter.static_index("users", "id")
    return Elasticsearch7SinkBuilder().set_hosts("localhost:9200").set_emitter(emitter)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda b: b.set_hosts([]), "'http://host:9200' or a list"),
        (lambda b: b.set_hosts("ftp://x"), "a host is 'http://host:9200'"),
        (lambda b: b.set_hosts("http://x/y"), "set_connection_path_prefix"),
        (lambda b: b.set_hosts("x:port"), "is no address of a host"),
        (lambda b: b.set_emitter("users"), "takes an ElasticsearchEmitter"),
        (lambda b: b.set_delivery_guarantee("at-least-once"), "takes a DeliveryGuarantee"),
        (lambda b: b.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE), "no transactions"),
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


def test_passwords_in_addresses_are_not_repeated() -> None:
    with pytest.raises(JobDefinitionError, match="without user and password") as refused:
        complete().set_hosts("http://ada:secret@localhost")
    assert "secret" not in str(refused.value)


def test_without_the_package_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "urllib3", None)
    sink = complete().build()
    with pytest.raises(ElasticsearchError, match=r"pip install 'millrace\[elasticsearch\]'"):
        sink.create_writer(WriterContext(0, 1, "run", "attempt", 1, 0), None)
