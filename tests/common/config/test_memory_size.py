"""Amounts of memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.config.memory_size import MemorySize


@pytest.mark.parametrize(
    ("text", "expected"),
    [("64 mb", 64 << 20), ("1kb", 1024), ("2 G", 2 << 30), ("3 tib", 3 << 40), ("7", 7)],
)
def test_read_from_text(text: str, expected: int) -> None:
    """As configuration writes it."""
    assert MemorySize.parse(text).get_bytes() == expected


@pytest.mark.parametrize("text", ["", "mb", "1.5 gb", "-1 kb", "1 parsec"])
def test_other_text_is_refused(text: str) -> None:
    """The error shows how sizes are written."""
    with pytest.raises(ValueError, match="not an amount of memory such as '64 mb'"):
        MemorySize.parse(text)


@given(st.integers(min_value=0, max_value=2**60))
def test_text_reads_back(size: int) -> None:
    """`str` and `parse` are inverse."""
    assert MemorySize.parse(str(MemorySize(size))) == MemorySize(size)


def test_units() -> None:
    """Whole units only."""
    size = MemorySize.of_mebi_bytes(3 * 1024)
    units = (size.get_kibi_bytes(), size.get_mebi_bytes(), size.get_gibi_bytes())
    assert units == (3 * 1024 * 1024, 3 * 1024, 3)
    assert size.get_tebi_bytes() == 0
    assert MemorySize(1) < MemorySize(2)
