"""One spelling of the command that installs an extra: in messages, docstrings and the docs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from millrace.common.installation import install_command

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
PLACES = ("docs", "src", "examples", "scripts", "README.md", "CONTRIBUTING.md")
RIGHT = re.compile(r"pip install 'millrace\[([a-z,-]+)\]'")
NAMED = re.compile(r"millrace\[|pip install .*millrace")
COMMAND = re.compile(r"pip3? install (.*)")
EXEMPT = {
    "scripts/connector_pages.py",  # makes the rows of the install page, whose text is tested
    "scripts/release.py",  # runs the command
    "scripts/setup.sh",  # only makes sense in a checkout, and installs it as it is
    "src/millrace/common/installation.py",  # makes the command
}


def texts() -> Iterator[tuple[str, str]]:
    for place in PLACES:
        path = ROOT / place
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.suffix in {".md", ".py", ".sh", ".ipynb"}:
                yield str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")


def faults_in(name: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        rest = RIGHT.sub("", line)
        where = f"{name}:{number}: {line.strip()}"
        if "millrace[" in rest and "pip" in rest and "{extra}" not in rest:
            yield where
        for arguments in COMMAND.findall(rest):
            if ".[" in arguments or re.search(r"\bmillrace(?![-\w/])", arguments):
                yield where
        for names in RIGHT.findall(line):
            if not set(names.split(",")) <= EXTRAS:
                yield where


def test_no_other_spelling() -> None:
    faults = [f for n, t in texts() if n not in EXEMPT for f in faults_in(n, t)]
    assert faults == []


def test_other_spellings_are_seen() -> None:
    """The test itself can fail."""
    for wrong in (
        "pip install '.[kafka]'",
        'pip install "millrace[kafka]"',
        "pip install millrace[kafka]",
        "pip install millrace",
        "pip install 'millrace[kafak]'",
    ):
        assert list(faults_in("page.md", wrong)), wrong
    assert not list(faults_in("page.md", "pip install 'millrace[kafka,sql]' polars"))
    assert not list(faults_in("page.md", "pip install millrace-0.1.0-py3-none-any.whl"))


def test_messages_take_it_from_one_function() -> None:
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        if path.name == "installation.py":
            continue
        text = path.read_text(encoding="utf-8")
        if not NAMED.search(text):
            continue
        tree = ast.parse(text)
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        found += [
            f"{path.relative_to(ROOT)}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and NAMED.search(node.value)
        ]
    assert found == []


def test_pip_keeps_the_millrace_that_is_there() -> None:
    """No index is asked for Millrace, so the command is true before a release, too."""
    assert install_command("sql") == "pip install 'millrace[sql]'"
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index"]
    done = subprocess.run(
        [*command, "--disable-pip-version-check", "millrace[sql,statefun]"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Would install" not in done.stdout
