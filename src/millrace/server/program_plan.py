"""Prints the graph of a job file's first job, without running it: ``python -m`` FILE [ARGUMENT...].

A process of its own: what the file does when it is imported stays in there.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import MappingProxyType, ModuleType

import msgspec

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.settings_variable import DEFAULTS_VARIABLE, settings_in
from millrace.common.typed_json import decode_json
from millrace.engine.archived_job import ArchivedStage
from millrace.server.api_route import ApiError
from millrace.statefun.module import is_module

__all__ = ["ProgramPlan", "plan_of"]

TIMEOUT = 60.0
"""Seconds in which a program must build its graph."""
_SHOWN = 4_000
_MOST_BYTES = 64 << 20
"""Largest size of a plan in bytes."""
_ERROR = 3


class ProgramPlan(msgspec.Struct, frozen=True):
    """The graph of a job that has not been started."""

    name: str
    stages: tuple[ArchivedStage, ...]


def plan_of(
    program: Path,
    arguments: Sequence[str],
    parallelism: int | None,
    defaults: Mapping[str, str] = MappingProxyType({}),
) -> ProgramPlan:
    """The graph of a program's first job.

    Args:
        parallelism: of operators that set none; None for the program's.
        defaults: settings that those of the program override.

    Raises:
        ApiError: 400, the program failed, or has no job.
    """
    command = [sys.executable, "-m", __name__, str(parallelism or 0), str(program), *arguments]
    try:
        done = _run(command, defaults)
    except subprocess.TimeoutExpired:
        raise ApiError(400, f"{program.name} made no job within {TIMEOUT:.0f} s") from None
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip()
        raise ApiError(400, f"{program.name} failed:\n{text[-_SHOWN:]}")
    try:
        return decode_json(done.stdout, ProgramPlan)
    except msgspec.MsgspecError:
        raise ApiError(400, f"{program.name} has no job that is executed") from None


def _run(command: Sequence[str], defaults: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run a program and keep only the requested part of its output, which may be endless."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        done = subprocess.run(
            command,
            timeout=TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                DEFAULTS_VARIABLE: json.dumps(dict(defaults)),
            },
        )
        out.seek(0)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4 * _SHOWN))
        return subprocess.CompletedProcess(
            command, done.returncode, out.read(_MOST_BYTES), errors.read()
        )


class _PlannedError(BaseException):
    """Ends the program when its graph is known. Programs do not catch it by accident."""

    def __init__(self, plan: ProgramPlan) -> None:
        super().__init__()
        self.plan = plan


def _planned(parallelism: int, path: Path, arguments: Sequence[str]) -> ProgramPlan | None:
    from typing import Any

    from millrace.datastream.job_launcher import JobLauncher
    from millrace.engine.archived_job import archived_stages

    class Planner(JobLauncher):
        def client(  # type: ignore[override]
            self,
            sinks: Any,
            handlers: Any,
            configuration: Configuration,
            name: str,
            restart: Any,
            backend: Any = None,
        ) -> None:
            graph = self.graph(sinks, configuration, name, backend=backend)
            raise _PlannedError(ProgramPlan(name, archived_stages(graph)))

    settings = {options.PARALLELISM.key: str(parallelism)} if parallelism else {}
    defaults = Configuration(settings_in(os.environ, DEFAULTS_VARIABLE))
    os.environ.pop(DEFAULTS_VARIABLE, None)  # may hold secrets
    JobLauncher.install(Planner(settings=Configuration(settings), defaults=defaults))
    files = [path]
    if is_module(path):
        from millrace.statefun.application.program import module_program

        files = [path.parent / name for name in arguments]
        path, arguments = Path(module_program.__file__), [str(path), *map(str, files)]
    sys.path[:0] = [str(file.parent) for file in files]
    sys.argv = [str(path), *arguments]
    module = ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except _PlannedError as planned:
        return planned.plan
    return None


def main(argv: Sequence[str]) -> int:
    """Print the plan as JSON; nothing if the program has no job."""
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())):  # what it prints is not the answer
        plan = _planned(int(argv[0]), Path(argv[1]), argv[2:])
    if plan is not None:
        sys.stdout.write(msgspec.json.encode(plan).decode())
    else:
        sys.stdout.write(json.dumps(None))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
