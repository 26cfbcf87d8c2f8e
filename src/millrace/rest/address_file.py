"""Address and token of a job's endpoint, in a file that only its owner can read.

It is beside the job's lease: ``<checkpoint directory>/<job>/rest.json``.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass

from millrace.common.errors import StateError
from millrace.engine.job_identity import job_id_of
from millrace.filesystem.location import StrPath
from millrace.filesystem.registry import file_system_of, resolved

__all__ = ["NAME", "RestAddress", "find_address"]

NAME = "rest.json"


@dataclass(frozen=True, slots=True)
class RestAddress:
    """Address and token of an endpoint."""

    url: str
    token: str

    def __repr__(self) -> str:
        return f"RestAddress({self.url!r})"  # the token is nobody's business

    def write(self, job_dir: StrPath) -> str:
        """Write the file, replacing the file of an earlier run; no other user can ever read its
        content.
        """
        path = os.path.join(job_dir, NAME)
        content = json.dumps({"url": self.url, "token": self.token}).encode()
        file_system_of(path).publish(path, (content,), durable=False)
        return path

    def remove(self, job_dir: StrPath) -> None:
        """Remove the file, unless another run has replaced it."""
        path = os.path.join(job_dir, NAME)
        with suppress(OSError, StateError):
            if _read(path) == self:
                file_system_of(path).delete(path)


def find_address(directory: StrPath, job_name: str | None = None) -> RestAddress:
    """The address in a job's directory, or the address of a named job in a checkpoint directory.

    Raises:
        StateError: there is no address, so the job does not run or has no endpoint.
        UnsupportedFileSystemSchemeError: the directory is of a file system that is not supported.
    """
    path = resolved(directory)
    job_dir = os.path.join(path, job_id_of(job_name)) if job_name else path
    return _read(os.path.join(job_dir, NAME))


def _read(path: str) -> RestAddress:
    try:
        content = json.loads(file_system_of(path).read(path))
        return RestAddress(content["url"], content["token"])
    except FileNotFoundError:
        raise StateError(
            f"there is no {path}: the job does not run, or not with rest.enabled=true"
        ) from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StateError(f"{path} cannot be read: {error}") from error
