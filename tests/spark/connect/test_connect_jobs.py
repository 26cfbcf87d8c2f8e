"""Jobs on a Spark Connect server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest
from connect_server import free_port

from millrace.common import (
    Configuration,
    RowKind,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.connect_target import connect_server
from millrace.engine.job_details import JobDetails
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import CollectingSink

pytestmark = [pytest.mark.spark, pytest.mark.turns(7, together=True)]

KEYS = 5
SOURCES = Path(__file__).resolve().parents[3] / "src"
PAIRS = Types.TUPLE([Types.LONG(), Types.LONG()])


def environment(
    url: str | None, parallelism: int = 2, **settings: str
) -> StreamExecutionEnvironment:
    config = Configuration(
        {
            **({} if url is None else {"spark.remote": url}),
            "execution.runtime-mode": "STREAMING",
            "millrace.resident.barrier-interval": "50 ms",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "50 ms",
            **settings,
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(config)
    return env.set_parallelism(parallelism)


def counting() -> KeyedProcessFunction[int, int, tuple[int, int]]:
    """A function whose class workers get with the job."""

    class Count(KeyedProcessFunction[int, int, tuple[int, int]]):
        def open(self, context: RuntimeContext) -> None:
            self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            yield ctx.get_current_key(), count

    return Count()


def counted(records: int) -> Counter[tuple[int, int]]:
    return Counter((n % KEYS, n // KEYS + 1) for n in range(records))


def test_a_job_with_keyed_state(connect_url: str) -> None:
    env = environment(connect_url)
    numbers = env.from_collection(range(1_000), Types.LONG()).key_by(lambda n: n % KEYS)
    counts = numbers.process(counting(), PAIRS)
    assert Counter(counts.execute_and_collect("count")) == counted(1_000)


def test_a_lost_worker_loses_nothing(connect_url: str, tmp_path: Path) -> None:
    """Spark ends the other tasks of the barrier stage, too."""
    flag = str(tmp_path / "killed")

    def kill_once(value: int) -> int:
        if value == 700 and not os.path.exists(flag):
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    env = environment(connect_url, **{"execution.checkpointing.dir": str(tmp_path / "checkpoints")})
    rate = RateLimiterStrategy.per_second(2_000)
    source = DataGeneratorSource(lambda i: i, 1_500, rate)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(kill_once)
    counts = numbers.key_by(lambda n: n % KEYS).process(counting(), PAIRS)
    assert Counter(counts.execute_and_collect("killed")) == counted(1_500)
    assert os.path.exists(flag)


def test_a_job_goes_on_from_a_savepoint(connect_url: str, tmp_path: Path) -> None:
    settings = {
        "execution.checkpointing.interval": "50 ms",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
    }
    first: CollectingSink[tuple[int, int]] = CollectingSink()
    savepoint = _stopped(environment(connect_url, **settings), first, tmp_path)
    assert first.values()

    second: CollectingSink[tuple[int, int]] = CollectingSink()
    settings["execution.state-recovery.path"] = savepoint
    _stopped(environment(connect_url, **settings), second, tmp_path)
    numbers = len(first.values()) + len(second.values())
    assert len(second.values()) > 0
    assert Counter(first.values() + second.values()).total() == numbers
    for key in range(KEYS):  # each key was counted on without a gap
        counts = sorted(count for k, count in first.values() + second.values() if k == key)
        assert counts == list(range(1, len(counts) + 1))


def _stopped(
    env: StreamExecutionEnvironment, sink: CollectingSink[tuple[int, int]], directory: Path
) -> str:
    """Run a job until it has counted something, and stop it with a savepoint."""
    accepted = Semaphore(0)

    def accept(details: JobDetails) -> None:
        if details.records:
            accepted.release()

    env.launcher.listeners.append(accept)
    source = DataGeneratorSource(lambda i: i, None, RateLimiterStrategy.per_second(1_000), splits=2)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    counts = numbers.key_by(lambda n: n % KEYS).process(counting(), PAIRS).uid("count")
    counts.sink_to(sink).uid("sink")
    client = env.execute_async("saved")
    try:
        assert accepted.acquire(timeout=60)
        return client.stop_with_savepoint(False, str(directory / "savepoints")).result()
    finally:
        env.launcher.listeners.remove(accept)


def test_a_query(connect_url: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("spark.remote", connect_url)
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(
        "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '100', "
        "'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '99')"
    )
    result = t_env.execute_sql(
        "SELECT MOD(n, 5) AS k, COUNT(*) AS c FROM numbers GROUP BY MOD(n, 5)"
    )
    content: Counter[tuple[int, int]] = Counter()
    with result.collect() as rows:
        for row in rows:
            added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
            content[tuple(row)] += 1 if added else -1
    assert +content == Counter({(key, 20): 1 for key in range(5)})


def test_workers_that_do_not_reach_the_job_are_named_at_once(connect_url: str) -> None:
    """An address of this machine at which nobody of this machine gets through: it is another's."""
    settings = {"jobmanager.rpc.address": "127.0.0.9", "jobmanager.bind-host": "127.0.0.8"}
    env = environment(connect_url, **settings)
    with pytest.raises(
        JobExecutionError,
        match=r"workers of the Spark Connect server sc://127\.0\.0\.1:\d+ do not reach this process"
        r".*cannot connect to 127\.0\.0\.9:\d+.*refused.*Set jobmanager\.rpc\.address",
    ):
        env.from_collection([1]).execute_and_collect()


