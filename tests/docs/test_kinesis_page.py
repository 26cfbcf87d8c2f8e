"""The page about Kinesis: its program runs as it stands there, against an emulator."""

from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kafka_topics import WallClock
from kinesalite import Kinesalite

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "kinesis.md"


def page_code() -> str:
    """All programs of the page, one behind the other."""
    text = PAGE.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def test_the_sink_of_firehose_of_the_page() -> None:
    page: dict[str, Any] = {}
    exec(compile(page_code(), str(PAGE), "exec"), page)
    sink = page["deliver"]({"aws.region": "eu-west-1"})
    assert str(sink._writing.target) == "Firehose delivery stream 'totals'"


@pytest.mark.connectors
def test_the_words_of_the_page(kinesalite: Kinesalite, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job has no end: it is cancelled when what it is to write is there."""
    page = ModuleType("kinesis_page")
    monkeypatch.setitem(sys.modules, "kinesis_page", page)
    exec(compile(page_code(), str(PAGE), "exec"), page.__dict__)
    words, louder = (kinesalite.create_stream(name) for name in ("words", "louder"))
    kinesalite.put(words, [("any", b"quiet"), ("any", b"words")])
    with run_local(clock=WallClock()):
        env = StreamExecutionEnvironment.get_execution_environment()
        page.shout(env, kinesalite.properties)
        job = env.execute_async("shout")
        until = time.monotonic() + 30
        while len(kinesalite.read(louder)) < 2:
            assert time.monotonic() < until
            threading.Event().wait(0.05)
        job.cancel().result()
    assert sorted(kinesalite.read(louder)) == [("Q", b"QUIET"), ("W", b"WORDS")]
