"""Puts the examples of the cookbook, and what they print, into its pages.

Run without arguments after a change of docs/cookbook/examples; tests/docs/test_cookbook.py says
when a page and its examples have parted.
"""

from __future__ import annotations

import re
import runpy
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from millrace.testing import run_local

COOKBOOK = Path(__file__).resolve().parent.parent / "docs" / "cookbook"
EXAMPLE = re.compile(
    r'```python title="examples/(?P<name>\w+\.py)"\n.*?```(?P<between>.*?)```text\n.*?```',
    re.DOTALL,
)


def pages() -> list[Path]:
    """All pages of the cookbook."""
    return sorted(COOKBOOK.glob("*.md"))


def examples(page: Path) -> list[str]:
    """The names of the examples on a page."""
    return [match["name"] for match in EXAMPLE.finditer(page.read_text(encoding="utf-8"))]


def printed(name: str) -> str:
    """What an example prints, without Spark."""
    output = StringIO()
    with run_local(), redirect_stdout(output):
        runpy.run_path(str(COOKBOOK / "examples" / name), run_name="__main__")
    return output.getvalue()


def filled(page: Path) -> str:
    """The page as it should be."""

    def fill(match: re.Match[str]) -> str:
        name = match["name"]
        code = (COOKBOOK / "examples" / name).read_text(encoding="utf-8")
        head = f'```python title="examples/{name}"\n{code}```{match["between"]}'
        return f"{head}```text\n{printed(name)}```"

    return EXAMPLE.sub(fill, page.read_text(encoding="utf-8"))


def main() -> None:
    for page in pages():
        page.write_text(filled(page), encoding="utf-8")


if __name__ == "__main__":
    main()
