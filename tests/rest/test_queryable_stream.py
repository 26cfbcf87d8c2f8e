"""A stream kept as queryable state, without a function."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError, StateError
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.state import (
    ListStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)


def test_the_last_record_or_all_reduced(served) -> None:
    keyed = served.source.stream.key_by(0)
    keyed.as_queryable_state("last-record").name("last").uid("last")
    total = ReducingStateDescriptor("total", lambda a, b: (a[0], a[1] + b[1]))
    keyed.as_queryable_state("total-of-records", total).uid("total")
    served.push(("a", 1), ("b", 5), ("a", 2))
    served.push(("a", 3))
    client = served.client()
    assert client.get("last", "last-record", "a") == ["a", 3]
    assert client.get("total", "total-of-records", "a") == ["a", 6]
    assert client.get("total", "total", "b") == ["b", 5]
    last = ValueStateDescriptor("last-record")
    assert client.get_kv_state(None, "last-record", "b", None, last).result().value() == ["b", 5]


def test_descriptors_that_do_not_fit() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection([("a", 1)]).key_by(0)
    with pytest.raises(JobDefinitionError, match="descriptor of a value or reducing state"):
        keyed.as_queryable_state("n", ListStateDescriptor("l"))
    with pytest.raises(StateError, match="takes a name"):
        keyed.as_queryable_state("", ValueStateDescriptor("v"))
    descriptor = ValueStateDescriptor("v")
    descriptor.set_queryable("other")
    with pytest.raises(StateError, match="queryable as 'other' already"):
        keyed.as_queryable_state("n", descriptor)
