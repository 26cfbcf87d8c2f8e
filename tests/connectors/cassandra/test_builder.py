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
from millrace.common.sink import DeliveryGuarantee
from millrace.connectors.cassandra import CassandraSink, ConsistencyLevel
from millrace.connectors.cassandra.statements import Statements


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
        (lambda b: b.set_consistency_level("ONE"), "is a ConsistencyLevel"),
        (lambda b: b.set_ttl(0), "seconds must be"),
        (lambda b: b.set_request_timeout(0), "milliseconds must be"),
        (lambda b: b.set_max_concurrent_requests(0), "max_concurrent_requests must be"),
        (lambda b: b.set_max_retries(-1), "max_retries must be"),
        (lambda b: b.set_retry_interval_ms("1"), "retry_interval_ms must be"),
        (lambda b: b.set_cluster_builder(5), "takes a function"),
        (lambda b: b.set_error_policy(ErrorPolicy.side_output(OutputTag("x"))), "no side output"),
        (lambda b: b.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE), "no transactions"),
        (lambda b: b.enable_write_ahead_log(), "replace themselves by their primary key"),
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
            "alone: credentials",
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
