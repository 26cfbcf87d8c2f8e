"""The address and token of a server in a file that only its owner can read, through which the
command line finds it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from millrace.common.errors import StateError
from millrace.filesystem.local_file_system import LocalFileSystem

__all__ = ["NAME", "ServerAddress"]

NAME = "server.json"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Address and token of a server."""

    url: str
    token: str | None = None
    """Token to operate the server; None if the server needs none."""
    pid: int = 0

    def __repr__(self) -> str:
        return f"ServerAddress({self.url!r})"  # the token is nobody's business

    def write(self, directory: Path) -> None:
        """Write the file, replacing an earlier server's."""
        content = {"url": self.url, "token": self.token, "pid": self.pid}
        data = json.dumps(content).encode()
        LocalFileSystem().publish(str(directory / NAME), (data,), durable=False)

    def remove(self, directory: Path) -> None:
        """Remove the file, unless another server has replaced it."""
        with suppress(StateError, OSError):
            if ServerAddress.read(directory) == self:
                (directory / NAME).unlink()

    @staticmethod
    def read(directory: Path) -> ServerAddress:
        """The address in the directory of a server.

        Raises:
            StateError: the directory has no address, because no server was started there or it has
                ended.
        """
        path = directory / NAME
        try:
            content = json.loads(path.read_bytes())
            return ServerAddress(str(content["url"]), content["token"], int(content["pid"]))
        except FileNotFoundError:
            raise StateError(f"there is no {path}: no server runs there") from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StateError(f"{path} cannot be read: {error}") from None
