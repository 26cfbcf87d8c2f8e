"""Manifests: a round trip, and every defect by name."""

from __future__ import annotations

import dataclasses
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.state.checkpoint import manifest
from millrace.state.checkpoint.delta_file import DeltaFileRef
from millrace.state.checkpoint.manifest import (
    QUERY_UIDS,
    Manifest,
    read_manifest,
    read_manifest_file,
)

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
    delta_files=(DeltaFileRef("shared/a", 100, 80, 7, 1), DeltaFileRef("x", 1, 2, 3, 4, 5)),
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
            with pytest.raises(CheckpointCorruptError, match="chk-3/_metadata is corrupt"):
                Manifest.decode(damaged, "chk-3/_metadata")


def test_missing_and_unknown_fields() -> None:
    """A whole file of the wrong content is refused as well."""
    whole = json.loads(MANIFEST.encode())
    del whole["checksum"]
    for name in whole.keys() - {"query_uids"}:
        with pytest.raises(CheckpointCorruptError, match=f"{name} is missing"):
            Manifest.decode(_sealed({k: v for k, v in whole.items() if k != name}), "p")
    for change in ({"delta_files": [[1]]}, {"stages": []}, {"sources": {"s1": "no base64"}}):
        with pytest.raises(CheckpointCorruptError, match="a field is wrong"):
            Manifest.decode(_sealed({**whole, **change}), "p")
    assert Manifest.decode(_sealed({**whole, "colour": "red"}), "p") == MANIFEST


def test_manifests_from_before_queries_had_digests_are_of_the_first_way() -> None:
    whole = json.loads(MANIFEST.encode())
    assert whole["query_uids"] == QUERY_UIDS == 2
    del whole["checksum"], whole["query_uids"]
    assert Manifest.decode(_sealed(whole), "p").query_uids == 1


def test_deep_and_long_files_are_refused_at_once(tmp_path: Path) -> None:
    """Whatever they claim to be."""
    for data in (b"[" * 10**6, b'{"a":' * 10**6, b'{"stages":' + b"[" * 10**6, b"{}", b"[]", b""):
        with pytest.raises(CheckpointCorruptError, match="p is corrupt"):
            Manifest.decode(data, "p")
    with (tmp_path / "_metadata").open("wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(CheckpointCorruptError, match=f"{5 << 30} bytes"):
        read_manifest_file(tmp_path / "_metadata")


@pytest.mark.parametrize(
    "change", [{"pending": {"sink": [b"x" * 3000]}}, {"pending": {"sink": [b"x"] * 300}}]
)
def test_what_cannot_be_read_is_not_written(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """A checkpoint that nobody can go on from would take the place of one that serves."""
    monkeypatch.setattr(manifest, "MAX_BYTES", 3000)
    monkeypatch.setattr(manifest, "MAX_PARTS", 300)
    assert Manifest.decode(MANIFEST.encode(), "p") == MANIFEST
    with pytest.raises(CheckpointError, match="pending in sink 'sink': make checkpoints more"):
        dataclasses.replace(MANIFEST, **change).encode()


def test_json_of_many_parts_is_refused_before_it_is_read() -> None:
    """Each takes a hundred bytes of memory."""
    many = b"[%s]" % (b"[]," * (manifest.MAX_PARTS // 2))
    with pytest.raises(CheckpointCorruptError, match="parts"):
        Manifest.decode(many, "p")


def _sealed(content: dict[str, Any]) -> bytes:
    body = json.dumps(content, indent=1).removesuffix("\n}").encode()
    return body + b',\n "checksum": "crc32:%08x"\n}\n' % zlib.crc32(body)


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
        {"pending": {"sink": ["no base64"]}},
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
