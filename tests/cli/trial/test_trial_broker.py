"""A broker for trying out that cannot start."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

import pytest

from millrace.cli.trial.kafka_jars import KafkaJars, TrialError
from millrace.cli.trial.trial_broker import TrialBroker

pytest.importorskip("confluent_kafka")


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TrialError, match=f"port {port} of 127.0.0.1 is in use .* --port"):
            TrialBroker("java", KafkaJars(Path("jars"), "jars"), port)


def test_what_a_broker_says_when_it_ends_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho no such class\nexit 1\n")
    java.chmod(0o755)
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "data"))
    broker = TrialBroker(str(java), KafkaJars(tmp_path, "here"), 0)
    with pytest.raises(TrialError, match="cannot prepare its directory:\nno such class"), broker:
        pytest.fail("it does not start")
    assert not list((tmp_path / "data").iterdir()), "its data is removed"
