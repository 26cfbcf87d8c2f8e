"""Where a job's endpoint is and its token, in a file that only its owner can read.

It is beside the job's lease: ``<checkpoint directory>/<job>/rest.json``.
"""

from __future__ import annotations

import json
import os
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from millrace.common.errors import StateError
from millrace.engine.job_identity import job_id_of
from millrace.state.checkpoint.files import StrPath

__all__ = ["NAME", "RestAddress", "find_address"]

NAME = "rest.json"


@dataclass(frozen=True, slots=True)
class RestAddress:
    """How to reach an endpoint."""

    url: str
    token: str

    def __repr__(self) -> str:
        return f"RestAddress({self.url!r})"  # the token is nobody's business

    def write(self, job_dir: StrPath) -> Path:
        """Write the file, replacing that of an earlier run; nobody else ever sees its content."""
        path = Path(job_dir, NAME)
        temporary = path.with_name(f".{NAME}.{uuid.uuid4().hex}.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump({"url": self.url, "token": self.token}, file)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        return path

    def remove(self, job_dir: StrPath) -> None:
        """Remove the file, unless another run's has taken its place."""
        path = Path(job_dir, NAME)
        with suppress(OSError, StateError):
            if _read(path) == self:
                path.unlink()


def find_address(directory: StrPath, job_name: str | None = None) -> RestAddress:
    """The address in a job's directory, or of the job of that name in a checkpoint directory.

    Raises:
        StateError: there is none, so the job does not run or has no endpoint.
    """
    path = Path(directory)
    return _read((path / job_id_of(job_name) if job_name else path) / NAME)


def _read(path: Path) -> RestAddress:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return RestAddress(content["url"], content["token"])
    except FileNotFoundError:
        raise StateError(
            f"there is no {path}: the job does not run, or not with rest.enabled=true"
        ) from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StateError(f"{path} cannot be read: {error}") from error
