"""The smoke test with functions in other languages, which are killed, as are workers."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("statefun")
pytest.importorskip("confluent_kafka")
sys.path.insert(0, str(Path(__file__).parents[1] / "smoke"))

from smoke_commands import Commands

pytestmark = [pytest.mark.fault, pytest.mark.connectors]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("language", ["python", "javascript", "go", "java"])
def test_states_are_exact_after_kills(
    language: str,
    request: pytest.FixtureRequest,
    kafka_broker: Any,
    tmp_path: Path,
    stack: ExitStack,
) -> None:
    from kafka_topics import Topics
    from smoke_run import Smoke

    server = request.getfixturevalue(f"{language}_functions")
    commands, rng = Commands(9, 16), random.Random(9)
    run = Smoke(Topics(kafka_broker.bootstrap_servers), tmp_path, commands, server.url)
    stack.callback(run.close)
    for _ in range(2):
        run.feed(commands.draw(500))
        run.wait_for_more(50)
        server.kill()
        server.start()
        run.feed(commands.draw(500))
        run.wait_for_more(50)
        run.kill_worker(rng)
    run.feed(commands.draw(500))
    run.check()


def test_flinks_own_package_runs_embedded(
    python_functions: Any, kafka_broker: Any, tmp_path: Path, stack: ExitStack
) -> None:
    """With the protobuf of this environment, which is newer than the package asks for."""
    from kafka_topics import Topics
    from smoke_run import Smoke

    commands, rng, sdk = Commands(11, 16), random.Random(11), python_functions.sdk()
    topics = Topics(kafka_broker.bootstrap_servers)
    run = Smoke(topics, tmp_path, commands, "embedded", sdk=sdk)
    stack.callback(run.close)
    for kill in (lambda: run.kill_worker(rng), run.kill_driver):
        run.feed(commands.draw(500))
        run.wait_for_more(50)
        kill()
    run.feed(commands.draw(500))
    run.check()
    assert f"functions of {sdk}/statefun/" in (tmp_path / "log").read_text()
