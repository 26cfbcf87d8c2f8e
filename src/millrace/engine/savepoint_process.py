"""Writes a canonical savepoint in a separate process, so that the job does not wait for it.

Decoding state and writing Parquet takes seconds of Python. A thread of the driver would block the
other threads; a separate process does not slow down the epochs.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cloudpickle

from millrace.common.errors import CheckpointError
from millrace.common.types.type_information import TypeInformation
from millrace.runtime.main_classes import install_main_classes, main_classes
from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.checkpoint.delta_file import SubtaskKey
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.state_delta import StateDelta

__all__ = ["write_in_process"]


@dataclass(frozen=True, slots=True)
class _Task:
    path: str
    job_dir: str
    manifest: Manifest
    deltas: dict[SubtaskKey, list[StateDelta]]
    key_types: dict[str, TypeInformation[Any] | None]
    classes: dict[str, type]


def write_in_process(
    path: str,
    job_dir: str,
    manifest: Manifest,
    deltas: Mapping[SubtaskKey, list[StateDelta]],
    key_types: Mapping[str, TypeInformation[Any] | None],
) -> Manifest:
    """Write a savepoint of a checkpoint to ``path``, and wait for it.

    Raises:
        CheckpointError: the savepoint could not be written; no files are left behind.
    """
    task = _Task(path, job_dir, manifest, dict(deltas), dict(key_types), main_classes())
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import main; main()"],
        input=cloudpickle.dumps(task),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    if done.returncode == 0 and done.stdout:
        result = pickle.loads(done.stdout)
        if isinstance(result, Manifest):
            return result
        assert isinstance(result, Exception)
        raise result
    said = done.stderr.decode(errors="replace").strip()[-2000:]
    raise CheckpointError(
        f"the process that wrote the savepoint {path} ended with {done.returncode}: {said}"
    )


def main() -> None:
    """Read the task from the standard input, execute it, and write the result."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what modules print when they are imported is no answer
    task = pickle.load(sys.stdin.buffer)
    install_main_classes(task.classes)
    try:
        result: object = write_canonical_savepoint(
            task.path, task.job_dir, task.manifest, task.deltas, task.key_types
        )
    except Exception as error:
        result = (
            error
            if isinstance(error, CheckpointError)
            else CheckpointError(
                f"cannot write the savepoint {task.path}: {type(error).__name__}: {error}"
            )
        )
    with answer:
        pickle.dump(result, answer)
