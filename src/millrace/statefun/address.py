"""Addresses of functions, and values with the name of their type."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from millrace.common.errors import JobDefinitionError

__all__ = ["Address", "FunctionType", "TypedValue", "split_typename"]


class FunctionType(NamedTuple):
    """Name of a function or an egress: a namespace and a name in it.

    Example:
        >>> str(FunctionType("com.example", "greeter"))
        'com.example/greeter'
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @staticmethod
    def of(typename: str) -> FunctionType:
        """The type that a text such as ``shop/cart`` names.

        Raises:
            JobDefinitionError: the text is not ``namespace/name``.

        Example:
            >>> FunctionType.of("com.example/greeter").name
            'greeter'
        """
        return FunctionType(*split_typename(typename))


class Address(NamedTuple):
    """Function type and id of one function instance. The instance has its own state, and handles
    one batch of messages at a time."""

    namespace: str
    type: str
    id: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.type}/{self.id}"

    @property
    def function_type(self) -> FunctionType:
        """Type of the function."""
        return _function_type(self[0], self[1])


@lru_cache(4096)
def _function_type(namespace: str, name: str) -> FunctionType:
    """Type of all addresses of a function. Each invocation asks for it several times."""
    return FunctionType(namespace, name)


class TypedValue(NamedTuple):
    """A value as bytes, with the name of its type. Empty bytes can be a value, such as the
    defaults of all built-in types; ``has_value`` tells whether there is a value."""

    typename: str
    has_value: bool
    value: bytes


def split_typename(typename: str) -> tuple[str, str]:
    """Namespace and name of a type name such as ``namespace/name``. The last ``/`` divides them.

    Raises:
        JobDefinitionError: one of the two is missing.
    """
    namespace, slash, name = typename.rpartition("/")
    if not slash or not namespace or not name:
        raise JobDefinitionError(
            f"{typename!r} is not a type name: write a namespace and a name, such as "
            "'com.example/greeter'"
        )
    return namespace, name
