"""Packing in tiers, and the thread that does it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from millrace.state.checkpoint import packing
from millrace.state.checkpoint.layer_file import LayerLoader, write_layer_file
from millrace.state.checkpoint.layer_set import LayerSet
from millrace.state.checkpoint.packer import PAUSE_AFTER_ERROR, Packer
from millrace.state.checkpoint.packing import FILES_PER_TIER, choose
from millrace.state.layer import Layer


@pytest.fixture
def job_dir(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path


def grown(job_dir: Path, layers: LayerSet, count: int, start: int = 1, size: int = 1) -> LayerSet:
    for epoch in range(start, start + count):
        entry = ("s", 0, Layer(epoch, f"v{epoch}", 0, b"%d" % epoch * size))
        file = write_layer_file(job_dir, f"{epoch}.layers", [entry], durable=False)
        layers = layers.with_file(file)
    return layers


def contents(job_dir: Path, layers: LayerSet) -> list[bytes]:
    load = LayerLoader(job_dir)
    return [load(layer) for layer in layers.by_subtask().get(("s", 0), [])]


def packer(job_dir: Path) -> Packer:
    return Packer(job_dir, "run", durable=False)


def test_a_full_tier_is_packed(job_dir: Path) -> None:
    """Not before, and the state stays the same."""
    layers = grown(job_dir, LayerSet(), FILES_PER_TIER - 1)
    assert choose(layers) is None
    layers = grown(job_dir, layers, 1, start=FILES_PER_TIER)
    before = contents(job_dir, layers)
    worker = packer(job_dir)
    worker.offer(layers)
    worker.wait()
    packed = worker.result()
    assert packed is not None
    after = packed.applied_to(layers)
    assert [file.ref.tier for file in after.files.values()] == [1]
    for path in layers.files:
        (job_dir / path).unlink()
    assert contents(job_dir, after) == before


def test_dead_layers_are_left_out(job_dir: Path) -> None:
    """Only what a restore needs is copied."""
    layers = grown(job_dir, LayerSet(), FILES_PER_TIER)
    floor = ("s", 0, Layer(9, "v9", 2, b"9"))
    layers = layers.with_file(write_layer_file(job_dir, "9.layers", [floor]))
    layers = grown(job_dir, layers, 1, start=10)
    worker = packer(job_dir)
    worker.offer(layers)
    worker.wait()
    packed = worker.result()
    assert packed is not None
    assert [layer.epoch for _, _, layer in packed.file.entries] == list(range(2, 11))


def test_tiers_of_tiers(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of files stays small over many checkpoints."""
    monkeypatch.setattr(packing, "FILES_PER_TIER", 2)
    layers, worker = LayerSet(), packer(job_dir)
    for epoch in range(1, 65):
        layers = grown(job_dir, layers, 1, start=epoch)
        worker.offer(layers)
        worker.wait()
        packed = worker.result()
        if packed is not None:
            layers = packed.applied_to(layers)
            worker.taken()
    assert contents(job_dir, layers) == [b"%d" % epoch for epoch in range(1, 65)]
    assert len(layers.files) < 12


def test_a_big_file_that_is_mostly_dead(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One idle subtask does not keep the bytes of all the others."""
    monkeypatch.setattr(packing, "WORTH_COPYING", 100)
    idle, busy = ("s", 1, Layer(1, "i", 0, b"idle")), ("s", 0, Layer(1, "b", 0, b"x" * 1000))
    file = write_layer_file(job_dir, "a.layers", [idle, busy])
    layers = LayerSet().with_file(file)
    assert choose(layers) is None
    again = ("s", 0, Layer(2, "c", 2, b"y"))
    layers = layers.with_file(write_layer_file(job_dir, "b.layers", [again]))
    chosen = choose(layers)
    assert chosen is not None
    packed = chosen.run(job_dir, "p", "run", False, lambda: None)
    assert [layer.version for _, _, layer in packed.file.entries] == ["i"]
    assert choose(packed.applied_to(layers)) is None


def test_errors_are_logged_and_tried_again(job_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They never reach the job."""
    layers = grown(job_dir, LayerSet(), FILES_PER_TIER)
    hidden = job_dir / "shared" / "1.layers"
    content = hidden.read_bytes()
    hidden.unlink()
    worker = packer(job_dir)
    worker.offer(layers)
    worker.wait()
    with caplog.at_level(logging.WARNING):
        assert worker.result() is None
    assert "1.layers is corrupt: the file is missing" in caplog.text
    hidden.write_bytes(content)
    for _ in range(PAUSE_AFTER_ERROR + 1):
        assert worker.result() is None
        worker.offer(layers)
        worker.wait()
    assert worker.result() is not None


def test_discarding_deletes_what_was_made(job_dir: Path) -> None:
    """Nobody refers to it."""
    layers = grown(job_dir, LayerSet(), FILES_PER_TIER)
    worker = packer(job_dir)
    worker.offer(layers)
    worker.wait()
    assert worker.result() is not None
    worker.discard()
    assert worker.result() is None
    assert len(list((job_dir / "shared").iterdir())) == FILES_PER_TIER


def test_discarding_stops_the_copying(job_dir: Path) -> None:
    """The thread ends, nothing is left, and packing can begin again."""
    layers = grown(job_dir, LayerSet(), FILES_PER_TIER)
    worker = packer(job_dir)
    worker._cancelled.set()
    worker.offer(layers)
    worker.wait()
    assert worker.result() is None
    worker.discard()
    assert len(list((job_dir / "shared").iterdir())) == FILES_PER_TIER
    worker.offer(layers)
    worker.wait()
    assert worker.result() is not None
