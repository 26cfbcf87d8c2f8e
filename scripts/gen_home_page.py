"""Writes the figures of the home page and of README.md, and what programs of the home page print.

python scripts/gen_home_page.py           write both pages; starts a Spark session for graphs
python scripts/gen_home_page.py --check   exit 1 if figures are not those of benchmarks/RESULTS.md

The figures are rows of benchmarks/RESULTS.md. The programs stand in tabs of docs/index.md;
tests/docs/test_home_page.py says when a program and what it prints have parted.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "docs" / "index.md"
PAGES = (HOME, ROOT / "README.md")
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
FIGURES = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->\n)", re.DOTALL)
HEADLINE = re.compile(r"(<!-- headline -->\n).*?(<!-- end of headline -->\n)", re.DOTALL)
TAB = re.compile(r'^=== "(?P<title>[^"]+)"\n\n(?P<body>(?:    [^\n]*\n|\n)+)', re.MULTILINE)
BLOCK = re.compile(
    r"```(?P<language>python|sql)(?P<title>[^\n]*)\n(?P<code>.*?)```\n"
    r"(?:\n```text\n.*?```\n)?",
    re.DOTALL,
)
STATEMENT_END = re.compile(r";\s*(?:\n|\Z)")


@dataclass(frozen=True)
class Comparison:
    """A line of the table of figures.

    Args:
        label: what the line calls the workload.
        pyflink: name of the row of RESULTS.md that compares with Flink or PyFlink, or None.
        spark: name of the row that compares with Spark, or None.
    """

    label: str
    pyflink: str | None = None
    spark: str | None = None


COMPARISONS = (
    Comparison(
        "keyed count, with state",
        "(a) keyed count against PyFlink",
        "(a) keyed count against transformWithState",
    ),
    Comparison("word count", "(b) word count against PyFlink"),
    Comparison("tumbling windows", "(c) tumbling window against PyFlink"),
    Comparison("session windows", "(f) session window against PyFlink"),
    Comparison("interval join", "(g) interval join against PyFlink"),
    Comparison(
        "vectorised functions over Parquet",
        spark="three vectorised functions over Parquet against `mapInArrow`",
    ),
    Comparison("Python function in SQL", "general function in SQL against PyFlink's better mode"),
)
RATE = re.compile(r"([\d.]+) times \(([\d.]+[KM]?)\S* against ([\d.]+[KM]?)")
NEXMARK = "Nexmark, 22 queries, geometric mean against Flink, both warm (goal)"
LATENCY = (
    "resident tasks: to a sink that writes at once, a checkpoint each second, p50 / p99 / p99.9"
)


class MissingFigureError(Exception):
    """RESULTS.md has no row of a name, or the row has no such figure."""


def measured() -> dict[str, str]:
    """What was measured, by the name of the bar."""
    rows = {}
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 4:
            rows[cells[0]] = cells[2]
    return rows


def figures() -> str:
    """The table of figures, and the sentence on SQL and latency."""
    rows = measured()
    lines = [
        "| records per second on 2 cores | Millrace | PyFlink (factor) | Spark (factor) |",
        "| --- | --- | --- | --- |",
    ]
    for comparison in COMPARISONS:
        ours, cells = "", []
        for name in (comparison.pyflink, comparison.spark):
            if name is None:
                cells.append("")
                continue
            times, ours, theirs = _found(rows, name, RATE)
            cells.append(f"{theirs} ({float(times):.3g}x)")
        lines.append(f"| {comparison.label} | **{ours}** | {cells[0]} | {cells[1]} |")
    [nexmark] = _found(rows, NEXMARK, re.compile(r"([\d.]+) times"))
    p50, p99 = _found(rows, LATENCY, re.compile(r"([\d.]+) / ([\d.]+)"))
    sentence = (
        f"Nexmark's 22 SQL queries take {nexmark} times less time than on Flink in Java (geometric "
        f"mean). A record passes [resident tasks](operations/executors.md) in {p50} ms (99 of 100 "
        f"in {p99} ms), with a checkpoint each second."
    )
    return "\n".join([*lines, "", textwrap.fill(sentence, 118, break_on_hyphens=False), ""])


def headline() -> str:
    """The sentence of the first screen."""
    rows, keyed = measured(), COMPARISONS[0]
    factors = [_found(rows, name or "", RATE)[0] for name in (keyed.pyflink, keyed.spark)]
    [nexmark] = _found(rows, NEXMARK, re.compile(r"([\d.]+) times"))
    sentence = (
        f"**{factors[0]} times** the rate of PyFlink and **{factors[1]} times** that of Spark's "
        f"`transformWithState` in a keyed count; **{nexmark} times** that of Flink in Java over "
        "Nexmark's SQL queries: [how fast](#how-fast)."
    )
    return textwrap.fill(sentence, 118, break_on_hyphens=False) + "\n"


def with_figures(page: Path) -> str:
    """A page with the figures of RESULTS.md."""
    text = page.read_text(encoding="utf-8")
    table = figures()
    if page.name == "README.md":
        table = table.replace("](operations/", "](docs/operations/")
    filled, count = FIGURES.subn(lambda marks: f"{marks[1]}{table}{marks[2]}", text)
    if count != 1:
        raise MissingFigureError(f"{page.name} has {count} places for figures instead of one")
    return HEADLINE.sub(lambda marks: f"{marks[1]}{headline()}{marks[2]}", filled)


def tabs() -> Iterator[tuple[str, str]]:
    """Title and text of each tab of the home page."""
    for tab in TAB.finditer(HOME.read_text(encoding="utf-8")):
        yield tab["title"], textwrap.dedent(tab["body"])


def filled_tab(body: str, on_spark: bool) -> str:
    """The text of a tab with what its program prints."""
    return BLOCK.sub(lambda block: _filled_block(block, on_spark), body)


def _filled_block(block: re.Match[str], on_spark: bool) -> str:
    from millrace.testing import run_local

    output = StringIO()
    with tempfile.TemporaryDirectory() as directory, chdir(directory), redirect_stdout(output):
        if on_spark:
            _execute(block)
        else:
            with run_local():
                _execute(block)
    code = f"```{block['language']}{block['title']}\n{block['code']}```\n"
    return f"{code}\n```text\n{output.getvalue()}```\n"


def _execute(block: re.Match[str]) -> None:
    from millrace.table import EnvironmentSettings, TableEnvironment

    if block["language"] == "python":
        # what is defined here is pickled by value, as in a program
        exec(compile(block["code"], "index.md", "exec"), {"__name__": "__main__"})
        return
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    for statement in filter(str.strip, STATEMENT_END.split(block["code"])):
        result: Any = t_env.execute_sql(statement)
        if statement.lstrip().startswith("SELECT"):
            result.print()


def _found(rows: dict[str, str], name: str, figure: re.Pattern[str]) -> tuple[str, ...]:
    match = figure.search(rows.get(name, ""))
    if match is None:
        raise MissingFigureError(
            f"benchmarks/RESULTS.md has no row {name!r} with {figure.pattern!r}: change the name "
            "in scripts/gen_home_page.py, too"
        )
    return match.groups()


def check() -> int:
    """Exit code 1 if a page has other figures than RESULTS.md."""
    old = [page.name for page in PAGES if page.read_text(encoding="utf-8") != with_figures(page)]
    for name in old:
        print(f"{name} has other figures than benchmarks/RESULTS.md: run scripts/gen_home_page.py")
    if not old:
        print("the figures of index.md and README.md are those of benchmarks/RESULTS.md")
    return 1 if old else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Write figures and outputs of the home page.")
    parser.add_argument("--check", action="store_true", help="only compare the figures")
    parser.add_argument("--figures", action="store_true", help="only write the figures")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    for page in PAGES:
        page.write_text(with_figures(page), encoding="utf-8")
    if not arguments.figures:
        text = HOME.read_text(encoding="utf-8")
        for title, body in tabs():
            filled = filled_tab(body, on_spark=title == "Graphs")
            text = text.replace(textwrap.indent(body, "    "), textwrap.indent(filled, "    "), 1)
        HOME.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
