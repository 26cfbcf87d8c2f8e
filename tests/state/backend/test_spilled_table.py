"""How much memory values are said to take."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.types import Row
from millrace.state.backend.spilled_table import mean_size


@dataclass(frozen=True, slots=True)
class Slotted:
    text: str


def test_what_is_in_slots_counts() -> None:
    text = "x" * 10_000
    for value in (Row(text=text), Slotted(text), (text,), [text], {"text": text}):
        assert 10_000 < mean_size([(1, value)]) < 12_000


def test_elements_stand_for_the_others() -> None:
    """Those at the end as well as those at the beginning."""
    mixed = ["x"] * 1000 + ["y" * 1000] * 1000
    assert 800_000 < mean_size([(1, mixed)]) < 1_400_000
