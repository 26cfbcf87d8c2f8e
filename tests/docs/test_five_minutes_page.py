"""The page of five minutes: ``millrace try kafka``, its program and its statements."""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from kafka_broker import KafkaBroker
from service import ServiceUnavailableError, cache_directory, is_required
from wall_clock import WallClock

from millrace.cli.trial.kafka_trial import FIRST_ORDERS, program, statements
from millrace.connectors.kafka import KafkaOffsetsInitializer, KafkaSourceBuilder
from millrace.testing import run_local

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "five-minutes.md").read_text(encoding="utf-8")
ADDRESS = "127.0.0.1:9092"


def block(title: str) -> str:
    [text] = re.findall(rf'```\w+ title="{title}"\n(.*?)```', PAGE, re.DOTALL)
    return str(text)


@pytest.mark.turns(5)
def test_the_command_prints_the_program_of_the_page() -> None:
    assert block("totals.py") == program(ADDRESS)
    assert block("totals.sql") == statements(ADDRESS)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """``millrace try kafka`` on a free port, without orders that follow."""
    try:
        KafkaBroker.install()
    except ServiceUnavailableError as error:
        (pytest.fail if is_required("Kafka") else pytest.skip)(str(error))
    home, [jars] = tmp_path_factory.mktemp("kafka"), cache_directory().glob("kafka-4*")
    (home / "libs").symlink_to(jars)
    (home / "temporary").mkdir()
    command = ["-m", "millrace.cli.main", "try", "kafka", "--port", "0", "--rate", "0"]
    variables = {"KAFKA_HOME": str(home), "TMPDIR": str(home / "temporary")}
    process = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
        assert "its data is removed" in rest
        assert process.returncode == 0
        assert not list((home / "temporary").iterdir())


@pytest.fixture(scope="module")
def address(trial: subprocess.Popen[str]) -> str:
    """The address that the command prints, once the program is printed, too."""
    assert trial.stdout is not None
    text = until(trial.stdout, "Records that arrive in the topic totals")
    assert trial.stdout.readline() == "\n"
    [found] = re.findall(r"Kafka answers at (\S+);", text)
    assert program(found) in text
    assert statements(found) in text
    return str(found)


def until(stream: IO[str], end: str) -> str:
    lines = []
    for line in stream:
        lines.append(line)
        if end in line:
            return "".join(lines)
    raise AssertionError(f"no {end!r} in {lines}")


@pytest.mark.turns(5)
def test_the_program_writes_what_the_page_shows(
    trial: subprocess.Popen[str],
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built = KafkaSourceBuilder.build
    # the page's program runs for ever, this one up to the orders that are there
    monkeypatch.setattr(
        KafkaSourceBuilder,
        "build",
        lambda builder: built(builder.set_bounded(KafkaOffsetsInitializer.latest())),
    )
    file = tmp_path / "totals.py"
    file.write_text(block("totals.py").replace(ADDRESS, address), encoding="utf-8")
    with run_local(clock=WallClock(), checkpoint_dir=str(tmp_path / "checkpoints")):
        runpy.run_path(str(file), run_name="__main__")
    assert trial.stdout is not None
    shown = [trial.stdout.readline() for _ in FIRST_ORDERS]
    assert "".join(shown) in PAGE


@pytest.mark.turns(5)
def test_the_statements_write_totals(
    trial: subprocess.Popen[str], address: str, tmp_path: Path
) -> None:
    from millrace.table import EnvironmentSettings, TableEnvironment

    with run_local(clock=WallClock(), checkpoint_dir=str(tmp_path)):
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.get_config().set("millrace.available-now", "true")
        for statement in block("totals.sql").replace(ADDRESS, address).split(";\n"):
            if statement.strip():
                result = t_env.execute_sql(statement)
        result.wait()
    assert trial.stdout is not None
    totals = [
        json.loads(trial.stdout.readline().removeprefix("totals: "))
        for _ in {customer for customer, _ in FIRST_ORDERS}
    ]
    assert {total["customer"]: total["cents"] for total in totals} == {
        "ada": 1500,
        "bob": 450,
        "cleo": 2000,
    }
