"""Runs the programs on pages that show many short ones, and puts what each prints beneath it.

The Python blocks of a page run one after the other, in one namespace and in an empty directory, as
a reader would type them. Run without arguments after a change of a page; tests/docs/
test_printed.py says when a page and what it prints have parted.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from millrace.testing import run_local

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = (
    "connectors/index.md",
    "connectors/formats.md",
    "connectors/bad-data.md",
    "sql/dataframes.md",
    "troubleshooting.md",
)
SPARK_PAGES = (
    "graph/index.md",
    "graph/creating.md",
    "graph/transformations.md",
    "graph/bipartite.md",
    "graph/bridges.md",
    "graph/iterations.md",
)
"""Pages whose programs start a Spark session."""
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?P<printed>\n```text\n.*?```\n)?", re.DOTALL)


def filled(page: Path) -> str:
    """The page as it should be."""
    # what is defined here is pickled by value, as in a program
    namespace: dict[str, Any] = {"__name__": "__main__"}

    def run(match: re.Match[str]) -> str:
        output = StringIO()
        with redirect_stdout(output):
            exec(compile(match["code"], page.name, "exec"), namespace)
        printed = f"\n```text\n{output.getvalue()}```\n" if output.getvalue() else ""
        return f"```python\n{match['code']}```\n{printed}"

    with tempfile.TemporaryDirectory() as directory, chdir(directory), run_local():
        return BLOCK.sub(run, page.read_text(encoding="utf-8"))


def main() -> None:
    for name in PAGES + SPARK_PAGES:
        page = DOCS / name
        page.write_text(filled(page), encoding="utf-8")


if __name__ == "__main__":
    main()
