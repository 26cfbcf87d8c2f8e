"""HTTP client of a job server, for commands with ``--server``."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from millrace.common.errors import JobControlError, MillraceError, StateError
from millrace.common.installation import install_command
from millrace.server.server_address import ServerAddress

if TYPE_CHECKING:
    import httpx

__all__ = ["TOKEN_VARIABLE", "ServerAwayError", "ServerClient", "server_address"]

TOKEN_VARIABLE = "MILLRACE_TOKEN"
REQUEST_TIMEOUT = 30.0
"""Seconds for an answer; uploads have as long as they need."""
MOST_REDIRECTS = 3
"""Most times that a request follows the leadership of several servers."""


class ServerAwayError(JobControlError):
    """No server answers, or none is the leader; a later attempt may succeed."""


def server_address(
    given: str,
    token_file: Path | None,
    own_directory: Path,
    environment: Mapping[str, str] = os.environ,
) -> ServerAddress:
    """Address and token of a server: from a file, the environment, or the file that the server
    wrote for its user.

    Args:
        given: a URL, or the directory of a server on this machine.
        own_directory: directory of the user's own server, if it exists.

    Raises:
        MillraceError: the address is neither, or a token cannot be read.
    """
    if urlsplit(given).scheme not in ("http", "https"):
        if "://" in given:
            raise MillraceError(f"--server takes http://, https:// or a directory, not {given!r}")
        address = ServerAddress.read(Path(given))
    else:
        address = ServerAddress(given.rstrip("/"), _own_token(given, own_directory))
    token = _given_token(token_file, environment)
    if token is not None and not (token.isascii() and token.isprintable()):
        raise MillraceError("the token has invalid characters; check where it comes from")
    return address if token is None else ServerAddress(address.url, token, address.pid)


def _given_token(token_file: Path | None, environment: Mapping[str, str]) -> str | None:
    if token_file is None:
        return environment.get(TOKEN_VARIABLE) or None
    try:
        return token_file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise MillraceError(f"the token cannot be read from {token_file}: {error}") from None


def _own_token(url: str, own_directory: Path) -> str | None:
    """The token in the server's own file, which is sent only to the server that wrote it."""
    try:
        known = ServerAddress.read(own_directory)
    except StateError:
        return None
    return known.token if _place(known.url) == _place(url) else None


def _place(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme, "localhost" if host in ("127.0.0.1", "::1") else host, parts.port


class ServerClient:
    """A connection to a job server; follows the leader if there are several.

    Args:
        address: address of the server, with the token.
        ca_file: file of trusted certificates (PEM); None to use those of this machine.

    Raises:
        MillraceError: the extra ``server`` is not installed, or the certificates cannot be read.
    """

    def __init__(self, address: ServerAddress, ca_file: Path | None = None) -> None:
        try:
            import httpx
        except ModuleNotFoundError:
            raise MillraceError(f"--server needs httpx: {install_command('server')}") from None
        self.address = address
        headers = {"Authorization": f"Bearer {address.token}"} if address.token else {}
        self._http = httpx.Client(
            headers=headers, verify=_trusted(ca_file), timeout=REQUEST_TIMEOUT, trust_env=False
        )
        self._url = address.url

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Answer to a GET request.

        Raises:
            JobControlError: there is no answer, or the server refuses.
        """
        return self._ask("GET", path, params=query)

    def post(self, path: str, body: Any) -> Any:
        """Answer to a POST request with a body; raises the same errors as `get`."""
        return self._ask("POST", path, json=body)

    def patch(self, path: str, **query: Any) -> Any:
        """Answer to a PATCH request; raises the same errors as `get`."""
        return self._ask("PATCH", path, params=query)

    def upload(self, path: Path, name: str) -> str:
        """Upload a program and return its id; raises the same errors as `get`."""
        content = path.read_bytes()
        answer = self._ask("POST", "/jars/upload", files={"jarfile": (name, content)}, timeout=None)
        return str(answer["filename"]).rpartition("/")[2]

    def _ask(self, method: str, path: str, **arguments: Any) -> Any:
        import httpx

        try:
            response = self._http.request(method, self._url + path, **arguments)
            for _ in range(MOST_REDIRECTS):
                if not response.has_redirect_location:
                    break
                self._follow(response)
                response = self._http.request(method, self._url + path, **arguments)
            if response.is_success:
                return response.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            reason = str(error) or type(error).__name__
            asked, self._url = self._url, self.address.url  # who leads may have changed
            raise ServerAwayError(f"no answer from the server at {asked}: {reason}") from None
        if response.status_code == 503:
            raise ServerAwayError(_refusal(response))
        raise JobControlError(_refusal(response))

    def _follow(self, response: httpx.Response) -> None:
        """Send further requests to the leader; a connection with TLS is never followed by one
        without."""
        leader = response.headers["location"]
        parts = urlsplit(leader)
        if self._url.startswith("https:") and parts.scheme != "https":
            raise ValueError(f"the server names a leader that is reached without TLS: {leader}")
        self._url = f"{parts.scheme}://{parts.netloc}"


def _trusted(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise MillraceError(f"certificates cannot be read from {ca_file}: {error}") from None


def _refusal(response: httpx.Response) -> str:
    try:
        message = "; ".join(map(str, response.json()["errors"]))
    except (ValueError, KeyError, TypeError):
        message = f"the server answers {response.status_code} {response.reason_phrase}"
    if response.status_code == 401:
        message += (
            f"; pass the token with --token-file, or in {TOKEN_VARIABLE}; for a server on "
            "this machine, --server may name the directory, which has the token"
        )
    return message
