"""Frames of the connections between resident tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millrace.runtime.resident.frames import (
    PREFIX,
    UNKNOWN_BYTES,
    Frame,
    FrameKind,
    FrameReader,
    TransportError,
    framed,
)

FRAMES = [(FrameKind.WIRED, b"3"), (FrameKind.RETURN, b""), (FrameKind.BUFFER, bytes(range(20)))]


def fed(reader: FrameReader, data: bytes) -> Iterator[Frame]:
    """Frames that are complete after ``data`` has been received."""
    yield from reader.received(0)
    while data:
        space = reader.space()
        part = data[: len(space)]
        space[: len(part)] = part
        data = data[len(part) :]
        yield from reader.received(len(part))


STREAM = b"".join(b"".join(framed(kind, body)) for kind, body in FRAMES)


@pytest.mark.parametrize("cut", range(len(STREAM) + 1))
def test_frames_may_be_cut_at_every_byte(cut: int) -> None:
    reader = FrameReader()
    received = [*fed(reader, STREAM[:cut]), *fed(reader, STREAM[cut:])]
    assert received == FRAMES


def test_frames_may_arrive_byte_by_byte() -> None:
    reader = FrameReader()
    received: list[Frame] = []
    for at in range(len(STREAM)):
        received += fed(reader, STREAM[at : at + 1])
    assert received == FRAMES


def test_a_long_body_is_not_copied_to_be_framed() -> None:
    body = memoryview(bytearray(100))
    assert framed(FrameKind.BUFFER, body)[1] is body


def test_a_frame_beyond_the_limit_is_refused_by_its_prefix() -> None:
    """The reader does not wait for a body that it will not take."""
    reader = FrameReader(UNKNOWN_BYTES)
    with pytest.raises(TransportError, match=f"{UNKNOWN_BYTES + 1} bytes, more than"):
        list(fed(reader, PREFIX.pack(UNKNOWN_BYTES + 1, FrameKind.GREETING)))


def test_frames_before_a_refused_one_are_received() -> None:
    reader = FrameReader(limit=4)
    frames = fed(reader, b"".join([*framed(FrameKind.WIRED, b"1"), PREFIX.pack(5, 1)]))
    assert next(frames) == (FrameKind.WIRED, b"1")
    with pytest.raises(TransportError, match="5 bytes"):
        next(frames)


def test_a_reader_that_is_left_in_the_middle_goes_on_with_the_next_frame() -> None:
    """A worker stops listening to a connection in the middle of what it received."""
    reader = FrameReader()
    frames = fed(reader, STREAM)
    assert next(frames) == FRAMES[0]
    frames.close()
    assert list(fed(reader, b"")) == FRAMES[1:]


LENGTHS = [(1, 70_000), (2, 3), (1, 65_531), (1, 65_532)]
LONG = [(kind, bytes([7]) * length) for kind, length in LENGTHS]


@pytest.mark.parametrize("cut", [1, 6, 4_000, 65_536, 70_004, 70_005, 70_006, 140_000])
def test_long_frames_between_short_ones(cut: int) -> None:
    stream = b"".join(b"".join(framed(FrameKind(kind), body)) for kind, body in LONG)
    reader = FrameReader()
    frames: list[Frame] = []
    for at in range(0, len(stream), cut):
        frames += fed(reader, stream[at : at + cut])
    assert frames == LONG


def test_the_body_of_a_long_frame_is_received_where_it_stays() -> None:
    reader = FrameReader()
    list(fed(reader, PREFIX.pack(100_000, FrameKind.BUFFER)))
    space = reader.space()
    assert len(space) == 100_000
    space[:] = b"x" * 100_000
    [(_, body)] = reader.received(100_000)
    assert body is space.obj
    assert len(reader.space()) < 100_000
