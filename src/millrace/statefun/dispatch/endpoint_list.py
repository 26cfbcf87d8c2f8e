"""Lists of endpoints as bytes: messages to a running job, and state of its dispatchers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from millrace.common.errors import JobDefinitionError
from millrace.common.typed_json import decode_json
from millrace.statefun.module.components import HttpEndpoint

__all__ = ["decode_endpoints", "encode_endpoints", "same_endpoints"]


def encode_endpoints(endpoints: Sequence[HttpEndpoint]) -> bytes:
    """Encode a list of endpoints as JSON bytes.

    Raises:
        JobDefinitionError: two endpoints are for the same functions.

    Example:
        >>> endpoint = HttpEndpoint("com.example", "*", "http://localhost:8000")
        >>> decode_endpoints(encode_endpoints([endpoint])) == (endpoint,)
        True
    """
    _check_distinct(endpoints)
    return msgspec.json.encode(tuple(endpoints))


def decode_endpoints(content: bytes) -> tuple[HttpEndpoint, ...]:
    """Decode a list of endpoints from its bytes.

    Raises:
        JobDefinitionError: the bytes are of something else, an endpoint has a value that no module
            could give it, or two endpoints are for the same functions.
    """
    try:
        endpoints = decode_json(content, tuple[HttpEndpoint, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise JobDefinitionError(f"the value is not a list of endpoints: {error}") from None
    _check_distinct(endpoints)
    return endpoints


def same_endpoints(one: bytes, other: bytes) -> bool:
    """Whether two lists have the same endpoints, in any order."""
    return one == other or set(decode_endpoints(one)) == set(decode_endpoints(other))


def _check_distinct(endpoints: Sequence[HttpEndpoint]) -> None:
    names = Counter(f"{endpoint.namespace}/{endpoint.name}" for endpoint in endpoints)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise JobDefinitionError(f"two endpoints serve {twice}")
