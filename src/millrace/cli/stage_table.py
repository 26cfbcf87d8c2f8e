"""The stages of a job as rows of a table, for ``info`` and ``top``."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.cli.job_overview import StageRow

__all__ = ["HEADS", "lag_text", "stage_cells", "stage_row"]

HEADS = ("STAGE", "P", "IN/S", "OUT/S", "IN", "OUT", "BUSY", "LAG")
MAX_NAME = 48


def stage_cells(stages: Iterable[StageRow]) -> list[tuple[str, ...]]:
    """Rows of the table of stages as cells. The first row has the titles of the columns."""
    return [HEADS, *map(stage_row, stages)]


def stage_row(row: StageRow) -> tuple[str, ...]:
    """Cells of one stage in the table of stages.

    Example:
        >>> stage_row(StageRow("count", 2, 10_000, 5, 1_250.0, None, 0.42, 1_500))
        ('count', '2', '1,250', '-', '10,000', '5', '42 %', '1.5 s')
    """
    name = row.name if len(row.name) <= MAX_NAME else f"{row.name[: MAX_NAME - 1]}…"
    return (
        name,
        str(row.parallelism),
        _rate(row.in_per_second),
        _rate(row.out_per_second),
        f"{row.records_in:,}",
        f"{row.records_out:,}",
        "-" if row.busy is None else f"{row.busy:.0%}".replace("%", " %"),
        lag_text(row.watermark_lag),
    )


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def lag_text(lag: int | None) -> str:
    """Distance of a watermark from the clock, as text.

    Example:
        >>> lag_text(None), lag_text(250), lag_text(90_000), lag_text(7_200_000), lag_text(-5)
        ('-', '250 ms', '90.0 s', '2.0 h', '0 ms')
    """
    if lag is None:
        return "-"
    if lag < 1_000:
        return f"{max(0, lag)} ms"
    if lag < 120_000:
        return f"{lag / 1_000:.1f} s"
    if lag < 7_200_000:
        return f"{lag / 60_000:.1f} min"
    hours = lag / 3_600_000
    return f"{hours:,.1f} h" if hours < 48 else f"{hours / 24:,.0f} d"
