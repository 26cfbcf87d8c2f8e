"""States of an address in a running job, asked in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from millrace.cli.main import main
from millrace.common import Configuration
from millrace.common.errors import JobDefinitionError
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.rest.client import QueryableStateError
from millrace.statefun.address import TypedValue
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.function_state_client import FunctionStateClient
from millrace.statefun.types import INT, decoded, typed
from millrace.testing import CollectingSink

statefun = pytest.importorskip("statefun")
pytest.importorskip("starlette")
PATIENCE = 60.0
SLOWLY = RateLimiterStrategy.per_second(100)
IDS = "a/ü", "b", "7"


def started(directory: Path, name: str) -> Any:
    """Client of a job whose functions send themselves numbers for ever."""
    functions = statefun.StatefulFunctions()
    specs = [
        statefun.ValueSpec("seen", statefun.IntType),
        statefun.ValueSpec("own", statefun.make_json_type("test/own")),
    ]

    @functions.bind("test/counter", specs)
    def counter(context, message) -> None:
        context.storage.seen = (context.storage.seen or 0) + 1
        context.storage.own = {"id": context.address.id}

    config = {"execution.checkpointing.dir": str(directory), "rest.enabled": "true"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(config))
    source = DataGeneratorSource(lambda n: IDS[n % 3], rate_limiter_strategy=SLOWLY)
    ids = env.set_parallelism(2).from_source(source, WatermarkStrategy.no_watermarks(), "ids")
    messages = ids.map(lambda id: routable_message("test/counter", id, typed(INT, 1)))
    builder = StatefulFunctionDataStreamBuilder.builder(name).with_egress_id("test/out")
    builder.with_data_stream_as_ingress(messages).with_function_provider("test/*", functions)
    builder.build(env).get_data_stream_for_egress_id("test/out").sink_to(CollectingSink())
    return env.execute_async("counting")


def patiently(ask: Any) -> Any:
    deadline = monotonic() + PATIENCE
    while not (answer := ask()):
        assert monotonic() < deadline
        sleep(0.01)
    return answer


def newest(job: Any, client: FunctionStateClient, id: str) -> dict[str, TypedValue]:
    """States as of a checkpoint that begins now, or of an earlier one if that is not loaded."""
    job.trigger_checkpoint().result(PATIENCE)
    return client.get("test/counter", id)


def test_states_of_an_address_are_looked_up_while_the_job_runs(
    running: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running():
        job = started(tmp_path, "counters")
        job.trigger_checkpoint().result(PATIENCE)
        client = FunctionStateClient.of_job(job.get_job_directory(), None, "counters", PATIENCE)
        for id in IDS:
            states = patiently(lambda id=id: newest(job, client, id))
            assert states["own"].typename == "test/own"
            assert json.loads(states["own"].value) == {"id": id}
            assert decoded(states["seen"]) > 0
        assert client.get("test/counter", "c") == client.get("test/other", "b") == {}
        with pytest.raises(JobDefinitionError, match="is not a type name"):
            client.get("counter", "b")
        other = FunctionStateClient.of_job(job.get_job_directory(), None, "other")
        with pytest.raises(QueryableStateError, match="statefun-other"):
            other.get("test/counter", "b")
        command = ["statefun", "state", str(job.get_job_directory()), "test/counter", "a/ü"]
        assert main([*command, "--functions", "counters", "--json"]) == 0
        shown = {row["state"]: row for row in json.loads(capsys.readouterr().out)}
        assert shown["own"]["typename"] == "test/own"
        assert json.loads(shown["own"]["value"]) == {"id": "a/ü"}
        assert int(shown["seen"]["value"]) > 0
        assert main([*command[:-1], "nobody", "--functions", "counters"]) == 0
        assert capsys.readouterr().out == ""
        assert main(command) == 1
        assert "statefun-module" in capsys.readouterr().err
        job.cancel()
