"""The Elasticsearch sink against a real OpenSearch node, and a node between that misbehaves."""

from __future__ import annotations

import base64
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from killed_job import executors
from opensearch import OpenSearch
from service import free_ports

from millrace.common import Row, RowKind
from millrace.common.errors import JobExecutionError, MillraceError
from millrace.connectors.elasticsearch import (
    DocumentFailure,
    Elasticsearch7SinkBuilder,
    ElasticsearchAction,
    ElasticsearchEmitter,
    ElasticsearchError,
    FlushBackoffType,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

from ..upsert_driver import UpsertDriver
from .scripted_node import ScriptedNode, scripted_node

pytestmark = pytest.mark.connectors

CONSTANT, EXPONENTIAL = FlushBackoffType.CONSTANT, FlushBackoffType.EXPONENTIAL


@pytest.fixture
def index() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def node(opensearch: OpenSearch) -> Iterator[ScriptedNode]:
    with scripted_node(opensearch.url) as running:
        yield running


def builder(hosts: Any, index: str, key: str | None = "id") -> Elasticsearch7SinkBuilder:
    emitter = ElasticsearchEmitter.static_index(index, key)
    return Elasticsearch7SinkBuilder().set_hosts(hosts).set_emitter(emitter)


def write(values: list[Any], sink: Any, **local: Any) -> None:
    """A job that writes the values."""
    with run_local(**local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.enable_checkpointing(1)
        keyed = env.from_collection(values).key_by(lambda value: value["id"])
        keyed.map(lambda value: value).sink_to(sink)
        env.execute("write")


@pytest.fixture
def batch(sink_harness: Any) -> Callable[[Any, list[Any]], None]:
    """Writes an epoch."""
    return lambda sink, values: sink_harness(sink).run_epoch(values)


@pytest.mark.parametrize("key", ["id", None])
def test_documents_arrive(opensearch: OpenSearch, index: str, key: str | None) -> None:
    values = [{"id": str(i), "n": i} for i in range(500)]
    write(values, builder(opensearch.url, index, key).build(), epoch_records=100)
    found = opensearch.documents(index)
    assert sorted(found.values(), key=lambda document: document["n"]) == values
    assert (key is None) or set(found) == {value["id"] for value in values}


def test_what_was_written_again_replaces_itself(opensearch: OpenSearch, index: str) -> None:
    """Epochs fail after their documents were sent: with ids none is there twice."""
    values = [{"id": str(i), "n": i} for i in range(400)]
    sink = builder(opensearch.url, index).build()
    faults = Faults(lost_epochs=0.3, lost_workers=0.2, repeated_tasks=0.2)
    write(values, sink, epoch_records=50, faults=faults)
    assert opensearch.documents(index) == {value["id"]: value for value in values}


KINDS = st.sampled_from([RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE])


@settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    changes=st.lists(st.tuples(KINDS, st.integers(0, 4), st.integers()), max_size=40),
    actions=st.integers(1, 20),
)
def test_an_index_follows_a_changelog(
    opensearch: OpenSearch, sink_harness: Any, changes: Any, actions: int
) -> None:
    """Whatever of it is in one request: like a dict that gets the same changes."""
    index = f"test-{uuid.uuid4().hex[:12]}"
    expected: dict[str, Any] = {}
    rows = []
    for kind, key, number in changes:
        number %= 1000
        rows.append(Row.of_kind(kind, id=key, n=number))
        if kind is RowKind.DELETE:
            expected.pop(str(key), None)
        else:
            expected[str(key)] = {"id": key, "n": number}
    opensearch.request("PUT", f"/{index}")
    sink = builder(opensearch.url, index).set_bulk_flush_max_actions(actions).build()
    sink_harness(sink).run_epoch(rows)
    assert opensearch.documents(index) == expected


def test_fields_choose_index_and_a_function_what_is_done(
    opensearch: OpenSearch, index: str, batch: Any
) -> None:
    def changes(value: dict[str, Any]) -> list[ElasticsearchAction]:
        part = {name: value[name] for name in value if name not in ("id", "index")}
        return [ElasticsearchAction.update(index, part, value["id"])]

    dynamic = ElasticsearchEmitter.dynamic_index("index", "id")
    for emitter, value in (
        (dynamic, {"index": index, "id": "1", "a": 1}),
        (ElasticsearchEmitter.of(changes), {"id": "1", "b": 2}),
        (ElasticsearchEmitter.of(changes), {"id": "1", "a": 3}),
        (ElasticsearchEmitter.of(changes), {"id": "2", "a": 4}),
    ):
        batch(builder(opensearch.url, index).set_emitter(emitter).build(), [value] * 2)
    changed = {"index": index, "id": "1", "a": 3, "b": 2}
    assert opensearch.documents(index) == {"1": changed, "2": {"a": 4}}


def test_values_of_many_types(opensearch: OpenSearch, index: str, batch: Any) -> None:
    row = Row(id=1, at=datetime(2026, 1, 2, 3), price=Decimal("1.50"), raw=b"ab", inner=Row(x=None))
    batch(builder(opensearch.url, index).build(), [row])
    expected = {"id": 1, "at": "2026-01-02T03:00:00", "price": 1.5, "raw": "YWI="}
    assert opensearch.documents(index) == {"1": expected | {"inner": {"x": None}}}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("text", "is not a document: use dicts or Rows"),
        ({"n": 1}, "has no value in field 'id'"),
        (Row(1, 2), "name its fields"),
        ({"id": 1, "n": object()}, "object has no form in JSON"),
        (Row(id=1, n=Row(x=[0.5, float("nan")])), r"field 'n\.x' is nan, for which JSON has no"),
        ({"id": 1, "n": -float("inf"), "m": None}, "field 'n' is -inf"),
        ({"id": 1, "n": Decimal("NaN")}, "field 'n' is NaN"),
    ],
)
def test_records_that_are_no_documents(batch: Any, index: str, value: Any, said: str) -> None:
    """They are refused before anything is sent."""
    with pytest.raises(MillraceError, match=said):
        batch(builder("localhost:9", index).build(), [value])


