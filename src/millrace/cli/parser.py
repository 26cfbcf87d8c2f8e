"""The grammar of the ``millrace`` command, to which each command's module adds its own part, and a
parser that suggests the nearest name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from millrace import __version__
from millrace.cli.commands import (
    cancel,
    checkpoint,
    doctor,
    info,
    list_jobs,
    logs,
    rescale,
    run,
    savepoint,
    server,
    sql,
    stacks,
    statefun,
    status,
    stop,
    top,
    trial,
)
from millrace.common.similar_names import did_you_mean

COMMANDS = (
    run,
    server,
    sql,
    statefun,
    list_jobs,
    status,
    info,
    top,
    logs,
    stacks,
    checkpoint,
    savepoint,
    stop,
    cancel,
    rescale,
    doctor,
    trial,
)


def create_parser() -> argparse.ArgumentParser:
    """The parser of the command line. A namespace that it returns has a ``handler`` (namespace,
    argv) -> exit code."""
    parser = HelpfulParser(
        prog="millrace", description="Event streams with state and event time, on Apache Spark."
    )
    parser.add_argument("--version", action="version", version=f"millrace {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.register(commands)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of ``millrace`` without its own name.

    Raises:
        SystemExit: as argparse does, with 2 for wrong options and 0 for ``--help``.
        UsageError: a word could mean two things.
    """
    parser = create_parser()
    named, unknown = parser.parse_known_args(savepoint.with_subcommand(argv))
    if unknown:
        named.parser.refuse(unknown)
    return named


WRONG_USAGE = 2
_CHOICE = re.compile(r"argument (?P<what>\S+): invalid choice: '(?P<word>.*)' \(choose from (.*)\)")
_MISSING = "the following arguments are required: "
_MISSING_JOB = "no job file is named: write 'millrace run job.py'"


class HelpfulParser(argparse.ArgumentParser):
    """An `argparse.ArgumentParser` that reports a mistake in one line. Parsers of subcommands
    have this class, too; ``parser`` in the namespace is the innermost parser."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self._options: list[str] = []
        super().__init__(*args, **keywords)
        self.set_defaults(parser=self)

    def add_argument(self, *args: Any, **keywords: Any) -> argparse.Action:
        """Add an option or a positional argument."""
        action = super().add_argument(*args, **keywords)
        self._options += action.option_strings
        return action

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit with a message about words that this parser does not accept as arguments."""
        word = next((word for word in unknown if word.startswith("-")), unknown[0])
        if word.startswith("-"):
            near = did_you_mean(word.partition("=")[0], self._options)
            self.error(f"there is no option {word}{near}")
        hint = f"; to run a file, write '-f {word}'" if "--file" in self._options else ""
        self.error(f"{word!r} is one argument too many{hint}")

    def error(self, message: str) -> NoReturn:
        """Exit with a message and the exit code for wrong usage."""
        choice = _CHOICE.match(message)
        if choice is not None:
            words = re.findall(r"'([^']*)'", choice[3])
            kind = "command" if choice["what"] == "COMMAND" else f"value of {choice['what']}"
            hint = did_you_mean(choice["word"], words, f"there are {', '.join(words)}")
            message = f"there is no {kind} {choice['word']!r}{hint}"
        elif message.startswith(_MISSING):
            left = message.removeprefix(_MISSING)
            message = _MISSING_JOB if left.startswith("job.py") else f"{left} is missing"
        self.exit(WRONG_USAGE, f"millrace: {message}\nsee '{self.prog} --help'\n")
