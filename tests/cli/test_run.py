"""``millrace run`` from start to end, on Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import textwrap
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.spark

Start = Callable[..., "subprocess.Popen[str]"]
PATIENCE = 180
"""Seconds until a run counts as hanging."""


def write(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def interrupt_at_first_output(process: subprocess.Popen[str], number: int) -> tuple[str, str]:
    """All that the process prints; standard error is short enough to wait in its pipe."""
    assert process.stdout is not None
    assert process.stderr is not None
    first = process.stdout.readline()
    # as a terminal or systemd does: to everything that was started with it
    started = psutil.Process(process.pid).children(recursive=True)
    assert any("java" in child.name() for child in started)
    os.killpg(process.pid, number)
    if number == signal.SIGTERM:
        for child in started:
            # the signal to the group may have ended it by now
            with suppress(psutil.NoSuchProcess):
                child.send_signal(number)
    # not communicate(), which would lose what readline() has buffered
    out, err = first + process.stdout.read(), process.stderr.read()
    process.wait(PATIENCE)
    assert psutil.wait_procs(started, PATIENCE)[1] == [], "they end with the driver"
    return out, err


PREAMBLE = """
    import sys
    from millrace.datastream import StreamExecutionEnvironment
    env = StreamExecutionEnvironment.get_execution_environment()
"""

TWO_JOBS = {
    "jobs/helper.py": "def double(value): return value * 2\n",
    "jobs/package/__init__.py": "from package.inner import triple\n",
    "jobs/package/inner.py": "def triple(value): return value * 3\n",
    "jobs/job.py": PREAMBLE
    + """
    from helper import double
    from package import triple

    import logging

    def logged(value):
        logging.getLogger("shop").info("priced %s", value)
        return double(value)

    env.from_collection([1, 2]).map(logged).name("Price").print("twice")
    env.execute("first")
    env.from_collection([1, 2]).map(lambda value: triple(value)).key_by(lambda v: v).sum().print()
    env.execute("second")
    print(sys.argv[1:], env.get_parallelism())
    """,
}


@pytest.mark.turns(7)
def test_two_jobs_with_modules_and_arguments(start: Start, tmp_path: Path) -> None:
    """Modules beside the job file are found; nothing but ours is on the terminal."""
    write(tmp_path, TWO_JOBS)
    code, out, err = finish(start("run", "--parallelism", "1", "jobs/job.py", "a", "--b"))
    assert (code, out.splitlines()) == (
        0, ["twice> 2", "twice> 4", "3", "6", "['a', '--b'] 1"]
    )  # fmt: skip
    lines = err.splitlines()
    assert [line.partition(" keeps ")[0] for line in lines] == [
        "millrace: job 'first'",
        "millrace: job 'second'",
    ]
    assert str(tmp_path / "state/millrace/checkpoints") in err
    log, _ = sorted((tmp_path / "state/millrace/logs").iterdir())
    assert " INFO shop: [Price 0] priced 2\n" in log.read_text()


SESSIONS = (
    PREAMBLE
    + """
    import threading
    from pyspark.sql import SparkSession
    from millrace.common import Row
    from millrace.connectors.spark import SparkSink

    def append(dataframe, checkpoint):
        active = SparkSession.getActiveSession()
        place = threading.current_thread() is threading.main_thread()
        print("while the job runs", active.range(3).count(), dataframe.count(), place)

    for number in (1, 2):
        env.from_collection([Row(n=1), Row(n=2)]).sink_to(SparkSink(append))
        env.execute(f"job {number}")
        print("after the job", SparkSession.getActiveSession().range(4).count())
