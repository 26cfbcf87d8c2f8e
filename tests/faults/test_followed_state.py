"""A job that follows another's state is killed again and again: it writes exactly the changes."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import fault_pipeline as pipeline
import pytest
from fault_lives import JOBS, environment

from millrace.common import Configuration
from millrace.common.types import RowKind
from millrace.datastream import KeyedProcessFunction
from millrace.datastream.state import ValueStateDescriptor
from millrace.testing import MiniJob

pytestmark = pytest.mark.fault

POINTS = (
    "after-acks:2",
    "after-deltas:2",
    "during-metadata:3",
    "after-metadata:2",
    "during-retention:2",
    "before-sink-commit:2",
    "during-sink-commit:1",
)


class Totals(KeyedProcessFunction):
    """Adds up per key; zero deletes the key."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[1] if value[1] else None)


def follow(followed: Path, directory: Path, trap: str) -> int:
    """One life of the follower; its exit status, negative for a signal."""
    done = subprocess.run(
        [sys.executable, str(JOBS / "follower_driver.py"), str(followed), str(directory)],
        env=environment(**({"MILLRACE_CRASH": trap} if trap else {})),
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def present(model: dict[Any, int]) -> dict[Any, int]:
    return {key: total for key, total in model.items() if total}


def replay(rows: list[list[Any]]) -> dict[int, dict[Any, Any]]:
    """The followed table per checkpoint; checks that each change fits what was there."""
    table: dict[Any, Any] = {}
    tables: dict[int, dict[Any, Any]] = {}
    for checkpoint, kind, key, value in sorted(rows):
        if kind == RowKind.INSERT.value:
            assert key not in table
        elif kind != RowKind.UPDATE_AFTER.value:
            assert table.pop(key) == value
        if kind in (RowKind.INSERT.value, RowKind.UPDATE_AFTER.value):
            table[key] = value
        tables[checkpoint] = dict(table)
    return tables


@pytest.mark.turns(2)
@pytest.mark.parametrize("retained", [2, 100])
def test_killed_wherever_it_is(tmp_path: Path, retained: int) -> None:
    """Between its lives more checkpoints may pass than are kept: then it must catch up from
    nothing, and what it read halfway it cannot read to its end."""
    rng = random.Random(4)
    followed, directory = tmp_path / "followed", tmp_path / "follower"
    models: dict[int, dict[Any, Any]] = {}
    model: dict[Any, Any] = {}
    settings = Configuration({"execution.checkpointing.num-retained": str(retained)})
    with MiniJob(2, configuration=settings, checkpoint_dir=str(followed)) as job:
        source = job.source("numbers")
        job.collect(source.stream.key_by(0).process(Totals()).uid("totals"))
        for trap in (*POINTS, ""):
            for _ in range(rng.randint(1, 5)):
                for key in rng.sample(range(12), 4):
                    number = rng.randint(0, 3)
                    source.push((f"key-{key}", number))
                    model[f"key-{key}"] = model.get(f"key-{key}", 0) + number if number else 0
                job.process()
                models[job.client.progress().checkpoint] = present(model)
            if not trap:
                job.finish()
                models[job.client.progress().checkpoint] = present(model)
            assert follow(followed, directory, trap) == (-signal.SIGKILL if trap else 0)
    tables = replay(pipeline.visible(directory, "changes"))
    assert len(tables) > len(POINTS) / 2
    assert tables[max(tables)] == models[max(models)]
    if retained > len(models):
        assert tables == {number: models[number] for number in tables}
