"""Manifests: a round trip, and every defect by name."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.state.checkpoint.envelope import seal
from millrace.state.checkpoint.layer_file import LayerFileRef
from millrace.state.checkpoint.manifest import Manifest, read_manifest

MANIFEST = Manifest(
    job_id="count-12",
    job_name="count",
    run_id="r1",
    checkpoint=3,
    epoch=17,
    timestamp=1_700_000_000_000,
    parent=2,
    max_parallelism=128,
    stages={"s1": 2, "s2": 1},
    operators={"s1": "source", "s2": "count"},
    versions={("s2", 0): "r1-17-0-4"},
    layer_files=(LayerFileRef("shared/a", 100, 80, 7, 1), LayerFileRef("x", 1, 2, 3, 4, 5)),
    sources={"s1": b"\x00\xff"},
    pending={"sink": [b"part-1", b"part-2"]},
    finished=True,
)


def test_round_trip() -> None:
    """All fields."""
    assert Manifest.decode(MANIFEST.encode(), "p") == MANIFEST
    first = dataclasses.replace(MANIFEST, parent=None, kind="savepoint", finished=False)
    assert Manifest.decode(first.encode(), "p") == first


def test_every_truncation_and_flip_is_found() -> None:
    """Whatever happens to the bytes, the error names the file."""
    data = MANIFEST.encode()
    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 0x04
        for damaged in (bytes(flipped), data[:position]):
            with pytest.raises(CheckpointCorruptError, match="chk-3/_metadata"):
                Manifest.decode(damaged, "chk-3/_metadata")


def test_missing_and_unknown_fields() -> None:
    """A whole file of the wrong content is refused as well."""
    for content in ([], {}, {"layer_files": [], "colour": "red"}, {"layer_files": [(1,)]}):
        with pytest.raises(CheckpointCorruptError, match="a field is wrong"):
            Manifest.decode(seal(b"MRCHKPNT", 1, content), "p")


@pytest.mark.parametrize(
    "change",
    [
        {"stages": {"s1": 10**15, "s2": 1}},
        {"stages": {"s1": 129, "s2": 1}},
        {"stages": {"s1": 2, "s2": 0}},
        {"stages": {"s1": -2, "s2": 1}},
        {"max_parallelism": 10**15},
        {"max_parallelism": 0},
        {"versions": {("s2", 1): "v"}},
        {"versions": {("s2", -1): "v"}},
        {"versions": {("s3", 0): "v"}},
        {"chains": {"s3": ("a",)}},
        {"stages": {"s1": 2, "s2": True}},
        {"pending": {"sink": ["part"]}},
    ],
)
def test_nobody_counts_for_ages(change: dict[str, Any]) -> None:
    """Nor finds less than what it counted on."""
    damaged = dataclasses.replace(MANIFEST, **change)
    with pytest.raises(CheckpointCorruptError, match="a field is wrong"):
        Manifest.decode(damaged.encode(), "p")


def test_a_later_format() -> None:
    """Is not called damage."""
    later = dataclasses.replace(MANIFEST, format_version=9)
    with pytest.raises(CheckpointError, match="format version 9"):
        Manifest.decode(later.encode(), "p")


def test_read(tmp_path: Path) -> None:
    """From its place in the directory."""
    with pytest.raises(CheckpointCorruptError, match="chk-3/_metadata is corrupt: .*missing"):
        read_manifest(tmp_path, 3)
    (tmp_path / "chk-3").mkdir()
    (tmp_path / "chk-3" / "_metadata").write_bytes(MANIFEST.encode())
    assert read_manifest(tmp_path, 3) == MANIFEST
