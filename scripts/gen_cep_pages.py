"""Puts the examples of docs/cep, what they print, and diagrams of their patterns into the pages.

Run without arguments after a change of an example; with ``--check`` it only says what is out of
date (tests/docs/test_cep_pages.py does the same).

On a page, ``title="examples/..."`` is a block with that file, ``title="... prints"`` one with what
it prints, and a block of Mermaid after ``<!-- pattern: NAME -->`` the pattern in `PATTERNS`.
"""

from __future__ import annotations

import argparse
import re
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any
from unittest import mock

from millrace.cep.rules import rule_from_json
from millrace.testing import ManualClock, run_local

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "cep"
PATTERNS: dict[str, tuple[Any, ...]] = {
    "first_pattern": ("examples/first_pattern.py", "guessed"),
    "late_again": ("examples/flights/late_again.py", "late_again"),
    "not_back": ("examples/flights/not_back.py", "not_back"),
    "card_fraud": ("examples/cards/fraud_rules.py", "probe", 1, 500),
}
"""By name: the file, and the name of the pattern in it or of a function (and its arguments) that
makes a pattern or the JSON of a rule."""

BLOCK = re.DOTALL | re.MULTILINE
FILE = re.compile(r'^```(?P<kind>\w+) title="(?P<path>examples/[\w./]+)"\n.*?^```$', BLOCK)
PRINTS = re.compile(r'^```text title="(?P<path>examples/[\w./]+) prints"\n.*?^```$', BLOCK)
DIAGRAM = re.compile(r"^<!-- pattern: (?P<name>\w+) -->\n```mermaid\n.*?^```$", BLOCK)


def pages() -> list[Path]:
    """The pages with examples."""
    return [page for page in sorted(PAGES.glob("*.md")) if FILE.search(page.read_text("utf-8"))]


def content(page: Path) -> str:
    """A page as it should be."""
    text = page.read_text("utf-8")
    text = FILE.sub(with_file, text)
    text = PRINTS.sub(lambda match: _block(f"{match['path']} prints", printed(match["path"])), text)
    return DIAGRAM.sub(_with_diagram, text)


def with_file(match: re.Match[str]) -> str:
    """A block with the file that its title names."""
    code = (ROOT / match["path"]).read_text("utf-8")
    return f'```{match["kind"]} title="{match["path"]}"\n{code}```'


def _block(title: str, text: str) -> str:
    return f'```text title="{title}"\n{text}```'


def _with_diagram(match: re.Match[str]) -> str:
    return f"<!-- pattern: {match['name']} -->\n```mermaid\n{diagram(match['name'])}```"


class Steps(ManualClock):
    """A clock that goes in steps: what a rate spreads over a step is one epoch."""

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        """Go to the end of the step in which the time ``at`` lies."""
        step = 40
        super().wait_until(None if at is None else -(-at // step) * step, interrupted)


@cache
def printed(path: str) -> str:
    """What an example prints, without Spark."""
    output = StringIO()
    with _importable(path), run_local(clock=Steps()), redirect_stdout(output):
        runpy.run_path(str(ROOT / path), run_name="__main__")
    return output.getvalue()


@cache
def diagram(name: str) -> str:
    """The pattern of an example as Mermaid text."""
    path, pattern, *arguments = PATTERNS[name]
    with _importable(path), run_local(), redirect_stdout(StringIO()):
        found = runpy.run_path(str(ROOT / path))[pattern]
    drawn = found(*arguments) if callable(found) else found
    if isinstance(drawn, str):
        drawn = rule_from_json(drawn)
    return str(drawn.to_mermaid())


@contextmanager
def _importable(path: str) -> Iterator[None]:
    """The modules beside an example can be imported by their names."""
    with (
        mock.patch.object(sys, "path", [str((ROOT / path).parent), *sys.path]),
        mock.patch.dict(sys.modules),
    ):
        yield


def outdated() -> list[Path]:
    """Pages that are not as they should be."""
    return [page for page in pages() if page.read_text("utf-8") != content(page)]


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="Write the examples into docs/cep.")
    parser.add_argument("--check", action="store_true", help="only check that they are up to date")
    if parser.parse_args().check:
        for path in outdated():
            print(f"{path.relative_to(ROOT)} is out of date: run `python scripts/gen_cep_pages.py`")
        return 1 if outdated() else 0
    for page in pages():
        page.write_text(content(page), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
