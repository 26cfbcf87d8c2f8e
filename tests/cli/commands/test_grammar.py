"""What the commands understand: jobs called like subcommands, wrong usage, what must stay away."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from millrace.cli.arguments import UsageError
from millrace.cli.parser import parse


def parsed(line: str) -> Any:
    return parse(line.split())


def test_a_savepoint_of_a_job() -> None:
    named = parsed("savepoint words")
    assert (named.name, named.job, named.directory) == ("words", None, None)
    named = parsed("savepoint words where --timeout 3")
    assert (named.name, str(named.directory), named.timeout) == ("words", "where", 3.0)
    assert parsed("savepoint take words").handler is named.handler


def test_the_names_of_subcommands_win() -> None:
    assert parsed("savepoint list").handler is not parsed("savepoint words").handler
    named = parsed("savepoint --job list")
    assert (named.name, named.job) == (None, "list")
    assert parsed("savepoint take list").name == "list"
    with pytest.raises(UsageError, match="write 'millrace savepoint list' before its options"):
        parsed("savepoint --json list")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("savepoint take", "no job is named"),
        ("stop", "no job is named"),
        ("cancel one --job two", "two jobs are named"),
        ("savepoint one two --job three", "two jobs are named"),
        ("stop one --no-savepoint --drain", "cannot be combined with"),
        ("rescale one -p 0", "at least 1"),
    ],
)
def test_wrong_usage_is_told(line: str, reason: str, place: Any, millrace: Any) -> None:
    told = millrace(*line.split())
    assert told.code == 2
    assert reason in told.err


@pytest.mark.parametrize(
    "line", ["savepoint", "rescale one", "stop one --timeout 0", "savepoint diff a", "list extra"]
)
def test_what_argparse_refuses(line: str, millrace: Any) -> None:
    assert millrace(*line.split()).code == 2


def test_looking_at_savepoints_needs_no_spark(place: Any) -> None:
    """Neither is anything else imported that takes long."""
    path = place.savepoint("ab")
    program = (
        "import sys; from millrace.cli.main import main\n"
        "show = ['savepoint', 'show', '--no-count']\n"
        f"for line in ['list'], ['savepoint', 'tree'], [*show, {str(path)!r}]:\n"
        "    assert main(line) == 0\n"
        "print(sorted({'pyspark', 'py4j', 'pyarrow', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path), "XDG_STATE_HOME": str(place.directory)},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_says_how_to_write_a_command(millrace: Any) -> None:
    for words in (["savepoint", "diff"], ["savepoint", "take"], ["stop"], ["status"]):
        told = millrace(*words, "--help")
        assert told.code == 0
        assert told.out.startswith(f"usage: millrace {' '.join(words)} [-h] [--json]"), told.out
        assert "exit codes: 0 success" in told.out
