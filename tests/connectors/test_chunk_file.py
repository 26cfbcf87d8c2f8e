"""Chunks of part files: written once, joined with a check."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.connectors.chunk_file import ChunkFile, join_chunks
from millrace.connectors.errors import PartFileError
from millrace.connectors.part_file import Chunk


def write_chunk(path: Path, *pieces: bytes) -> Chunk:
    file = ChunkFile(str(path))
    for piece in pieces:
        file.write(piece)
    return file.seal()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.binary(max_size=20), max_size=4), min_size=1, max_size=5))
def test_joined_chunks_hold_everything_in_order(
    tmp_path_factory: pytest.TempPathFactory, contents: list[list[bytes]]
) -> None:
    directory = tmp_path_factory.mktemp("chunks")
    chunks = [write_chunk(directory / str(i), *pieces) for i, pieces in enumerate(contents)]
    target = ChunkFile(str(directory / "joined"))
    join_chunks(chunks, target)
    joined = target.seal()
    expected = b"".join(piece for pieces in contents for piece in pieces)
    assert (directory / "joined").read_bytes() == expected
    assert joined.length == len(expected)
    assert joined.crc == write_chunk(directory / "whole", expected).crc


def test_big_writes_do_not_stay_in_memory(tmp_path: Path) -> None:
    file = ChunkFile(str(tmp_path / "big"))
    file.write(bytes(3 << 20))
    [hidden] = tmp_path.iterdir()
    assert hidden.stat().st_size == 3 << 20
    file.write(b"end")
    assert file.seal().length == (3 << 20) + 3
    assert (tmp_path / "big").stat().st_size == (3 << 20) + 3


def test_a_file_of_another_attempt_is_never_written_to(tmp_path: Path) -> None:
    write_chunk(tmp_path / "a", b"other")
    with pytest.raises(PartFileError, match="Do two sinks of the job write to the same directory"):
        write_chunk(tmp_path / "a", b"mine")
    assert (tmp_path / "a").read_bytes() == b"other"


def test_a_damaged_or_missing_chunk_is_named(tmp_path: Path) -> None:
    chunk = write_chunk(tmp_path / "a", b"12345")
    (tmp_path / "a").write_bytes(b"12346")
    with pytest.raises(PartFileError, match=r"a: this piece .* is damaged"):
        join_chunks([chunk], ChunkFile(str(tmp_path / "b")))
    (tmp_path / "a").unlink()
    with pytest.raises(PartFileError, match=r"a: this piece .* is gone"):
        join_chunks([chunk], ChunkFile(str(tmp_path / "c")))
