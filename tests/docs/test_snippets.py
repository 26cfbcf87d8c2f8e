"""Every snippet of the documentation is run by a test, or has a reason why it is not.

Tests of single pages and of generators run whole programs. What is left is read here: commands by
the parser of the command line, statements by that of SQL, names of imports by the modules.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from doctest import DocTestParser
from functools import cache
from importlib import import_module
from itertools import dropwhile, groupby
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import gen_application_pages
import gen_cep_pages
import gen_cookbook
import gen_printed
import gen_savepoint_pages
import gen_sql_pages
import pytest
import yaml

from millrace.cli.parser import parse
from millrace.sql.parser import parse as parse_statements
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```", re.M | re.S
)
NOT_RUN = {
    "how-it-works/rescaling.md": "an excerpt of an operator of this repository",
    "how-it-works/state.md": "a test class for a backend that the reader writes",
    "operations/rest-api.md": "tests/server/test_flink_client.py drives a server by that client",
    "sql/client.md": "settings around the statements of five-minutes.md, which a test runs",
}
"""Pages with programs or statements that no test runs, and the reasons."""
SETTING = re.compile(r"[A-Z_]+=")
"""A variable before a command."""
RUN_HERE = (
    "concepts.md",
    "operations/alerts.md",
    "operations/logging.md",
    "operations/metrics.md",
)
"""Pages whose Python blocks run one after the other, without Spark."""
TABLES = {
    "sql/joins.md": """
    CREATE TABLE orders (id BIGINT, item STRING, customer BIGINT, currency STRING, amount DOUBLE,
        ts TIMESTAMP(3), proc AS PROCTIME(), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'datagen', 'number-of-rows' = '1');
    CREATE TABLE shipments (order_id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'datagen', 'number-of-rows' = '1');
    CREATE TABLE refunds (item STRING, reason STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'datagen', 'number-of-rows' = '1');
    CREATE TABLE rates (currency STRING, rate DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts,
        PRIMARY KEY (currency) NOT ENFORCED)
        WITH ('connector' = 'datagen', 'number-of-rows' = '1');
    CREATE TABLE customers (id BIGINT, name STRING)
        WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://127.0.0.1:1/shop',
            'table-name' = 'customers');
    """
}
"""Tables for pages of queries without tables: their plans are made."""
_ENDS = {"|", "&&", "&", ">", ">>", "2>", "2>/dev/null", ";", "#", "||"}


class Snippet(NamedTuple):
    """A block of code of a page."""

    page: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def snippets(*languages: str) -> Iterator[Snippet]:
    for path in sorted(DOCS.rglob("*.md")):
        page = path.relative_to(DOCS).as_posix()
        text = path.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            if block["language"] in languages:
                line = text.count("\n", 0, block.start()) + 1
                yield Snippet(page, line, block["language"], dedent(block["code"]))


def commands() -> Iterator[tuple[Snippet, list[str]]]:
    """The ``millrace`` commands of all blocks for terminals, without what follows them."""
    for snippet in snippets("console", "bash", "text", "yaml", "ini", "dockerfile"):
        for line in re.sub(r"\\\n\s*", " ", snippet.code).splitlines():
            prompt = re.match(r"\s*(?:\w[\w@-]*)?\$ (.*)", line)
            if prompt is None or "millrace" not in prompt[1]:
                continue
            if prompt[1].count('"') % 2:  # a text of several lines, which has no command
                continue
            words = [word for word in shlex.split(prompt[1]) if not word.startswith("$")]
            for is_end, part in groupby(words, _ENDS.__contains__):
                command = list(dropwhile(SETTING.match, part))
                if not is_end and command and Path(command[0]).name == "millrace":
                    yield snippet, command[1:]


@cache
def run_pages() -> set[str]:
    """Pages whose programs tests run: those of generators, and those that tests name."""
    generated = [
        *gen_application_pages.with_programs(),
        *gen_cep_pages.pages(),
        *gen_cookbook.pages(),
        *gen_savepoint_pages.pages(),
    ]
    pages = {*gen_printed.PAGES, *gen_printed.SPARK_PAGES, *gen_sql_pages.PAGES, *RUN_HERE, *TABLES}
    pages |= {path.relative_to(DOCS).as_posix() for path in generated}
    tests = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.name not in ("test_snippets.py", "test_limits_page.py", "test_entry_pages.py")
    )
    for path in DOCS.rglob("*.md"):
        page = path.relative_to(DOCS).as_posix()
        if f'"{page}"' in tests or f'"{path.name}"' in tests or f"/{page}" in tests:
            pages.add(page)
    return pages


@pytest.mark.turns(7)
@pytest.mark.parametrize("page", sorted({s.page for s in snippets("python", "sql")}))
def test_the_programs_of_a_page_are_run(page: str) -> None:
    assert (page in run_pages()) != (page in NOT_RUN), NOT_RUN.get(page, "no test runs them")


@pytest.mark.parametrize("page", RUN_HERE)
def test_the_programs_run(page: str) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    with run_local():
        for snippet in snippets("python"):
            if snippet.page == page:
                exec(compile(snippet.code, str(snippet), "exec"), names)


@pytest.mark.parametrize("page", TABLES)
def test_queries_have_a_plan(page: str) -> None:
    with run_local():
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for statement in filter(str.strip, TABLES[page].split(";")):
            t_env.execute_sql(statement)
        for snippet in snippets("sql"):
            if snippet.page == page:
                assert "Optimized Execution Plan" in t_env.explain_sql(snippet.code), snippet


def test_commands_are_what_the_command_line_takes(capsys: pytest.CaptureFixture[str]) -> None:
    refused = []
    for snippet, words in commands():
        try:
            parse(words)
        except SystemExit as end:
            if end.code:
                refused.append(
                    f"{snippet}: millrace {shlex.join(words)}: {capsys.readouterr().err}"
                )
    assert refused == []


def test_programs_import_what_there_is() -> None:
    missing = []
    for snippet in snippets("python"):
        code = snippet.code
        if code.startswith(">>> "):
            examples = DocTestParser().get_examples(code)
            code = "".join(example.source for example in examples)
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("millrace."):
                module = import_module(str(node.module))
                missing += [
                    f"{snippet}: {node.module}.{name.name}"
                    for name in node.names
                    if not hasattr(module, name.name)
                ]
    assert missing == []


def test_statements_are_sql() -> None:
    wrong = []
    for snippet in snippets("sql"):
        try:
            parse_statements(snippet.code)
        except Exception as error:
            wrong.append(f"{snippet}: {error}")
    assert wrong == []


def test_files_of_settings_and_answers_can_be_read() -> None:
    for snippet in snippets("yaml", "json"):
        try:
            if snippet.language == "yaml":
                list(yaml.safe_load_all(snippet.code))
            elif snippet.code.count("\n{") and not snippet.code.startswith("["):
                list(map(json.loads, snippet.code.splitlines()))
            else:
                json.loads(snippet.code)
        except (ValueError, yaml.YAMLError) as error:
            raise AssertionError(f"{snippet}: {error}") from error


CONNECTORS = sorted({s.page for s in snippets("python") if s.page.startswith("connectors/")})


@pytest.mark.parametrize("page", CONNECTORS)
def test_a_connector_s_page_shows_how_its_job_is_run(page: str) -> None:
    """An example that is a function of the environment is also called, and the job executed."""
    code = "\n".join(snippet.code for snippet in snippets("python") if snippet.page == page)
    names = re.findall(r"^def (\w+)\(\s*(?:env|orders)\b", code, re.MULTILINE)
    called = [name for name in names if re.search(rf"^    {name}\([\w.()]+,", code, re.M)]
    assert not names or (called and ".execute(" in code)