def test_a_notebook_names_its_server_by_its_session(
    connect_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each job has a session of its own there, so that a changed module is shipped again."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(connect_url).getOrCreate()
    try:
        env = environment(None, 1)
        assert str(connect_server(Configuration())) == (
            "the Spark Connect server of this program's session"
        )
        assert list(env.from_collection([1, 2]).execute_and_collect()) == [1, 2]
        assert not session.is_stopped
        monkeypatch.syspath_prepend(str(tmp_path))
        for value in (1, 22):  # a cell that is edited and run again
            module = tmp_path / "edited_in_cell.py"
            module.write_text(f"def value(_):\n    return {value}\n", encoding="utf-8")
            sys.modules.pop("edited_in_cell", None)
            env = environment(None, 1)
            env.add_python_file(str(module))
            from edited_in_cell import value as edited  # type: ignore[import-not-found]

            assert list(env.from_collection([0]).map(edited).execute_and_collect()) == [value]
        rows = environment(None, 1).from_spark(session.range(3)).execute_and_collect()
        assert sorted(row.id for row in rows) == [0, 1, 2]  # the server copies them to files
        for frame, repeatable in ((session.range(3), True), (rates(session), False)):
            with pytest.raises(
                JobDefinitionError, match="Spark Connect that is streaming or.*use a source"
            ):
                environment(None, 1).from_spark(frame, repeatable=repeatable).execute_and_collect()
    finally:
        session.stop()


def rates(session: Any) -> Any:
    """A streaming DataFrame."""
    return session.readStream.format("rate").load()


def test_millrace_run(connect_url: str, tmp_path: Path) -> None:
    """The modules beside the job file are shipped."""
    (tmp_path / "beside_job.py").write_text("def twice(n):\n    return 2 * n\n", encoding="utf-8")
    (tmp_path / "job.py").write_text(
        "from beside_job import twice\n"
        "from millrace.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "print('got', list(env.from_collection([1, 2]).map(twice).execute_and_collect()))\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "SPARK_REMOTE": connect_url}
    environment["PYTHONPATH"] = str(SOURCES)
    done = subprocess.run(
        [sys.executable, "-m", "millrace", "run", str(tmp_path / "job.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "got [2, 4]" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "graph",
    [
        "Graph.from_edges([(1, 2)])",
        "Graph.from_edges(spark.range(3).selectExpr('id AS source', 'id + 1 AS target'))",
    ],
    ids=["collection", "dataframe"],
)
def test_graphs_of_a_session_on_a_server_are_refused(
    connect_url: str, tmp_path: Path, graph: str
) -> None:
    """The program names the server itself, and nothing in its environment does."""
    job = tmp_path / "graph_job.py"
    job.write_text(
        "from pyspark.sql import SparkSession\n"
        "from millrace.graph import Graph\n"
        f"spark = SparkSession.builder.remote({connect_url!r}).getOrCreate()\n"
        f"print({graph}.number_of_edges())\n",
        encoding="utf-8",
    )
    environment = {key: value for key, value in os.environ.items() if key != "SPARK_REMOTE"}
    done = subprocess.run(
        [sys.executable, str(job)],
        env={**environment, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "ConfigurationError: a graph of DataFrames needs Spark's driver" in done.stderr


def test_modules_are_shipped(connect_url: str, tmp_path: Path) -> None:
    module = tmp_path / "shipped_over_connect.py"
    module.write_text("def twice(n):\n    return 2 * n\n", encoding="utf-8")
    env = environment(connect_url, 1)
    env.add_python_file(str(module))

    def twice(n: int) -> int:
        import shipped_over_connect  # type: ignore[import-not-found]

        return int(shipped_over_connect.twice(n))

    assert list(env.from_collection([1, 2]).map(twice).execute_and_collect()) == [2, 4]


def test_a_fixed_port_is_used(connect_url: str) -> None:
    port = free_port()
    env = environment(connect_url, 1, **{"jobmanager.rpc.port": str(port)})
    assert list(env.from_collection([1]).execute_and_collect()) == [1]
    with socket.create_server(("127.0.0.1", port)):
        env = environment(connect_url, 1, **{"jobmanager.rpc.port": str(port)})
        with pytest.raises(JobExecutionError, match=rf"port {port}.*jobmanager\.rpc\.port a free"):
            env.from_collection([1]).execute_and_collect()
