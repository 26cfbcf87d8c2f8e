"""What a benchmark module gives: raw data of a bar, and rows of the table made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

Data = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    bar: str
    required: str
    measured: str
    reached: bool | None
    """None: there is no bar, or nothing was measured."""


@dataclass(frozen=True)
class Section:
    """What one module adds to the results."""

    rows: list[Row]
    details: list[str] = field(default_factory=list)
    """Markdown, a paragraph or a table each."""


class Bar(Protocol):
    """A benchmark module."""

    TITLE: str

    def measure(self, quick: bool) -> Data:
        """Measure; the result must survive JSON. Raises MeasurementError."""

    def section(self, data: Data) -> Section:
        """Make the rows and details from what `measure` gave, possibly in an earlier run."""


def quantile(values: Sequence[float], q: float) -> float:
    """The value that a share ``q`` of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def against_plain_loop(
    name: str, plain: str, times: Sequence[Sequence[float]], records: int, most: float
) -> Row:
    """The row of what is compared with a plain loop of Python over the same records.

    Args:
        name: of what was measured.
        plain: the loop.
        times: CPU seconds of each run, ours and the loop's; the fastest count.
        records: of a run.
        most: how often the loop's CPU time it may take.
    """
    ours, loop = (min(runs) for runs in zip(*times, strict=True))
    ratio = ours / loop
    return Row(
        f"{name} against {plain}",
        f"{most:.2f} times the CPU",
        f"{ratio:.2f} times; {records / ours:,.0f} records/s and core",
        ratio <= most,
    )


def summary(values: Sequence[float]) -> str:
    """Median, p99 and worst of times in ms."""
    return (
        f"median {median(values):.0f} ms, p99 {quantile(values, 0.99):.0f} ms, "
        f"worst {max(values):.0f} ms ({len(values)} epochs)"
    )


def table(header: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)
