"""Advice on how to continue a job."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.engine.resume_hint import resume_hint
from millrace.state.checkpoint.manifest import Manifest


def client_of(job_dir: Path, checkpoint: int | None) -> Any:
    """A client whose job has counted its checkpoints up to ``checkpoint``."""
    details = SimpleNamespace(checkpoint=checkpoint, checkpoints=SimpleNamespace(restored=None))
    return SimpleNamespace(
        progress=lambda: details, get_job_directory=lambda: str(job_dir), run_id="this"
    )


def write_checkpoint(job_dir: Path, number: int, run_id: str = "former") -> None:
    manifest = Manifest(
        job_name="count",
        run_id=run_id,
        checkpoint=number,
        epoch=number,
        timestamp=0,
        max_parallelism=128,
        stages={},
        operators={},
        versions={},
        sources={},
        pending={},
    )
    directory = job_dir / f"chk-{number}"
    directory.mkdir()
    (directory / "_metadata").write_bytes(manifest.encode())


@pytest.mark.parametrize(("complete", "named"), [((1, 2), 2), ((2,), 2), ((1,), 1)])
def test_it_names_the_checkpoint_from_which_the_job_would_continue(
    complete: tuple[int, ...], named: int, tmp_path: Path
) -> None:
    """A job that was interrupted may not have counted its last one."""
    for number in complete:
        write_checkpoint(tmp_path, number)
    hint = resume_hint(client_of(tmp_path, checkpoint=1), "do it")
    assert hint == f"to continue from checkpoint {named}: do it"


def test_there_is_none_without_a_checkpoint_of_the_job(tmp_path: Path) -> None:
    assert resume_hint(client_of(tmp_path, checkpoint=1), "do it") is None
    write_checkpoint(tmp_path, 1)  # of a former run
    assert resume_hint(client_of(tmp_path, checkpoint=None), "do it") is None
    assert resume_hint(client_of(tmp_path, checkpoint=2), "do it") is None


def test_it_names_a_checkpoint_before_the_job_has_counted_one(tmp_path: Path) -> None:
    """Its own, not that of a former run after which it started afresh."""
    write_checkpoint(tmp_path, 1)
    client = client_of(tmp_path, checkpoint=None)
    assert resume_hint(client, "do it") is None
    write_checkpoint(tmp_path, 2, run_id="this")
    assert resume_hint(client, "do it") == "to continue from checkpoint 2: do it"
