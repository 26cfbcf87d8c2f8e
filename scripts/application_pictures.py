"""Pictures of docs/pictures/applications: plots of what the examples find, and of how they work.

``python scripts/application_pictures.py`` draws all of them, and runs the jobs whose results they
show. Tests of these examples draw the pictures of their own results, and compare.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
PICTURES = ROOT / "docs" / "pictures" / "applications"
WIDTH, HEIGHT = 720, 240
TEXT, LINE, GOOD, WARN, BAD = "#718096", "#94a3b8", "#14b8a6", "#f59e0b", "#e11d48"
"""Colours that can be told from white and from black."""
Point = tuple[float, float]


@dataclass
class Picture:
    """An SVG that grows."""

    title: str
    width: int = WIDTH
    height: int = HEIGHT
    parts: list[str] = field(default_factory=list)

    def line(self, points: Iterable[Point], colour: str = LINE, width: float = 1.5) -> None:
        """Add a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        )

    def box(
        self, place: Point, size: Point, colour: str, opacity: float = 1.0, radius: float = 0
    ) -> None:
        """Add a filled rectangle."""
        (x, y), (width, height) = place, size
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{radius:g}" fill="{colour}" fill-opacity="{opacity:.2f}"/>'
        )

    def dot(self, place: Point, colour: str, radius: float = 4) -> None:
        """Add a point."""
        x, y = place
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"/>')

    def text(self, place: Point, text: str, anchor: str = "start", colour: str = TEXT) -> None:
        """Add a text."""
        x, y = place
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}'
            "</text>"
        )

    def svg(self) -> str:
        """The whole picture."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'font-family="system-ui, sans-serif" font-size="13" role="img" '
            f'aria-label="{escape(self.title)}">'
        )
        return "\n".join([head, *self.parts, "</svg>", ""])


def sensors(base: Path) -> str:
    """Readings of the pump with most faults, and the alerts in the results of the example."""
    import judge
    import machines

    faults = judge.read_faults(base / "data/labels.csv")
    names = [fault.machine for fault in faults]
    machine = max(machines.MACHINES, key=lambda name: (names.count(name), name))
    begin, lasts = machines.SHIFT
    with (base / "data/shift.csv").open(newline="", encoding="utf-8") as file:
        readings = [
            (datetime.fromisoformat(time), float(vibration))
            for time, name, vibration, _ in csv.reader(file)
            if name == machine
        ]
    picture = Picture(f"Vibration of {machine} during a shift, and the alerts")
    highest = max(vibration for _, vibration in readings)

    def place(time: datetime, vibration: float) -> Point:
        return 20 + 680 * ((time - begin) / lasts), 205 - 165 * vibration / highest

    alerts = [a for a in judge.read_alerts(base / "alerts") if a.machine == machine]
    for alert in alerts:
        if alert.kind == "condition":
            left, right = place(alert.since, 0), place(alert.until, 0)
            picture.box((left[0], 30), (right[0] - left[0], 175), WARN, 0.25)
    picture.line((place(*reading) for reading in readings), GOOD, 1)
    heights = dict(readings)
    for alert in alerts:
        if alert.kind == "shock":
            picture.dot(place(alert.since, heights[alert.since]), BAD, 5)
    picture.line([(20, 205), (700, 205)])
    for hour in range(0, lasts.seconds // 3600 + 1, 2):
        picture.text(
            (20 + 680 * hour * 3600 / lasts.seconds, 222), f"{begin.hour + hour}:00", "middle"
        )
    picture.text((20, 18), f"vibration of {machine}")
    picture.dot((520, 14), BAD, 5)
    picture.text((530, 18), "shock")
    picture.box((590, 8), (14, 12), WARN, 0.4)
    picture.text((610, 18), "unusual window")
    return picture.svg()


def network(results: Path) -> str:
    """Dropped calls of each cell and window, in the results of the example."""
    import board
    import cells

    rows = [row for row in board.read(results / "board") if row["cell"] != "all"]
    ends = sorted({row["end"] for row in rows})
    names = [f"{region}-{n}" for region in cells.REGIONS for n in range(1, cells.CELLS + 1)]
    picture = Picture("Share of dropped calls by cell and time")
    wide, high = 620 / len(ends), 8
    squares: dict[tuple[str, float], list[str]] = {}
    for row in rows:
        x, y = ends.index(row["end"]), names.index(row["cell"])
        top = 20 + y * high + 5 * (y // cells.CELLS)
        share = min(row["drop_rate"] / (2 * board.FULL), 1)
        shade = (BAD if share > 0.3 else GOOD), max(0.1, round(share, 1))
        square = f"M{90 + x * wide:.1f} {top}h{wide - 0.5:.1f}v{high - 0.5}h{0.5 - wide:.1f}z"
        squares.setdefault(shade, []).append(square)
    for (colour, opacity), paths in sorted(squares.items()):
        picture.parts.append(f'<path d="{"".join(paths)}" fill="{colour}" opacity="{opacity}"/>')
    for number, region in enumerate(cells.REGIONS):
        top = 20 + number * (cells.CELLS * high + 5)
        picture.text((80, top + cells.CELLS * high / 2 + 5), region, "end")
    for number in range(0, len(ends), 12):
        picture.text((90 + (number + 0.5) * wide, 236), ends[number][11:16], "middle")
    return picture.svg()


def flow(title: str, columns: Sequence[Sequence[str]], colours: Sequence[str]) -> str:
    """Boxes in columns, each joined to all of the next column."""
    picture = Picture(title)
    wide = WIDTH / len(columns)

    def middle(column: int, row: int) -> Point:
        return wide * (column + 0.5), HEIGHT * (row + 0.5) / len(columns[column])

    for number in range(len(columns) - 1):
        for left in range(len(columns[number])):
            for right in range(len(columns[number + 1])):
                (x, y), (to_x, to_y) = middle(number, left), middle(number + 1, right)
                picture.line([(x + 0.36 * wide, y), (to_x - 0.36 * wide, to_y)], LINE, 1.2)
    for number, (boxes, colour) in enumerate(zip(columns, colours, strict=True)):
        high = min(44.0, 0.8 * HEIGHT / len(boxes))
        for row, name in enumerate(boxes):
            x, y = middle(number, row)
            picture.box((x - 0.36 * wide, y - high / 2), (0.72 * wide, high), colour, 0.2, 6)
            picture.text((x, y + 4.5), name, "middle")
    return picture.svg()


def search() -> str:
    """From tables by way of queries to an index and a view."""
    columns = [
        ["products", "reviews"],
        ["changes"],
        ["documents", "categories"],
    ]
    return flow("Tables, their changes, an index and a view", columns, [GOOD, LINE, WARN])


def fraud() -> str:
    """Payments, rules that change, and alerts."""
    columns = [
        ["payments", "rules", "limits"],
        ["patterns of a card"],
        ["alerts", "late", "broken"],
    ]
    return flow("Payments and rules become alerts", columns, [GOOD, WARN, LINE])


def cleanup() -> str:
    """Where the lines of dirty files end."""
    columns = [["dirty CSV"], ["check", "look up", "deduplicate"], ["Parquet", "twice", "refused"]]
    return flow("Each line of a dirty file ends in one place", columns, [WARN, LINE, GOOD])


def sessions() -> str:
    """What is made of clicks."""
    columns = [["clicks"], ["visits", "hours", "users"], ["sessions", "top pages", "profiles"]]
    return flow("Clicks become sessions, rankings and profiles", columns, [LINE, GOOD, WARN])


def shop() -> str:
    """Systems at both ends."""
    columns = [["PostgreSQL"], ["Kafka"], ["windows", "patterns"], ["Delta Lake", "Redis"]]
    return flow("From a database to a topic, a table and alerts", columns, [GOOD, LINE, WARN, GOOD])


def feed() -> str:
    """How the post of a star is divided."""
    import feeds

    buckets = [f"bucket {number}" for number in range(feeds.BUCKETS)]
    columns = [["post of the star"], buckets, ["feeds of followers"]]
    return flow("A post goes to buckets of followers, and to feeds", columns, [WARN, GOOD, LINE])


def surge() -> str:
    """Prices of a ride by the number of those who wait."""
    import surge as example

    picture = Picture("Price of a ride of 4 km by the number of riders that wait")
    usual, most = 2 + 1.5 * 4, 12
    for waiting in range(1, most + 1):
        price = usual * example.factor(waiting, 0)
        left, top = 60 + 53 * (waiting - 1), 200 - 6.5 * price
        called = example.factor(waiting, 0) >= example.CALL
        picture.box((left, top), (44, 200 - top), WARN if called else GOOD, 0.6, 4)
        picture.text((left + 22, top - 6), f"{price:.0f} €", "middle")
        picture.text((left + 22, 218), str(waiting), "middle")
    picture.text((60, 236), "riders that wait, while no driver is free; orange: drivers are called")
    return picture.svg()


def rings() -> str:
    """The groups of accounts that the example finds."""
    import transfers

    picture = Picture("Two rings and a community of accounts")
    groups = [*transfers.RINGS, tuple(transfers.CLIQUE)]
    for number, group in enumerate(groups):
        places = [
            (
                130 + 230 * number + 75 * math.sin(2 * math.pi * n / len(group)),
                115 - 75 * math.cos(2 * math.pi * n / len(group)),
            )
            for n in range(len(group))
        ]
        of_clique = number == len(groups) - 1
        for n, place in enumerate(places):
            others = places[n + 1 :] if of_clique else [places[(n + 1) % len(places)]]
            for other in others:
                picture.line([place, other])
        for name, place in zip(group, places, strict=True):
            picture.dot(place, WARN if of_clique else GOOD, 14)
            picture.text((place[0], place[1] + 4.5), name, "middle", "#0f172a")
        kind = "community" if of_clique else "ring"
        picture.text((130 + 230 * number, 228), kind, "middle")
    return picture.svg()


def club() -> str:
    """The ties of the karate club; those that end are red."""
    import networkx as nx  # type: ignore[import-untyped]

    graph = nx.karate_club_graph()
    picture = Picture("Members of a club, and the ties that end")
    side = nx.get_node_attributes(graph, "club")
    counts = dict.fromkeys(side.values(), 0)
    places = {}
    for member in graph:
        group, number = side[member], counts[side[member]]
        counts[group] += 1
        middle = 200 if group == "Mr. Hi" else 520
        angle = 2 * math.pi * number / 17
        places[member] = middle + 95 * math.sin(angle), 120 - 95 * math.cos(angle)
    for one, other in graph.edges:
        ends = side[one] != side[other]
        picture.line([places[one], places[other]], BAD if ends else LINE, 1.5 if ends else 0.8)
    for member, place in places.items():
        picture.dot(place, GOOD if side[member] == "Mr. Hi" else WARN, 7)
    return picture.svg()


STILL: dict[str, Callable[[], str]] = {
    "cleanup": cleanup, "club": club, "feed": feed, "fraud": fraud, "rings": rings,
    "search": search, "sessions": sessions, "shop": shop, "surge": surge,
}  # fmt: skip
"""Pictures that need no job."""


def _run_sensors(directory: Path) -> str:
    import machines
    import train
    import watch

    from millrace.datastream import StreamExecutionEnvironment

    machines.write(directory / "data")
    train.train(directory)
    env = StreamExecutionEnvironment.get_execution_environment()
    watch.watch(env, directory)
    env.execute("machines")
    return sensors(directory)


def _run_network(directory: Path) -> str:
    import cells

    from millrace.cli.main import main as millrace

    cells.write(directory / "measurements.jsonl")
    with chdir(directory):
        assert millrace(["sql", "-f", str(EXAMPLES / "network/network.sql")]) == 0
    return network(directory / "results")


def main() -> None:
    """Write all pictures."""
    from millrace.testing import run_local

    for name in ("sensors", "network", "feed", "surge", "payments_rings"):
        sys.path.insert(0, str(EXAMPLES / name))
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, draw in STILL.items():
        (PICTURES / f"{name}.svg").write_text(draw(), "utf-8")
    for name, run in ("sensors", _run_sensors), ("network", _run_network):
        with TemporaryDirectory() as directory, run_local():
            (PICTURES / f"{name}.svg").write_text(run(Path(directory)), "utf-8")


if __name__ == "__main__":
    main()
