"""The results as a person likes to read them. Looks only at the files that the job wrote."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
from replay import data_directory

NEW_YORK = ZoneInfo("America/New_York")
AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
BUSY = 10
"""Hours with fewer departures say little about an airport."""


@dataclass(frozen=True)
class Results:
    """What the job found, as plain records."""

    hours: list[dict[str, Any]]
    alerts: list[dict[str, str]]
    late: list[dict[str, str]]
    cancelled: list[dict[str, str]]

    @property
    def departures(self) -> int:
        """In time and late."""
        return sum(hour["departures"] for hour in self.hours) + len(self.late)

    @property
    def flights(self) -> int:
        """All that were in the schedule."""
        return self.departures + len(self.cancelled)


def read_results(directory: Path) -> Results:
    """Read what is committed; files that are not have hidden names."""
    return Results(
        hours=pq.read_table(directory / "delays").to_pylist(),
        alerts=list(_csv_records(directory / "alerts")),
        late=list(_csv_records(directory / "late")),
        cancelled=list(_csv_records(directory / "cancelled")),
    )


def _csv_records(directory: Path) -> Iterator[dict[str, str]]:
    for path in sorted(directory.glob("part-*")):
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def report(results: Results) -> str:
    """The whole report."""
    airlines = _airlines()
    lines = [
        "",
        "New York's airports in 2013, replayed from their schedule",
        "",
        f"{'airport':<15}{'departures':>11}{'cancelled':>11}{'late data':>11}{'avg delay':>12}"
        "   worst hour                    most often worst",
    ]
    lines += [_airport_line(code, results, airlines) for code in AIRPORTS]
    lines += ["", *_totals(results), "", *_aircraft(results), ""]
    return "\n".join(lines)


def _airport_line(code: str, results: Results, airlines: dict[str, str]) -> str:
    hours = [hour for hour in results.hours if hour["origin"] == code]
    late = [int(flight["delay"]) for flight in results.late if flight["origin"] == code]
    departures = sum(hour["departures"] for hour in hours) + len(late)
    total_delay = sum(hour["total_delay"] for hour in hours) + sum(late)
    cancelled = sum(flight["origin"] == code for flight in results.cancelled)
    worst = max(
        (hour for hour in hours if hour["departures"] >= BUSY),
        key=lambda hour: hour["average_delay"],
        default=None,
    )
    moment = f"{_local(worst['hour'])}, {worst['average_delay']:.0f} min" if worst else "none"
    carriers = Counter(hour["worst_carrier"] for hour in hours).most_common(1)
    carrier = airlines.get(carriers[0][0], carriers[0][0]) if carriers else "none"
    return (
        f"{code} {AIRPORTS[code]:<11}{departures:>11,}{cancelled:>11,}{len(late):>11,}"
        f"{total_delay / max(1, departures):>8.1f} min   {moment:<28}  {carrier}"
    )


def _local(timestamp: int) -> str:
    moment = datetime.fromtimestamp(timestamp / 1000, UTC).astimezone(NEW_YORK)
    return f"{moment:%a %d %b %H:00}"


def _airlines() -> dict[str, str]:
    with (data_directory() / "airlines.csv").open(encoding="utf-8", newline="") as file:
        return {row["carrier"]: row["name"] for row in csv.DictReader(file)}


def _totals(results: Results) -> list[str]:
    in_time = results.departures - len(results.late)
    return [
        f"{in_time:,} departures in hourly windows + {len(results.late):,} late "
        f"+ {len(results.cancelled):,} cancelled = {results.flights:,} flights"
    ]


def _aircraft(results: Results) -> list[str]:
    by_aircraft = Counter(alert["tailnum"] for alert in results.alerts)
    often = ", ".join(f"{tailnum} ({count})" for tailnum, count in by_aircraft.most_common(3))
    return [
        f"{len(results.alerts):,} alerts for {len(by_aircraft):,} aircraft that had not left "
        "New York again 12 hours after a departure",
        f"most often: {often}",
    ]
