"""The library that reads and writes Avro's binary form: fastavro, when it is first needed."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError

__all__ = ["fastavro"]


def fastavro() -> Any:
    """The library.

    Raises:
        JobDefinitionError: it is not installed.
    """
    try:
        import fastavro as library
    except ImportError:
        raise JobDefinitionError(
            "Avro needs fastavro: install it with pip install 'millrace[avro]'"
        ) from None
    return library
