"""Runs the statements on pages about SQL, and puts what each gives beneath it.

The blocks of a page run one after the other, in one `TableEnvironment` and in an empty directory.
Statements of a block are ended by a semicolon, and an empty line is between them. Python blocks are
run too, and may put another environment into ``t_env``. Run without arguments after a change of a
page; tests/docs/test_sql_pages.py says when a page and what it gives have parted. Pages below
``sql/queries`` begin with what the blocks of their index have made.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from millrace.common.config.configuration import Configuration
from millrace.common.errors import MillraceError
from millrace.datastream.job_launcher import JobLauncher
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = (
    "sql/functions.md",
    "sql/process-table-functions.md",
    "sql/statements.md",
    *sorted(f"sql/queries/{page.name}" for page in (DOCS / "sql/queries").glob("*.md")),
)
BLOCK = re.compile(
    r"```(?P<language>python|sql)\n(?P<code>.*?)```\n(?P<printed>\n```text\n.*?```\n)?", re.DOTALL
)
_END = re.compile(r";\s*\n\s*\n|;?\s*\Z")


class Program:
    """What the blocks of a page share."""

    def __init__(self, page: str) -> None:
        self._page = page
        # what is defined here is pickled by value, as in a program
        self._names: dict[str, Any] = {"__name__": "__main__", "t_env": _environment()}

    def run(self, match: re.Match[str]) -> str:
        """A block with what it prints."""
        output = StringIO()
        with redirect_stdout(output):
            if match["language"] == "python":
                exec(compile(match["code"], self._page, "exec"), self._names)
            else:
                for statement in filter(None, _END.split(match["code"])):
                    self._execute(statement)
        text = "\n".join(line.rstrip() for line in output.getvalue().splitlines()).rstrip()
        printed = f"\n```text\n{text}\n```\n" if text else ""
        return f"```{match['language']}\n{match['code']}```\n{printed}"

    def _execute(self, statement: str) -> None:
        try:
            result = self._names["t_env"].execute_sql(statement)
            if re.match(r"\s*(INSERT|EXECUTE STATEMENT SET|CREATE|SET|USE)\b", statement):
                result.wait()
            else:
                result.print()
        except MillraceError as error:
            print(f"{error}")


def _environment() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    return t_env


def filled(page: Path) -> str:
    """The page as it should be."""
    program = Program(page.name)
    with tempfile.TemporaryDirectory() as directory, chdir(directory), run_local():
        # the reader's programs have no defaults of run_local, which would decide their executor
        JobLauncher.current().defaults = Configuration()
        if page.parent.name == "queries" and page.stem != "index":
            BLOCK.sub(program.run, page.with_name("index.md").read_text(encoding="utf-8"))
        return BLOCK.sub(program.run, page.read_text(encoding="utf-8"))


def main(names: Sequence[str]) -> None:
    for name in names or PAGES:
        page = DOCS / name
        page.write_text(filled(page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
