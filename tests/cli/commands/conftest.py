"""Jobs that have run in this process, and savepoints copied from their checkpoints."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.cli.main import main
from millrace.common import Types
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.engine.control_client import await_end
from millrace.engine.job_identity import job_id_of
from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.testing import CollectingSink, run_local


class Count(KeyedProcessFunction):
    """Counts the records of each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


@dataclasses.dataclass
class Place:
    """A state directory with jobs and savepoints."""

    directory: Path

    @property
    def checkpoints(self) -> Path:
        return self.directory / "millrace" / "checkpoints"

    @property
    def savepoints(self) -> Path:
        return self.directory / "millrace" / "savepoints"

    def run(self, words: str, name: str = "count", parallelism: int = 1) -> Path:
        """Run a job that counts the letters of ``words``; returns its directory."""
        with run_local(checkpoint_dir=str(self.checkpoints)):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.set_parallelism(parallelism)
            letters = env.from_collection(list(words)).name("letters").uid("letters")
            counted = letters.key_by(lambda letter: letter).process(Count())
            counted.name("count").uid("count").sink_to(CollectingSink())
            env.execute(name)
        job_dir = self.checkpoints / job_id_of(name)
        assert await_end(job_dir, 30)
        return job_dir

    def savepoint(
        self, words: str = "aab", id: str = "1" * 12, parent: str = "", time: int = 0, **job: Any
    ) -> Path:
        """A savepoint of a job that has counted the letters of ``words``."""
        found = open_snapshot(self.run(words, **job))
        target = self.savepoints / f"savepoint-{found.manifest.job_id}-{id[:12]}"
        manifest = dataclasses.replace(found.manifest, ancestor=parent, timestamp=time)
        write_canonical_savepoint(
            target, str(found.directory), manifest, found.deltas.by_subtask(), {}, snapshot_id=id
        )
        return target


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The state directory of the commands of a test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return Place(tmp_path)


@dataclasses.dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def millrace(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs a command line in this process."""

    def run(*argv: object) -> Outcome:
        capsys.readouterr()
        try:
            code = main([str(word) for word in argv])
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return run
