"""What each version of PySpark and of Python must be able to do: a test for each part.

``make test-matrix`` runs it for each pair, in an environment of its own, with a search path that
has the modules beside this one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest
from connect_server import ConnectServerProcess, free_port
from matrix_functions import Count, Sum, functions

from millrace.common import (
    Configuration,
    RowKind,
    Time,
    TumblingEventTimeWindows,
    Types,
    WatermarkStrategy,
)
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.job_details import JobDetails
from millrace.graph import Graph
from millrace.graph.library import ConnectedComponents
from millrace.spark.inner_names import InnerName, missing_in_java, missing_in_python
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.types import STRING, decoded, typed
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import CollectingSink

pytestmark = pytest.mark.matrix

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src"
KEYS = 3
executors = pytest.mark.parametrize("executor", ["epochs", "resident"])


@pytest.fixture(scope="session")
def context() -> Iterator[Any]:
    from millrace.spark.session import create_context

    paths = [str(HERE), str(SOURCES), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    made = create_context("smoke", parallelism=2, master="local[4,4]")
    yield made
    made.stop()


def environment(executor: str, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration(
        {
            "millrace.executor": executor,
            "execution.runtime-mode": "STREAMING",
            "execution.checkpointing.interval": "100 ms",
            **settings,
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(2)


def told(missing: list[InnerName]) -> str:
    import pyspark

    names = ", ".join(map(str, missing))
    return f"PySpark {pyspark.__version__} lacks {names}" if missing else ""


def test_inner_names(context: Any) -> None:
    assert told(missing_in_python()) == ""
    assert told(missing_in_java(context._jvm)) == ""


def timed(env: StreamExecutionEnvironment, numbers: int) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value * 100
    )
    stream = env.from_collection(range(numbers), Types.LONG())
    return stream.assign_timestamps_and_watermarks(strategy).key_by(lambda n: n % KEYS)


@executors
def test_state_and_timers(executor: str, context: Any) -> None:
    results = timed(environment(executor), 300).process(Count()).execute_and_collect()
    expected = Counter(("record", n % KEYS, n // KEYS + 1) for n in range(300))
    timers = [result for result in results if result[0] == "timer" or expected.subtract([result])]
    assert set(expected.values()) == {0}
    assert sorted(timer[1] for timer in timers) == list(range(KEYS))


@executors
def test_windows(executor: str, context: Any) -> None:
    windows = timed(environment(executor), 300).window(
        TumblingEventTimeWindows.of(Time.seconds(10))
    )
    results = windows.process(Sum()).execute_and_collect()
    expected: Counter[tuple[int, int]] = Counter()
    for n in range(300):
        expected[n % KEYS, n // 100 * 10_000] += n
    assert {(key, start): total for key, start, total in results} == dict(expected)


@executors
def test_savepoint_and_restore(executor: str, context: Any, tmp_path: Path) -> None:
    first = _stopped(executor, tmp_path)
    other = "resident" if executor == "epochs" else "epochs"
    second = _stopped(other, tmp_path, first[1])
    assert second[0]
    for key in range(KEYS):
        counts = sorted(count for _, k, count in first[0] + second[0] if k == key)
        assert counts == list(range(1, len(counts) + 1))


def _stopped(
    executor: str, directory: Path, start: str | None = None
) -> tuple[list[tuple[str, int, int]], str]:
    """What a job has counted until it was stopped, and its savepoint."""
    settings = {} if start is None else {"execution.state-recovery.path": start}
    settings["execution.checkpointing.dir"] = str(directory / "checkpoints")
    env, accepted = environment(executor, **settings), Semaphore(0)

    def accept(details: JobDetails) -> None:
        if details.records:
            accepted.release()

    env.launcher.listeners.append(accept)
    source = DataGeneratorSource(lambda i: i, None, RateLimiterStrategy.per_second(1_000), splits=2)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    sink: CollectingSink[tuple[str, int, int]] = CollectingSink()
    numbers.key_by(lambda n: n % KEYS).process(Count()).uid("count").sink_to(sink).uid("sink")
    client = env.execute_async("saved")
    try:
        assert accepted.acquire(timeout=120)
        savepoint = client.stop_with_savepoint(False, str(directory / "savepoints")).result()
    finally:
        env.launcher.listeners.remove(accept)
    return sink.values(), savepoint


@executors
def test_sql(executor: str, context: Any) -> None:
    assert _query({"millrace.executor": executor}) == dict.fromkeys(range(5), 20)


def _query(settings: dict[str, str]) -> dict[int, int]:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {**settings, "parallelism.default": "2"}.items():
        t_env.get_config().set(key, value)
    t_env.execute_sql(
        "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '100', "
        "'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '99')"
    )
    result = t_env.execute_sql("SELECT MOD(n, 5), COUNT(*) FROM numbers GROUP BY MOD(n, 5)")
    content: Counter[tuple[int, int]] = Counter()
    with result.collect() as rows:
        for row in rows:
            added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
            content[tuple(row)] += 1 if added else -1
    return dict((+content).keys())


@executors
def test_stateful_functions(executor: str, context: Any) -> None:
    env = environment(executor)
    names = env.from_collection(["Ada", "Grace", "Ada"], Types.STRING())
    messages = names.map(lambda name: routable_message("smoke/greeter", name, typed(STRING, "")))
    egresses = (
        StatefulFunctionDataStreamBuilder.builder("greetings")
        .with_data_stream_as_ingress(messages)
        .with_function_provider("smoke/*", functions)
        .with_egress_id("smoke/greetings")
        .build(env)
    )
    greetings = egresses.get_data_stream_for_egress_id("smoke/greetings").map(decoded)
    assert sorted(greetings.execute_and_collect()) == ["Ada 1", "Ada 2", "Grace 1"]


def test_graph(context: Any) -> None:
    graph = Graph.from_edges([(1, 2), (2, 3), (4, 5)])
    assert sorted(graph.out_degrees().collect()) == [(1, 1), (2, 1), (3, 0), (4, 1), (5, 0)]
    components = dict(graph.run(ConnectedComponents(20)).collect())
    assert components == {1: 1, 2: 1, 3: 1, 4: 4, 5: 4}


def test_server(tmp_path: Path) -> None:
    """A job that a server runs, in a process with a Spark of its own."""
    job = tmp_path / "job.py"
    job.write_text(
        "from millrace.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1, 2]).map(lambda n: n * 10).print()\n"
        "env.execute('printed')\n",
        encoding="utf-8",
    )
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    millrace = [sys.executable, "-m", "millrace"]
    variables = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    variables["PYTHONPATH"] = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    log = (tmp_path / "server.log").open("wb")
    server = subprocess.Popen(
        [*millrace, "server", "--no-auth", "--allow-uploads", "--port", str(port)],
        stdout=log,
        stderr=subprocess.STDOUT,
        env=variables,
    )
    try:
        _wait_for(f"{url}/jobs/overview")
        done = subprocess.run(
            [*millrace, "run", "--server", url, str(job)],
            capture_output=True,
            text=True,
            env=variables,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert b'"FINISHED"' in _read(f"{url}/jobs/overview")
    finally:
        server.terminate()
        server.wait(30)
        log.close()


def _read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        content: bytes = answer.read()
        return content


def _wait_for(url: str) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            _read(url)
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def test_connect(tmp_path: Path) -> None:
    """The same query, and a job with state, on a Spark Connect server."""
    pytest.importorskip("grpc")
    server = ConnectServerProcess(tmp_path, [str(HERE), str(SOURCES)])
    try:
        server.wait()
        settings = {"spark.remote": server.url}
        assert _query(settings) == dict.fromkeys(range(5), 20)
        env = environment("auto", **settings)
        results = Counter(timed(env, 30).process(Count()).execute_and_collect())
        assert results["record", 0, 10] == 1
    finally:
        server.stop()
