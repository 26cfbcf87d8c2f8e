"""Conversion of errors of object stores and their clients to errors of the operating system.

Messages name the object, the store's error code and its sentence, nothing else: what clients print
besides (URLs with signatures, requests, key ids) may be secret.
"""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["Refused", "refusals"]

_CODE = re.compile(r"<Code>([^<]{1,80})</Code>")
_MESSAGE = re.compile(r"<Message>([^<]{1,400})")
_STATUS = re.compile(r"status code: (\d+)")
_CONFLICTS = frozenset({"ConditionalRequestConflict", "OperationAborted"})
"""Error codes of S3 for undecided conflicts, after which the request is to be repeated."""
_URL = re.compile(r"\w+://\S+")


class Refused(OSError):
    """An object store failed, or is out of reach."""

    status = 0
    """HTTP status; 0 if there was no answer."""
    code = ""
    """Error code of the store."""


@contextlib.contextmanager
def refusals(location: str) -> Iterator[None]:
    """Context that converts clients' errors about ``location`` to `OSError`."""
    try:
        yield
    except Exception as error:
        refusal = _refusal(error, location)
        if refusal is None:
            raise
        raise refusal from None


def _refusal(error: Exception, location: str) -> OSError | None:
    """The error to raise instead; None if it is not an error of a client."""
    module = type(error).__module__.partition(".")[0]
    if module == "botocore":
        return _of_botocore(error, location)
    # obstore has an error of Python's for what is not there; ours name a file
    if module == "obstore" or (type(error) is FileNotFoundError and not error.filename):
        return _of_obstore(error, location)
    if isinstance(error, ValueError):  # a key that no store can have
        return OSError(errno.EINVAL, _first_line(str(error)), location)
    return None


def _of_botocore(error: Exception, location: str) -> OSError:
    response: dict[str, Any] = getattr(error, "response", {})
    if not response:
        return _made(0, type(error).__name__, _first_line(str(error)), location)
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    told = response.get("Error", {})
    return _made(status, told.get("Code", ""), told.get("Message", ""), location)


def _of_obstore(error: Exception, location: str) -> OSError:
    text = str(error)
    status, code, message = _STATUS.search(text), _CODE.search(text), _MESSAGE.search(text)
    kind = type(error).__name__
    if code is None:
        said = _first_line(text).rpartition(" - ")[2]
        number = 404 if isinstance(error, FileNotFoundError) else _number_of(kind)
        return _made(int(status[1]) if status else number, "", said, location)
    number = int(status[1]) if status else _number_of(kind)
    return _made(number, code[1], message[1] if message else "", location)


def _number_of(kind: str) -> int:
    return {
        "AlreadyExistsError": 412,
        "PreconditionError": 412,
        "PermissionDeniedError": 403,
        "UnauthenticatedError": 401,
    }.get(kind, 0)


def _first_line(text: str) -> str:
    return _URL.sub("...", text.partition("\n")[0])[:400]


def _made(status: int, code: str, message: str, location: str) -> OSError:
    said = ": ".join(filter(None, (code, message.strip()))) or "there was no answer"
    if status == 404:
        return FileNotFoundError(errno.ENOENT, said, location)
    if status in (409, 412) and code not in _CONFLICTS:
        return FileExistsError(errno.EEXIST, said, location)
    if status in (401, 403):
        return PermissionError(errno.EACCES, said, location)
    made = Refused(errno.EIO, said, location)
    made.status, made.code = status, code
    return made
