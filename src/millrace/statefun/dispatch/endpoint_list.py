"""Lists of endpoints as bytes: messages to a running job, and state of its dispatchers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from millrace.common.errors import JobDefinitionError
from millrace.common.typed_json import decode_json
from millrace.statefun.module.components import HttpEndpoint

__all__ = ["decode_endpoints", "encode_endpoints"]


def encode_endpoints(endpoints: Sequence[HttpEndpoint]) -> bytes:
    """Bytes of a list: JSON.

    Raises:
        JobDefinitionError: two endpoints are for the same functions.

    Example:
        >>> endpoint = HttpEndpoint("com.example", "*", "http://localhost:8000")
        >>> decode_endpoints(encode_endpoints([endpoint])) == (endpoint,)
        True
    """
    names = [f"{endpoint.namespace}/{endpoint.name}" for endpoint in endpoints]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise JobDefinitionError(f"there are two endpoints of {twice}")
    return msgspec.json.encode(tuple(endpoints))


def decode_endpoints(content: bytes) -> tuple[HttpEndpoint, ...]:
    """List from its bytes.

    Raises:
        JobDefinitionError: the bytes are of something else.
    """
    try:
        return decode_json(content, tuple[HttpEndpoint, ...])
    except msgspec.MsgspecError as error:
        raise JobDefinitionError(f"this is no list of endpoints: {error}") from None
