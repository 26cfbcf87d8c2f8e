"""Modules of Stateful Functions as job files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from millrace.cli.arguments import RunArguments, existing, run_settings
from millrace.common.config import options

__all__ = ["module_arguments"]


def module_arguments(
    args: argparse.Namespace,
    argv: Sequence[str],
    module: Path,
    functions: Path | None,
    command: tuple[str, ...],
) -> RunArguments:
    """Arguments of a run of a module, on resident tasks unless a setting names another executor.

    Args:
        functions: Python file whose functions run in the workers; None if there are none.
        command: first words of ``argv``.

    Raises:
        UsageError: a file is missing, or a setting is unknown or wrong.
    """
    from millrace.statefun.application import module_program

    own = () if functions is None else (functions,)
    settings = run_settings(args)
    if options.EXECUTOR.key not in settings.to_dict():
        settings.set(options.EXECUTOR, "resident")
    return RunArguments(
        job=Path(module_program.__file__),
        job_arguments=tuple(str(path.resolve()) for path in (module, *own)),
        settings=settings,
        resume=args.resume or args.available_now,
        py_files=(*own, *existing(args.py_files)),
        progress=args.progress,
        argv=tuple(argv),
        command=command,
    )
