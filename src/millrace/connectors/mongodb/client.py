"""Connections to MongoDB by connection string, with errors that name the server and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.installation import missing_package
from millrace.connectors.errors import ConnectorError

__all__ = [
    "PASSING",
    "MongoConnection",
    "MongoError",
    "MongoUnavailableError",
    "connected",
    "import_pymongo",
    "require_name",
    "require_uri",
    "telling",
]

_SCHEMES = ("mongodb://", "mongodb+srv://")
_SELECTION = "serverSelectionTimeoutMS"
_SELECTION_MS = 10_000
_DENIED = {13, 18, 8000}
"""Codes: not authorized, authentication failed, and what Atlas says instead."""
_CURSOR_LOST = 43
PASSING = frozenset(
    {6, 7, 89, 91, 112, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436}
)  # fmt: skip
"""Codes of servers that shut down, cannot be reached or are no primary, and of conflicts: another
try may succeed."""


class MongoError(ConnectorError):
    """MongoDB is not readable or writable."""


class MongoUnavailableError(MongoError):
    """No server answers, or none accepts writes; a retry may succeed."""


@dataclass(frozen=True)
class MongoConnection:
    """A collection and the connection string of its server, which the `repr` leaves out."""

    uri: str = field(default="", repr=False)
    database: str = ""
    collection: str = ""

    def __str__(self) -> str:
        # options may have an @, too
        place = self.uri.partition("://")[2].partition("/")[0].partition("?")[0]
        hosts = place.rpartition("@")[2]
        return f"collection {self.database}.{self.collection} at {hosts}"


def import_pymongo() -> Any:
    """Import the module pymongo.

    Raises:
        MongoError: it is not installed.
    """
    try:
        import pymongo
        import pymongo.errors
    except ImportError as error:
        raise MongoError(
            missing_package("the MongoDB connector needs", "pymongo", "mongodb", on_workers=True)
        ) from error
    return pymongo


def require_uri(uri: Any) -> str:
    """The connection string itself, after a check.

    Raises:
        JobDefinitionError: it is none. The message does not repeat it: it may have a password.
    """
    if not isinstance(uri, str) or not uri.startswith(_SCHEMES) or not uri.partition("://")[2]:
        raise JobDefinitionError(
            "the connection string of MongoDB is mongodb://user:password@host:27017/ or "
            "mongodb+srv://..., with special characters of the password escaped: / as %2F, "
            "@ as %40"
        )
    return uri


def require_name(what: str, name: Any) -> str:
    """The name itself, after a check.

    Raises:
        JobDefinitionError: it is not a text, or empty.
    """
    if not isinstance(name, str) or not name:
        raise JobDefinitionError(f"{what} is a name, not {name!r}")
    return name


def connected(connection: MongoConnection) -> Any:
    """A client that connects at its first use, and reconnects when necessary.

    Raises:
        MongoError: the connection string cannot be read.
    """
    pymongo = import_pymongo()
    options: dict[str, Any] = {"appname": "millrace"}
    if _SELECTION.lower() not in connection.uri.lower():
        options[_SELECTION] = _SELECTION_MS
    try:
        return pymongo.MongoClient(connection.uri, **options)
    except (pymongo.errors.PyMongoError, ValueError) as error:
        # what it says may quote the password
        raise MongoError(
            f"the connection string of {connection} cannot be read "
            f"({type(error).__name__}): are special characters in user and password "
            "escaped, / as %2F, @ as %40, : as %3A, % as %25?"
        ) from None


@contextmanager
def telling(connection: MongoConnection) -> Iterator[None]:
    """Turn errors of pymongo into errors that name the collection and the remedy.

    Raises:
        MongoUnavailableError: trying again may help.
        MongoError: it would not.
    """
    errors = import_pymongo().errors
    try:
        yield
    except (errors.ConnectionFailure, errors.WriteConcernError, errors.ExecutionTimeout) as error:
        raise MongoUnavailableError(
            f"{connection} does not answer: {_reason(error)}; is the server running, and reachable "
            "from every worker?"
        ) from error
    except errors.OperationFailure as error:
        if error.code in _DENIED:
            raise MongoError(
                f"{connection} refuses the job ({_reason(error)}): see user, password and "
                "authSource in the connection string, and the user's roles"
            ) from None
        passes = error.code == _CURSOR_LOST or error.code in PASSING
        passes = passes or error.has_error_label("RetryableWriteError")
        kind = MongoUnavailableError if passes else MongoError
        raise kind(f"{connection} cannot be used: {_reason(error)}") from None
    except errors.PyMongoError as error:
        raise MongoError(f"{connection} cannot be used: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """The server's error message, without the documents and states that pymongo adds."""
    said = str(error)
    for more in (", full error:", " (configured timeouts", ", Timeout:", ", Topology"):
        said = said.partition(more)[0]
    return said
