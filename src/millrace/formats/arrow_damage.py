"""Detects damaged files: checks what Arrow has read, and converts errors of Arrow's readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millrace.common.errors import MillraceError, SerializationError

__all__ = ["damage", "invalidity"]


def invalidity(batch: Any) -> str | None:
    """Reason why values do not fit their types; None if they do."""
    from pyarrow import ArrowException

    try:
        batch.validate(full=True)
    except ArrowException as error:
        return str(error)
    return None


@contextmanager
def damage(what: str) -> Iterator[None]:
    """Context that turns Arrow's errors about damaged bytes, such as names that are not text, into
    a SerializationError. Errors of the operating system pass unchanged.
    """
    try:
        yield
    except MillraceError:
        raise
    except (Exception, MemoryError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise SerializationError(f"{what}: {error}") from None
