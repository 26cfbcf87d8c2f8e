"""``RESULTS.md`` from the kept results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bar import Bar, Row, Section, table

TEST_COSTS = Path(__file__).with_name("test_costs.md")
"""What the tests cost: written by hand from `scripts/compare_test_costs.py`."""
VERDICTS = {True: "reached", False: "**missed**", None: "-"}
INTRODUCTION = """\
Written by `make bench`. The workloads are defined in [workloads.md](workloads.md); parallelism 2 on
all sides, medians of 3, rates from two sizes so that start-up cancels out. Ours checkpoints
durably after every epoch, the peers not at all."""


def render(bars: Mapping[str, Bar], results: Mapping[str, dict[str, Any]]) -> str:
    """The whole document."""
    sections = {name: _section(bar, results.get(name)) for name, bar in bars.items()}
    rows = [row for section in sections.values() for row in section.rows]
    parts = ["# Benchmark results", INTRODUCTION, _summary(rows), "## Machine", _machines(results)]
    for name, bar in bars.items():
        if sections[name].details:
            parts += [f"## {bar.TITLE}", *sections[name].details, _footnote(results[name])]
    parts.append(TEST_COSTS.read_text(encoding="utf-8").rstrip())
    return "\n\n".join(parts) + "\n"


def _section(bar: Bar, result: dict[str, Any] | None) -> Section:
    if result is None:
        return Section([Row(bar.TITLE, "", "not measured yet", None)])
    if "error" in result:
        return Section([Row(bar.TITLE, "", f"not measured: {result['error']}", None)])
    try:
        return bar.section(result["data"])
    except (KeyError, TypeError):
        return Section([Row(bar.TITLE, "", "the kept result is of another version", None)])


def _summary(rows: list[Row]) -> str:
    lines = [[row.bar, row.required, row.measured, VERDICTS[row.reached]] for row in rows]
    return table(["bar", "at least", "measured", "verdict"], lines)


def _machines(results: Mapping[str, dict[str, Any]]) -> str:
    """The latest run's; that of another bar is told apart by its footnote."""
    if not results:
        return "Nothing has been measured yet."
    latest = max(results.values(), key=lambda result: str(result["machine"]["date"]))
    lines = [[name, text] for name, text in latest["machine"].items() if name != "load"]
    return table(["", ""], [*lines, *_peer_versions(results)])


def _peer_versions(results: Mapping[str, dict[str, Any]]) -> list[list[str]]:
    for result in results.values():
        versions = result.get("data", {}).get("versions")
        if versions:
            return [[f"peer {name}", version] for name, version in versions.items()]
    return []


def _footnote(result: dict[str, Any]) -> str:
    machine = result["machine"]
    return (
        f"Measured {machine['date']} with millrace {machine['millrace']} in "
        f"{result['seconds']:.0f} s; load average before: {machine['load']}."
    )
