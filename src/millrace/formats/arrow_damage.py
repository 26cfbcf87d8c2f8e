"""Damaged files, as Arrow's readers see them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millrace.common.errors import MillraceError, SerializationError

__all__ = ["damage", "invalidity"]


def invalidity(batch: Any) -> str | None:
    """Why values are not what their types say; None: they are."""
    from pyarrow import ArrowException

    try:
        batch.validate(full=True)
    except ArrowException as error:
        return str(error)
    return None


@contextmanager
def damage(what: str) -> Iterator[None]:
    """Whatever Arrow makes of damaged bytes, such as names that are no text, is an error of ours;
    what the system says when it cannot read is not."""
    try:
        yield
    except MillraceError:
        raise
    except (Exception, MemoryError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise SerializationError(f"{what}: {error}") from None
