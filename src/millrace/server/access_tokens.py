"""Access tokens of a server: one to read, one to operate jobs."""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from millrace.common.errors import ConfigurationError
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.server.api_route import AccessRole

__all__ = ["AccessTokens", "token_in"]

log = logging.getLogger(__name__)

SHORTEST = 16
"""Least number of characters of a token, so that guessing by many attempts fails."""
_MAX_BYTES = 4096


@dataclass(frozen=True, slots=True)
class AccessTokens:
    """The tokens of a server; both None if everybody may do everything."""

    read: str | None = None
    operate: str | None = None

    def __repr__(self) -> str:
        return f"AccessTokens(required={self.are_required})"  # they are nobody's business

    @property
    def are_required(self) -> bool:
        """Whether the server has a token."""
        return self.operate is not None

    def role_of(self, authorization: str) -> AccessRole:
        """Role of the sender of a header ``Authorization``."""
        if self.operate is None:
            return AccessRole.OPERATE
        given = authorization.encode("utf-8", "replace")
        role = AccessRole.NOBODY
        for token, is_allowed in ((self.read, AccessRole.READ), (self.operate, AccessRole.OPERATE)):
            # each is compared: the time it takes tells nothing
            same = hmac.compare_digest(given, f"Bearer {token}".encode())
            if same and token is not None:
                role = is_allowed
        return role


def token_in(path: Path, make: bool = False) -> str:
    """The token in a file.

    Args:
        make: write a new token, readable only by its owner, if the file does not exist.

    Raises:
        ConfigurationError: the file does not exist, or its token is too short.
    """
    if make and not path.exists():
        LocalFileSystem().publish(str(path), (secrets.token_urlsafe(32).encode() + b"\n",))
    try:
        with path.open("rb") as file:
            token = file.read(_MAX_BYTES).decode("ascii").strip()
            mode = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the token in {path} cannot be read: {error}") from None
    if len(token) < SHORTEST or any(character.isspace() for character in token):
        raise ConfigurationError(
            f"{path} must have one token of at least {SHORTEST} characters in it"
        )
    if stat.S_IMODE(mode) & stat.S_IROTH:
        log.warning("everybody on this machine can read the token in %s: chmod 600", path)
    return token
