"""What the functions of an example write when they are sent messages, with failures."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.types import typed
from millrace.testing import Faults, ManualClock, run_local

Sent = tuple[str, str, dict[str, Any]]
"""Function, id and event."""
FAULTS = [
    pytest.param(Faults(), id="no faults"),
    pytest.param(Faults(0.1, 0.1, 0.1, 0.05), id="faults"),
]


def told(
    functions: Mapping[str, Any], namespace: str, messages: Sequence[Sent], faults: Faults
) -> dict[str, list[str]]:
    """Payloads that the functions write to the playground's egress, by topic."""
    egress = "io.statefun.playground/egress"
    payloads = defaultdict(list)
    with run_local(workers=2, clock=ManualClock(), seed=1, faults=faults, epoch_records=20):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        ingress = env.from_collection(list(messages)).map(
            lambda m: routable_message(
                f"{namespace}/{m[0]}", m[1], typed(f"{namespace}/event", json.dumps(m[2]).encode())
            )
        )
        builder = StatefulFunctionDataStreamBuilder.builder(namespace)
        builder.with_data_stream_as_ingress(ingress)
        for name, provided in functions.items():
            builder.with_function_provider(name, provided)
        streams = builder.with_egress_id(egress).build(env)
        for value in streams.get_data_stream_for_egress_id(egress).execute_and_collect():
            record = json.loads(value.value)
            payloads[record["topic"]].append(record["payload"])
    return payloads
