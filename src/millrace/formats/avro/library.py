"""Import of fastavro, which reads and writes Avro's binary form, at its first use."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.installation import install_command

__all__ = ["fastavro"]


def fastavro() -> Any:
    """Import the module fastavro.

    Raises:
        JobDefinitionError: fastavro is not installed.
    """
    try:
        import fastavro as library
    except ImportError:
        raise JobDefinitionError(f"Avro needs fastavro: {install_command('avro')}") from None
    return library
