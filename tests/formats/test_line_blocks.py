"""Lines in big blocks are the lines that `readline` gives."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.formats import JsonLinesFormat, StreamFormat, line_blocks
from millrace.formats.line_blocks import LineBlocks, bounded_lines


class Trickle(io.RawIOBase):
    """Gives its bytes in pieces of certain sizes, and fails at the end if it is to."""

    def __init__(self, data: bytes, sizes: list[int], fails: bool = False) -> None:
        self._data, self._sizes, self._at, self._fails = data, sizes, 0, fails

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(self._sizes[self._at % len(self._sizes)] if self._sizes else 7, len(buffer))
        self._at += 1
        data, self._data = self._data[:size], self._data[size:]
        if not data and self._fails:
            raise EOFError("it is cut here")
        buffer[: len(data)] = data
        return len(data)


contents = st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=30).map(
    b"\n".join
)
sizes = st.lists(st.integers(1, 40), max_size=8)


@settings(deadline=None)
@given(content=contents, sizes=sizes, asked=st.lists(st.integers(1, 40), min_size=1))
def test_blocks_have_the_lines_that_were_asked_for(
    content: bytes, sizes: list[int], asked: list[int]
) -> None:
    blocks = LineBlocks(io.BufferedReader(Trickle(content, sizes), 16))
    taken, number = b"", 0
    while True:
        wanted = asked[number % len(asked)]
        block = blocks.take(wanted, 1 << 62)
        number += 1
        if not block.lines:
            break
        lines = io.BytesIO(block.data).readlines()
        assert len(lines) == block.lines <= wanted
        taken += block.data
        assert taken == content or taken.endswith(b"\n")
    assert taken == content


@settings(deadline=None)
@given(content=contents, sizes=sizes, lines=st.integers(1, 40), bound=st.integers(1, 60))
def test_only_lines_that_begin_within_the_bound(
    content: bytes, sizes: list[int], lines: int, bound: int
) -> None:
    blocks = LineBlocks(io.BufferedReader(Trickle(content, sizes), 16))
    position = 0
    while position < bound and (block := blocks.take(lines, bound - position)).lines:
        starts = [position]
        for line in io.BytesIO(block.data).readlines():
            starts.append(starts[-1] + len(line))
        assert max(starts[:-1]) < bound
        position = starts[-1]
    assert position >= bound or position == len(content)


@settings(deadline=None)
@given(content=contents, sizes=sizes)
def test_bounded_lines_are_pieces_of_lines(content: bytes, sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(line_blocks, "MAX_RECORD_BYTES", 8)
        found = list(bounded_lines(io.BufferedReader(Trickle(content, sizes), 16)))
    stream, expected = io.BytesIO(content), list[bytes]()
    while line := stream.readline(8):
        expected.append(line)
    assert found == expected


def test_lines_before_a_place_that_cannot_be_read_are_taken_first() -> None:
    stream = io.BufferedReader(Trickle(b"a\nb\nhalf", [3], fails=True), 16)
    blocks = LineBlocks(stream)
    assert [blocks.take(9, 99).data for _ in range(2)] == [b"a\n", b"b\n"]
    with pytest.raises(EOFError):
        blocks.take(9, 99)


def reference(lines: list[bytes]) -> Any:
    """What the slow way gives, or that it refuses."""
    try:
        texts = (line.decode() for line in lines)
        return [json.loads(text) for text in texts if text.strip()]
    except (ValueError, RecursionError):
        return "refused"


fragments = st.sampled_from(
    [
        *'{}[],:"\\ \t\r\n',
        *("1", "-0", "1e400", "1E5", "0.1", "01", "1.0", "NaN", "-Infinity", "true", "null"),
        *("12345678901234567890123", "18446744073709551616", "-9223372036854775809"),
        *('"\\ud800"', '"\\u00e9"', '"é"', '"a"', '"\x01"', '{"a":1}', "[]", "{}"),
        *("\x0c", "\ufeff"),
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
documents = st.lists(fragments, max_size=8).map("".join) | values.map(json.dumps)


@settings(deadline=None)
@given(texts=st.lists(documents, max_size=5))
def test_json_is_the_same_value_the_fast_way_and_the_slow(texts: list[str]) -> None:
    block = "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass")
    lines = [line + b"\n" for line in block.split(b"\n")[:-1]]
    expected = reference(lines)
    try:
        found: Any = JsonLinesFormat().decode_block(block)
    except Exception:
        found = "refused"
    if expected != "refused" or found != "refused":
        assert repr(found) == repr(expected) or has_odd_space(block)


def has_odd_space(block: bytes) -> bool:
    """Around a value any white space is let pass, as it ever was; `json.loads` knows four."""
    return b"\x0c" in block


@settings(deadline=None)
@given(texts=st.lists(st.text(max_size=9), max_size=9), end=st.booleans())
def test_text_is_the_same_in_a_block_and_line_by_line(texts: list[str], end: bool) -> None:
    block = ("\n".join(texts) + ("\n" if end else "")).encode()
    lines = io.BytesIO(block).readlines()
    text = StreamFormat.text_line_format()
    assert text.decode_block(block) == [record for line in lines for record in text.decode([line])]
