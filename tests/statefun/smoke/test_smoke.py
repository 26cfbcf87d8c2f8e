"""Random commands to functions, with kills: every state is exact in the end."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("statefun")
pytest.importorskip("confluent_kafka")
sys.path.insert(0, str(Path(__file__).parent))

from smoke_commands import Commands

pytestmark = pytest.mark.fault
COMMANDS, KILLS, REPLACEMENTS = 100_000, 20, 10
"""Size of the long runs. Kills are of each kind."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_the_model_knows_what_commands_do() -> None:
    commands = Commands(1, 4)
    drawn = [*commands.draw(500), *commands.last()]
    model = commands.model
    assert len(drawn) == sum(model.last.values())
    assert sum(model.seen.values()) > 2 * len(drawn)
    assert not [text for text in model.told if "cancelled" in text]
    again = Commands(1, 4)
    assert list(again.draw(500)) == drawn[:500]


@pytest.mark.turns(2)
@pytest.mark.parametrize("kind", ["embedded", "remote"])
def test_states_are_exact_after_kills(
    kind: str, kafka_broker: Any, tmp_path: Path, stack: ExitStack
) -> None:
    from kafka_topics import Topics
    from smoke_run import FunctionServer, Smoke

    server = stack.enter_context(closing(FunctionServer())) if kind == "remote" else None
    commands, rng = Commands(7, 16), random.Random(7)
    url = "embedded" if server is None else server.url
    run = Smoke(Topics(kafka_broker.bootstrap_servers), tmp_path, commands, url)
    stack.callback(run.close)
    kills: list[Callable[[], None]] = [lambda: run.kill_worker(rng), run.kill_driver]
    if server is not None:
        kills[1] = server.kill
    for kill in kills:
        run.feed(commands.draw(700))
        run.wait_for_more(50)
        kill()
    run.feed(commands.draw(600))
    run.check()


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["embedded", "remote"])
@pytest.mark.parametrize("where", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_states_are_exact_after_twenty_kills_of_everything(
    kind: str, where: str, kafka_broker: Any, tmp_path: Path, stack: ExitStack
) -> None:
    from kafka_topics import Topics
    from smoke_run import FunctionServer, Smoke

    server = stack.enter_context(closing(FunctionServer())) if kind == "remote" else None
    commands, rng = Commands(8, 128), random.Random(8)
    url = "embedded" if server is None else server.url
    run = Smoke(Topics(kafka_broker.bootstrap_servers), tmp_path, commands, url, where)
    stack.callback(run.close)
    kinds: list[Callable[[], None]] = [
        run.kill_driver,
        lambda: run.kill_worker(rng),
        lambda: kafka_broker.restart_node(0),
        *([] if server is None else [server.kill]),
    ]
    kills = kinds * KILLS
    rng.shuffle(kills)
    for kill in kills:
        run.feed(commands.draw(COMMANDS // len(kills)))
        run.wait_for_more(rng.randrange(COMMANDS // len(kills) // 4))
        kill()
    run.check()


@pytest.mark.torture
@pytest.mark.parametrize("where", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_states_are_exact_after_ten_replacements_of_the_functions(
    where: str, kafka_broker: Any, tmp_path: Path, stack: ExitStack
) -> None:
    """Each server of functions is killed as soon as the job has the URL of its successor."""
    from kafka_topics import Topics
    from smoke_run import FunctionServer, Smoke

    server = stack.enter_context(closing(FunctionServer()))
    commands = Commands(10, 128)
    topics = Topics(kafka_broker.bootstrap_servers)
    run = Smoke(topics, tmp_path, commands, server.url, where)
    stack.callback(run.close)
    for _ in range(REPLACEMENTS):
        run.feed(commands.draw(COMMANDS // 10 // REPLACEMENTS))
        run.wait_for_more(COMMANDS // 10 // REPLACEMENTS // 4)
        former, server = server, stack.enter_context(closing(FunctionServer()))
        run.move_functions(server.url)
        former.close()
    run.check()
