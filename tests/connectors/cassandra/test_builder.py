"""Options of the Cassandra sink: what is refused, and what is never shown."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.query import UNSET_VALUE

from millrace.common import ErrorPolicy, OutputTag
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import CommitMode, DeliveryGuarantee, WriterContext
from millrace.connectors.cassandra import (
    CassandraError,
    CassandraFailureHandler,
    CassandraSink,
    ClusterBuilder,
    ConsistencyLevel,
    MapperOptions,
)
from millrace.connectors.cassandra.statements import Statements
from millrace.connectors.cassandra.writer import CassandraWriter


def builder() -> Any:
    return CassandraSink.builder().set_host(["c-1", "c-2"]).set_credentials("app", "pass")


def test_secrets_are_not_shown() -> None:
    sink = builder().set_table("shop.totals").set_ttl(60).build()
    assert repr(sink) == "CassandraSink(table shop.totals, Cassandra at c-1, c-2:9042)"
    assert "pass" not in repr(vars(sink))
    assert vars(pickle.loads(pickle.dumps(sink))) == vars(sink)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda b: b.set_host(""), "a host's name"),
        (lambda b: b.set_host("c", 0), "port must be"),
        (lambda b: b.set_table("totals"), "'keyspace.table'"),
        (lambda b: b.set_query(" "), "a text in CQL"),
        (lambda b: b.set_consistency_level("ONE"), "takes a ConsistencyLevel"),
        (lambda b: b.set_consistency_level(ConsistencyLevel.SERIAL), "SERIAL is for reads"),
        (lambda b: b.set_mapper_options({"ttl": 1}), r"takes MapperOptions\(\)"),
        (lambda _: MapperOptions().ttl(0), "ttl must be"),
        (lambda _: MapperOptions().timestamp(-1), "timestamp must be"),
        (lambda _: MapperOptions().tracing(True), "a trace for every row"),
        (lambda _: MapperOptions().consistency_level(ConsistencyLevel.LOCAL_SERIAL), "for reads"),
        (
            lambda b: (
                b.set_table("a.b")
                .set_mapper_options(MapperOptions().if_not_exists(True).timestamp(1))
                .build()
            ),
            r"if_not_exists\(\) or timestamp\(\), not both",
        ),
        (lambda b: b.set_failure_handler(print), "takes a CassandraFailureHandler"),
        (lambda b: b.set_ttl(0), "seconds must be"),
        (lambda b: b.set_request_timeout(0), "milliseconds must be"),
        (lambda b: b.set_max_concurrent_requests(0), "max_concurrent_requests must be"),
        (lambda b: b.set_max_retries(-1), "max_retries must be"),
        (lambda b: b.set_retry_interval_ms("1"), "retry_interval_ms must be"),
        (lambda b: b.set_cluster_builder(5), "takes a function"),
        (lambda b: b.set_error_policy(ErrorPolicy.side_output(OutputTag("x"))), "no side output"),
        (lambda b: b.set_delivery_guarantee("once"), "takes a DeliveryGuarantee"),
        (lambda b: b.enable_write_ahead_log(object()), "takes no committer"),
        (lambda b: b.build(), r"needs set_table\(\) or set_query\(\)"),
        (lambda b: b.set_table("a.b").set_query("q").build(), r"needs set_table\(\) or"),
        (lambda b: b.set_query("q").set_ttl(1).build(), "USING TTL"),
        (lambda _: CassandraSink.builder().set_query("q").build(), r"needs set_host\(\)"),
        (
            lambda _: (
                CassandraSink.builder()
                .set_cluster_builder(dict)
                .set_credentials("u", "p")
                .set_table("a.b")
                .build()
            ),
            "excludes other connection settings",
        ),
    ],
)
def test_wrong_options(wrong: Any, said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        wrong(builder())


def test_levels_have_the_numbers_of_the_protocol() -> None:
    from cassandra import ConsistencyLevel as Protocol

    assert all(level.value == getattr(Protocol, level.name) for level in ConsistencyLevel)
    builder().set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)


def test_programs_of_pyflink_attach_the_sink_themselves() -> None:
    class Stream:
        def sink_to(self, sink: Any) -> Any:
            return "attached", sink

    made = CassandraSink.add_sink(Stream()).set_host("c").set_query("INSERT ...").build()
    assert made[0] == "attached"
    assert isinstance(made[1], CassandraSink)


def test_the_column_that_does_not_fit_is_named_not_the_one_that_is_missing() -> None:
    columns = [
        SimpleNamespace(name=name, keyspace_name="shop", table_name="orders", type=kind)
        for name, kind in (("note", UTF8Type), ("n", Int32Type))
    ]
    prepared = SimpleNamespace(columns=columns)
    statements = Statements.__new__(Statements)
    for missing in (None, UNSET_VALUE):
        error = statements._misfit(prepared, [missing, "many"], TypeError())
        assert str(error).startswith("column 'n' of shop.orders is int and cannot hold a str: many")


def statements_of(made: Any) -> list[str]:
    """What inserts and deletes a row of the columns id and name."""
    statements = Statements.__new__(Statements)
    statements._target = made.set_table("shop.totals").build()._writing.target
    statements._key = ("id",)
    return [statements._insert(("id", "name")), statements._delete()]


INSERT = 'INSERT INTO "shop"."totals" ("id", "name") VALUES (?, ?)'
DELETE = 'DELETE FROM "shop"."totals"'


@pytest.mark.parametrize(
    ("options", "insert", "delete"),
    [
        (MapperOptions(), "", ""),
        (MapperOptions().ttl(60), " USING TTL 60", ""),
        (
            MapperOptions().ttl(60).timestamp(5),
            " USING TTL 60 AND TIMESTAMP 5",
            " USING TIMESTAMP 5",
        ),
        (MapperOptions().if_not_exists(True).ttl(9), " IF NOT EXISTS USING TTL 9", ""),
        (MapperOptions().if_not_exists(False).tracing(False), "", ""),
    ],
)
def test_mapper_options_are_in_the_statements(
    options: MapperOptions, insert: str, delete: str
) -> None:
    made = builder().set_mapper_options(options)
    assert statements_of(made) == [INSERT + insert, f'{DELETE}{delete} WHERE "id" = ?']


def test_mapper_options_leave_what_they_do_not_name() -> None:
    """And have no say in a query, as in Flink."""
    options = MapperOptions().consistency_level(ConsistencyLevel.ALL).save_null_fields(False)
    target = builder().set_ttl(7).set_mapper_options(options).set_table("a.b").build()
    assert target._writing.target.ttl_s == 7
    assert target._writing.target.consistency is ConsistencyLevel.ALL
    assert target._writing.target.ignore_nulls
    query = builder().set_query("INSERT ...").set_mapper_options(options.ttl(5)).build()
    assert query._writing.target.consistency is ConsistencyLevel.LOCAL_QUORUM
    assert query._writing.target.ttl_s is None


class OneCluster(ClusterBuilder):
    """A builder of the user's own."""

    def build_cluster(self) -> Any:
        return "cluster"


