"""The page about Pulsar: its program runs as it stands there, against a real broker."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pulsar
import pytest
from kafka_topics import WallClock
from pulsar_standalone import PulsarStandalone

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "pulsar.md"


@pytest.mark.connectors
def test_the_words_of_the_page(
    pulsar_standalone: PulsarStandalone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("pulsar_page")
    monkeypatch.setitem(sys.modules, "pulsar_page", page)
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    client = pulsar.Client(pulsar_standalone.url)
    producer = client.create_producer(pulsar_standalone.create_topic("words"))
    producer.send(b"quiet")
    producer.send(b"words")
    client.close()
    with run_local(clock=WallClock()):
        env = StreamExecutionEnvironment.get_execution_environment()
        page.keep(env, pulsar_standalone.url, str(tmp_path / "out"))
        env.execute("keep")
    parts = (tmp_path / "out").rglob("part-*")
    words = [word for part in parts for word in part.read_text().split()]
    assert sorted(words) == ["QUIET", "WORDS"]
