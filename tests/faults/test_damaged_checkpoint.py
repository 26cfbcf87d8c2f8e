"""Truncated and corrupted checkpoints: the error names the file, the one before stays usable."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import fault_pipeline as pipeline
import pytest
from fault_drivers import EXECUTORS, job_dir, run_driver
from fault_lives import Lives

from millrace.common.errors import MillraceError
from millrace.state.checkpoint.delta_file import SUFFIX
from millrace.state.checkpoint.delta_set import read_delta_set
from millrace.state.checkpoint.directory import checkpoint_dir, metadata_path
from millrace.state.checkpoint.manifest import read_manifest
from millrace.state.state_delta import FileRef

pytestmark = pytest.mark.fault

COUNTS = {"epochs": 400, "resident": 6_000}
"""Records per executor, enough for some ten epochs: those of resident tasks end by the clock."""
NEWEST = 7
Damage = Callable[[Path], None]


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    """One bit is different, in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def zeroed_tail(path: Path) -> None:
    """What a file system may leave after a power cut: the length is right, the end is not."""
    data = path.read_bytes()
    path.write_bytes(data[:-20] + bytes(20))


def deleted(path: Path) -> None:
    path.unlink()


@pytest.fixture
def killed(executor: str, live_and_die: Callable[..., Lives]) -> Path:
    """A job killed between its newest checkpoint and the commit of the sinks."""
    traps = [f"after-metadata:{NEWEST}"]
    lives = live_and_die(traps, count=COUNTS[executor], inline_limit=300, executor=executor)
    return lives.directory


def own_files(directory: Path) -> set[str]:
    """The files that the newest checkpoint refers to and the one before does not."""

    def files(number: int) -> set[str]:
        manifest = read_manifest(job_dir(directory), number)
        deltas = read_delta_set(job_dir(directory), manifest).live()
        data = {entry[2].data.path for entry in deltas if isinstance(entry[2].data, FileRef)}
        return data | {ref.path for ref in manifest.delta_files}

    return files(NEWEST) - files(NEWEST - 1)


def victim(directory: Path, kind: str) -> Path:
    if kind == "metadata":
        return Path(metadata_path(job_dir(directory), NEWEST))
    wanted = (p for p in own_files(directory) if p.endswith(SUFFIX) == (kind == "delta file"))
    return Path(job_dir(directory)) / min(wanted)


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    ("executor", "kind", "damage"),
    [
        ("epochs", "metadata", truncated),
        ("epochs", "metadata", cut_in_half),
        ("epochs", "metadata", emptied),
        ("epochs", "metadata", flipped),
        ("epochs", "metadata", zeroed_tail),
        ("epochs", "delta file", truncated),
        ("epochs", "delta file", flipped),
        ("epochs", "delta file", zeroed_tail),
        ("epochs", "delta file", deleted),
        ("epochs", "segment", truncated),
        ("epochs", "segment", flipped),
        ("epochs", "segment", deleted),
        # the driver writes checkpoints and reads them, on either executor: one of each kind
        ("resident", "metadata", truncated),
        ("resident", "delta file", flipped),
        ("resident", "segment", deleted),
    ],
)
def test_damage_is_named_and_the_checkpoint_before_serves(
    executor: str, kind: str, damage: Damage, killed: Path
) -> None:
    """The damaged checkpoint is refused by the file's name, before anything becomes visible; with
    it out of the way the job goes on from the one before, and ends exactly."""
    path = victim(killed, kind)
    damage(path)
    seen = [pipeline.visible(killed / "out", name) for name in pipeline.SINKS]
    with pytest.raises(MillraceError) as refused:
        run_driver(killed, COUNTS[executor], cluster=EXECUTORS[executor]())
    assert str(path) in str(refused.value)
    assert "corrupt" in str(refused.value)
    assert "Traceback" not in str(refused.value)
    assert [pipeline.visible(killed / "out", name) for name in pipeline.SINKS] == seen

    shutil.rmtree(checkpoint_dir(job_dir(killed), NEWEST))
    client = run_driver(killed, COUNTS[executor], cluster=EXECUTORS[executor]())
    assert client.progress().records < COUNTS[executor]
    pipeline.check_output(killed / "out", COUNTS[executor], 3)