def test_a_builder_makes_the_cluster() -> None:
    sink = CassandraSink.builder().set_cluster_builder(OneCluster()).set_table("a.b").build()
    assert sink._writing.connection.cluster() == "cluster"  # type: ignore[misc]


class Keeping(CassandraFailureHandler):
    """Notes what is refused, and goes on."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_failure(self, failure: Exception) -> None:
        self.seen.append(str(failure))


def test_a_handler_decides_on_what_is_refused() -> None:
    """One by one; without a handler, and with that which does nothing, the job fails."""

    def writer(*handlers: CassandraFailureHandler) -> CassandraWriter:
        made = builder().set_table("a.b")
        for handler in handlers:
            made.set_failure_handler(handler)
        return CassandraWriter(made.build()._writing, WriterContext(0, 1, "run"))

    keeping = Keeping()
    writer(keeping)._take(["no such column", "too large"])
    assert keeping.seen == ["no such column", "too large"]
    for failing in (writer(), writer(CassandraFailureHandler.no_op())):
        with pytest.raises(CassandraError, match="no such column"):
            failing._take(["no such column"])


@pytest.mark.parametrize(
    "choose",
    [
        lambda b: b.enable_write_ahead_log(),
        lambda b: b.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE),
    ],
)
def test_rows_of_a_write_ahead_log_are_written_by_commits(choose: Any) -> None:
    sink = choose(builder().set_table("shop.totals")).build()
    assert sink.commit_mode is CommitMode.IN_SUBTASK