"""
)


@pytest.mark.turns(7)
def test_a_job_file_finds_the_active_session_of_spark(start: Start, tmp_path: Path) -> None:
    """Spark starts in a thread of its own, and its JVM knows a session per thread."""
    write(tmp_path, {"job.py": SESSIONS})
    code, out, err = finish(start("run", "--parallelism", "1", "job.py"))
    told = ["while the job runs 3 2 False", "after the job 4"]
    assert (code, out.splitlines()) == (0, told * 2), err


@pytest.mark.turns(7)
def test_modules_reach_the_executors_of_a_cluster(start: Start, tmp_path: Path) -> None:
    """An executor in a process of its own gets the modules shipped."""
    files = {**TWO_JOBS, "lib/extra.py": "def add_one(value): return value + 1\n"}
    files["jobs/job.py"] = (
        PREAMBLE
        + """
    import helper, package
    from extra import add_one

    import logging

    def compute(value):
        print("seen", value)
        logging.getLogger("shop").info("priced %s", value)
        assert "jobs" not in helper.__file__
        return add_one(package.triple(helper.double(value)))

    env.from_collection([1, 2]).map(compute).print()
    env.execute("cluster")
    """
    )
    write(tmp_path, files)
    master = "local-cluster[1,2,512]"
    code, out, err = finish(
        start(
            "run", "--master", master, "--conf", "spark.executor.memory=512m",
            "--conf", "millrace.logging.format=json", "--py-files", "lib/extra.py", "jobs/job.py",
        )
    )  # fmt: skip
    assert (code, out) == (0, "7\n13\n"), err
    log, spark = sorted((tmp_path / "state/millrace/logs").iterdir())
    assert spark.name == f"{log.name}.spark"
    records = [json.loads(line) for line in log.read_text().splitlines() if line[0] == "{"]
    said = {(r["logger"], r["message"], r.get("operator"), r.get("job")) for r in records}
    assert ("millrace.worker.shop", "priced 1", "Map", "cluster") in said
    assert ("millrace.worker.stdout", "seen 2", "Map", "cluster") in said


CHATTY = """
    import logging, sys

    def seen(value):
        print("seen", value)
        print("odd", value, file=sys.stderr)
        return value

    print("it", "begins")
    logging.getLogger("shop").warning("closed on Sundays")
    env.from_collection([1, 2]).map(seen).name("Price").print()
    env.execute("chatty")
    raise ValueError("it is Sunday")
"""


@pytest.mark.turns(7)
def test_under_a_server_what_is_printed_is_json_too(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server names the log, which is also standard output and standard error."""
    write(tmp_path, {"job.py": PREAMBLE + CHATTY})
    path = tmp_path / "log.txt"
    monkeypatch.setenv("MILLRACE_LOG", str(path))
    with path.open("ab") as log:
        process = start(
            "run", "--conf", "millrace.logging.format=json", "job.py", stdout=log, stderr=log
        )
    assert process.wait() == 1
    records = [json.loads(line) for line in path.read_text().splitlines() if line[0] == "{"]
    said = {(r["logger"], r["message"], r.get("operator")) for r in records}
    assert {
        ("stdout", "it begins", None),
        ("shop", "closed on Sundays", None),
        ("stdout", "seen 2", "Price"),
        ("stderr", "odd 1", "Price"),
        ("stdout", "2", None),
        ("stderr", "ValueError: it is Sunday", None),
    } <= said
    others = [line for line in path.read_text().splitlines() if line[0] != "{"]
    assert [line for line in others if "incubator" not in line] == []  # Java's own


def test_a_failed_job_is_told_without_spark(start: Start, tmp_path: Path) -> None:
    """The user's traceback, the operator and the record; Spark's own words are in the log."""
    failing = """
    def parse(text):
        return int(text)

    env.from_collection(["1", "x"]).map(parse).name("parse numbers").print()
    env.execute("failing")
    """
    write(tmp_path, {"job.py": PREAMBLE + failing})
    code, _, err = finish(start("run", "job.py"))
    assert code == 1
    assert "a function of operator 'parse numbers' failed\n  record: 'x'\n" in err
    assert 'job.py", line 7, in parse\n' in err
    assert "ValueError: invalid literal for int() with base 10: 'x'" in err
    for noise in ("py4j", "org.apache", "millrace/runtime", "WARN"):
        assert noise not in err
    log = Path(err.strip().rpartition("the log is ")[2])
    assert "UserFunctionError" in log.read_text()


ENDLESS = (
    PREAMBLE
    + """
    from millrace.common import WatermarkStrategy
    from millrace.connectors import DataGeneratorSource, RateLimiterStrategy

    source = DataGeneratorSource(
        lambda index: index, None, RateLimiterStrategy.per_second(200), splits=1
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.print()
    env.execute("endless")
    """
)


def test_a_stopped_job_goes_on_where_it_was(start: Start, tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM end it between epochs, with exit code 0; --resume repeats and leaves out
    nothing."""
    write(tmp_path, {"job.py": ENDLESS})
    seen: list[int] = []
    for options, number in (([], signal.SIGINT), (["--resume"], signal.SIGTERM)):
        process = start("run", *options, "--checkpoint-dir", "checkpoints", "job.py")
        out, err = interrupt_at_first_output(process, number)
        assert process.returncode == 0, err
        assert "millrace: stopping after this epoch" in err
        assert "millrace run --resume --checkpoint-dir checkpoints job.py" in err
        seen.extend(map(int, out.split()))
    assert seen == list(range(len(seen)))
