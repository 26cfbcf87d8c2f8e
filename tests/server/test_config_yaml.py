"""A server with a config.yaml: its jobs have the defaults, and its webhook hears of failures."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from running_server import JOBS, RunningServer, await_that

sys.path.insert(0, str(Path(__file__).parent / "alerts"))

from receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def reporter_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path, receiver: Receiver, reporter_port: int) -> Iterator[RunningServer]:
    (tmp_path / "config.yaml").write_text(
        f"""\
# defaults of all jobs
parallelism.default: 3
execution.checkpointing:
  interval: 7 s
  num-retained: 4
restart-strategy: {{type: fixed-delay, fixed-delay.attempts: 5}}
user.database: postgresql://ada:pw@host/db
metrics.reporter.prom: {{factory.class: prometheus, port: {reporter_port}}}
# the server
jobstore.max-capacity: 10
millrace.alerts.webhook.ops: {{url: "{receiver.url}", secret: key}}
"""
    )
    server = RunningServer(tmp_path / "server", ["--config", str(tmp_path / "config.yaml")])
    yield server
    server.end()


def test_defaults_origins_and_alerts(
    server: RunningServer, receiver: Receiver, tmp_path: Path, reporter_port: int
) -> None:
    job = server.submit(
        JOBS / "counting.py",
        tmp_path / "out",
        configuration={"execution.checkpointing.num-retained": "5"},
    )
    server.await_epoch(job, 1)
    answer = server.get(f"/jobs/{job}/config")
    origins = {entry["key"]: (entry["value"], entry["origin"]) for entry in answer["entries"]}
    assert origins["parallelism.default"] == ("3", "config.yaml")
    assert origins["execution.checkpointing.interval"] == ("100 ms", "program")
    assert origins["execution.checkpointing.num-retained"] == ("5", "submission")
    assert origins["restart-strategy.type"] == ("fixed-delay", "config.yaml")
    assert origins["user.database"] == ("postgresql://ada:******@host/db", "config.yaml")
    assert origins["execution.checkpointing.dir"][1] == "server"
    assert origins["pipeline.max-parallelism"] == ("128", "default")
    assert not any(key.startswith(("jobstore.", "millrace.alerts.webhook")) for key in origins)
    assert answer["execution-config"]["job-parallelism"] == 3
    assert "Restart 5 times" in answer["execution-config"]["restart-strategy"]
    with urlopen(f"http://127.0.0.1:{reporter_port}/metrics", timeout=60) as reported:
        assert f'job_id="{job}"' in reported.read().decode()

    program = tmp_path / "broken.py"
    program.write_text("raise ValueError('no such topic')\n")
    failed = server.submit(program)
    [alert] = receiver.alerts(1)
    assert (alert["alert"], alert["state"]) == ("job-failed", "firing")
    assert alert["job"]["id"] == failed
    assert alert["job"]["url"] == f"{server.url}/#/jobs/{failed}"
    assert "ValueError: no such topic" in alert["text"]
    [(headers, _)] = receiver.requests
    assert headers["X-Millrace-Signature"].startswith("sha256=")
    metrics = server.http.get("/metrics").text
    assert 'flink_jobmanager_job_numRestarts{host="' in metrics
    assert f'job_id="{job}"' in metrics
    await_that(
        lambda: (
            "numAlertsSent" in (text := server.http.get("/metrics").text)
            and any(
                line.startswith("flink_jobmanager_numAlertsSent{") and line.endswith(" 1.0")
                for line in text.splitlines()
            )
        ),
        "the count of alerts",
    )
