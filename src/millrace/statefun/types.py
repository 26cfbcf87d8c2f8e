"""Built-in types of values. The bytes of any other type are opaque to the runtime."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import SerializationError
from millrace.statefun.address import TypedValue
from millrace.statefun.protocol import TYPES, WRAPPERS, message_class

__all__ = ["BOOLEAN", "DOUBLE", "FLOAT", "INT", "LONG", "STRING", "decoded", "typed"]

BOOLEAN = f"{TYPES}/bool"
INT = f"{TYPES}/int"
LONG = f"{TYPES}/long"
FLOAT = f"{TYPES}/float"
DOUBLE = f"{TYPES}/double"
STRING = f"{TYPES}/string"

_CLASSES = {
    typename: message_class(f"{TYPES}.{message}") for typename, (message, _) in WRAPPERS.items()
}


def typed(typename: str, value: Any) -> TypedValue:
    """A typed value of a built-in type, made from a Python value. For any other type, the Python
    value must be bytes.

    Raises:
        SerializationError: the value does not belong to the type.

    Example:
        >>> typed(INT, 0)
        TypedValue(typename='io.statefun.types/int', has_value=True, value=b'')
        >>> decoded(typed(STRING, "Ada"))
        'Ada'
    """
    wrapper = _CLASSES.get(typename)
    if wrapper is None:
        if not isinstance(value, bytes):
            raise SerializationError(
                f"a value of type {typename} must be given as bytes, got {value!r}: the "
                f"runtime knows only the types {', '.join(_CLASSES)}"
            )
        return TypedValue(typename, True, value)
    try:
        return TypedValue(typename, True, wrapper(value=value).SerializeToString())
    except (TypeError, ValueError) as error:
        raise SerializationError(f"{value!r} is not a value of type {typename}: {error}") from None


def decoded(value: TypedValue) -> Any:
    """Python value of a built-in type; the bytes of any other type; None if there is no value.

    Raises:
        SerializationError: the bytes are no value of the type.
    """
    if not value.has_value:
        return None
    wrapper = _CLASSES.get(value.typename)
    if wrapper is None:
        return value.value
    try:
        return wrapper.FromString(value.value).value
    except Exception as error:  # a DecodeError, whose class depends on the implementation
        raise SerializationError(
            f"{len(value.value)} bytes are not a value of type {value.typename}: {error}"
        ) from None