def test_changes_need_a_key(batch: Any, index: str) -> None:
    sink = builder("localhost:9", index, key=None).build()
    with pytest.raises(MillraceError, match="no key_field by which the document is found"):
        batch(sink, [Row.of_kind(RowKind.DELETE, id=1)])


class TestRefusedDocuments:
    VALUES = ({"id": "1", "n": 1}, {"id": "2", "n": "many"}, {"id": "3", "n": 3})

    def test_they_fail_the_job_with_the_cause(
        self, opensearch: OpenSearch, index: str, batch: Any
    ) -> None:
        with pytest.raises(ElasticsearchError) as failed:
            batch(builder(opensearch.url, index).build(), list(self.VALUES))
        said = str(failed.value)
        assert f"index of '2' in index '{index}': failed to parse field [n]" in said
        assert "400 mapper_parsing_exception" in said
        assert "set_failure_handler" in said

    def test_a_handler_can_pass_over_them(
        self, opensearch: OpenSearch, index: str, batch: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[DocumentFailure] = []
        monkeypatch.setattr(TestRefusedDocuments, "seen", seen, raising=False)
        sink = builder(opensearch.url, index).set_failure_handler(note).build()
        batch(sink, list(self.VALUES))
        assert set(opensearch.documents(index)) == {"1", "3"}
        [failure] = seen
        assert (failure.document_id, failure.status) == ("2", 400)
        assert failure.document == b'{"id":"2","n":"many"}'

    def test_a_bad_name_of_an_index(self, opensearch: OpenSearch, batch: Any) -> None:
        with pytest.raises(ElasticsearchError, match="Invalid index name"):
            batch(builder(opensearch.url, "Not_Lower").build(), [{"id": "1"}])


def note(failure: DocumentFailure) -> None:
    TestRefusedDocuments.seen.append(failure)  # type: ignore[attr-defined]


class TestRetries:
    def test_a_busy_cluster_gets_the_rest_again(
        self, node: ScriptedNode, opensearch: OpenSearch, index: str, batch: Any
    ) -> None:
        """Only the refused documents, and whole requests that nobody took."""
        node.script = [503, {"2": 429, "3": 503}, 429, {"3": 429}]
        sink = builder(node.url, index).set_bulk_flush_backoff_strategy(EXPONENTIAL, 5, 1).build()
        values = [{"id": str(i)} for i in range(4)]
        batch(sink, values)
        assert opensearch.documents(index) == {value["id"]: value for value in values}
        sent = [[line["id"] for line in lines[1::2]] for lines in node.requests]
        assert sent == [list("0123"), list("0123"), list("23"), list("23"), list("3")]

    def test_a_retry_never_replaces_what_is_newer(
        self, node: ScriptedNode, opensearch: OpenSearch, index: str, batch: Any
    ) -> None:
        node.script = [{"1": 429}]
        sink = builder(node.url, index).set_bulk_flush_backoff_strategy(CONSTANT, 3, 1)
        values = [{"id": "1", "n": n} for n in range(7)]
        batch(sink.set_bulk_flush_max_actions(1).build(), values)
        assert opensearch.documents(index) == {"1": {"id": "1", "n": 6}}

    def test_an_answer_that_was_lost(
        self, node: ScriptedNode, opensearch: OpenSearch, index: str, batch: Any
    ) -> None:
        node.script = ["lost"]
        sink = builder(node.url, index).set_bulk_flush_backoff_strategy(CONSTANT, 1, 1).build()
        batch(sink, [{"id": "1"}])
        assert opensearch.documents(index) == {"1": {"id": "1"}}
        assert len(node.requests) == 2

    def test_it_gives_up(self, node: ScriptedNode, index: str, batch: Any) -> None:
        node.script = [429, 429, 429, None]
        sink = builder(node.url, index).set_bulk_flush_backoff_strategy(CONSTANT, 2, 1).build()
        with pytest.raises(ElasticsearchError, match="takes no request after 2 retries: .* 429"):
            batch(sink, [{"id": "1"}])

    def test_without_a_strategy_nothing_is_sent_again(
        self, node: ScriptedNode, index: str, batch: Any
    ) -> None:
        node.script = [503]
        with pytest.raises(ElasticsearchError, match="set_bulk_flush_backoff_strategy"):
            batch(builder(node.url, index).build(), [{"id": "1"}])
        node.script = [{"1": 429}]
        with pytest.raises(ElasticsearchError, match="give the cluster time"):
            batch(builder(node.url, index).build(), [{"id": "1"}])

    def test_the_next_node_is_asked(self, opensearch: OpenSearch, index: str, batch: Any) -> None:
        [nobody] = free_ports(1)
        sink = builder([f"http://127.0.0.1:{nobody}", opensearch.url], index).build()
        batch(sink, [{"id": "1"}])
        assert set(opensearch.documents(index)) == {"1"}

    def test_nobody_is_there(self, index: str, batch: Any) -> None:
        [nobody] = free_ports(1)
        said = f"takes no request: http://127.0.0.1:{nobody}: .*Connection refused"
        with pytest.raises(ElasticsearchError, match=said):
            batch(builder(f"127.0.0.1:{nobody}", index).build(), [{"id": "1"}])


class TestCredentials:
    SECRET = "not-for-logs"

    @pytest.mark.parametrize(
        ("calls", "header"),
        [
            (
                {"set_connection_username": "ada", "set_connection_password": SECRET},
                "Basic " + base64.b64encode(f"ada:{SECRET}".encode()).decode(),
            ),
            ({"set_connection_api_key": SECRET}, f"ApiKey {SECRET}"),
            ({"set_connection_token": SECRET}, f"Bearer {SECRET}"),
        ],
    )
    def test_they_are_sent_and_shown_nowhere(
        self,
        node: ScriptedNode,
        index: str,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
        calls: dict[str, str],
        header: str,
    ) -> None:
        """Not in the sink's repr, errors, logs and checkpoints."""
        building = builder(node.url, index)
        for call, value in calls.items():
            getattr(building, call)(value)
        sink = building.build()
        assert self.SECRET not in repr(sink._settings)
        write([{"id": "1"}], sink, checkpoint_dir=str(tmp_path))
        assert node.authorizations == [header]
        node.script = [401] * 9
        with pytest.raises(JobExecutionError, match=r"refuses .*401.*see set_connection") as failed:
            write([{"id": "1"}], sink)
        assert self.SECRET not in str(failed.value) + caplog.text
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert not any(self.SECRET.encode() in path.read_bytes() for path in files)


def test_a_server_that_is_no_cluster(node: ScriptedNode, index: str, batch: Any) -> None:
    node.script = [404]
    with pytest.raises(ElasticsearchError, match=r"refuses a bulk request \(404\): as the test"):
        batch(builder(node.url, index).build(), [{"id": "1"}])


def test_a_server_that_agrees_to_anything(node: ScriptedNode, index: str, batch: Any) -> None:
    """A proxy that answers for a cluster: nothing says that documents were written."""
    node.script = [200]
    with pytest.raises(
        ElasticsearchError, match="does not answer like Elasticsearch or OpenSearch"
    ):
        batch(builder(node.url, index).build(), [{"id": "1"}])


def test_a_request_that_is_too_large(node: ScriptedNode, index: str, batch: Any) -> None:
    node.script = [413]
    with pytest.raises(ElasticsearchError, match="lower set_bulk_flush_max_size_mb"):
        batch(builder(node.url, index).build(), [{"id": "1"}])


def test_a_path_prefix(node: ScriptedNode, index: str, batch: Any) -> None:
    node.script = [404]
    sink = builder(node.url, index).set_connection_path_prefix("/search/").build()
    with pytest.raises(ElasticsearchError, match=r"/search refuses a bulk request"):
        batch(sink, [{"id": "1"}])
    assert node.paths == ["/search/_bulk"]


def test_requests_have_limits(node: ScriptedNode, index: str, batch: Any) -> None:
    values = [{"id": str(i), "text": "x" * 300_000} for i in range(5)]
    batch(builder(node.url, index).set_bulk_flush_max_size_mb(1).build(), values)
    assert [len(lines) // 2 for lines in node.requests] == [3, 2]
    node.requests.clear()
    batch(builder(node.url, index).set_bulk_flush_max_actions(2).build(), values)
    assert [len(lines) // 2 for lines in node.requests] == [2, 2, 1]


def test_a_sink_travels(index: str) -> None:
    sink = pickle.loads(pickle.dumps(builder("localhost", index).build()))
    assert sink._settings.connection.hosts == ("http://localhost:9200",)


@pytest.mark.fault
def test_a_node_that_is_killed_and_comes_back(tmp_path: Path, index: str) -> None:
    """While it is away the sink waits; every document is there once."""
    values = [{"id": str(i), "n": i} for i in range(300)]
    with OpenSearch(tmp_path) as node:
        building = builder(node.url, index).set_bulk_flush_max_actions(20)
        sink = building.set_bulk_flush_backoff_strategy(CONSTANT, 3000, 100).build()
        job = threading.Thread(target=write, args=(values, sink), kwargs={"epoch_records": 20})
        job.start()
        until = time.monotonic() + 60
        while len(_some(node, index)) < 20:
            assert time.monotonic() < until
        node.kill()
        node.resume()
        job.join(240)
        assert not job.is_alive()
        assert node.documents(index) == {value["id"]: value for value in values}


def _some(node: OpenSearch, index: str) -> dict[str, Any]:
    try:
        return node.documents(index)
    except KeyError:  # there is no such index yet
        return {}


@executors
def test_nothing_of_a_lost_epoch_stays_with_a_log(
    executor: str, opensearch: OpenSearch, index: str, tmp_path: Path
) -> None:
    place = f"{opensearch.url} {index}"
    UpsertDriver("elasticsearch", place, tmp_path, 2_000, executor, logged=True).run_through_kills()
    totals = [document["total"] for document in opensearch.documents(index).values()]
    assert sorted(totals) == list(range(2_000))
