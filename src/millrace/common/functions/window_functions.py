"""Functions over windows of a whole stream, and functions that emit a window's elements
unchanged (Flink docs, "Windows": non-keyed windows)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from millrace.common.functions.base import Function, ProcessWindowFunction, WindowFunction

__all__ = [
    "AllWindowFunction",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
]

T = TypeVar("T")
KEY_contra = TypeVar("KEY_contra", contravariant=True)
IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)
W_contra = TypeVar("W_contra", contravariant=True)
W_co = TypeVar("W_co", covariant=True)


class AllWindowFunction(Function, Generic[IN_contra, OUT_co, W_contra]):
    """Evaluates a window of the whole stream from all its elements."""

    @abstractmethod
    def apply(self, window: W_contra, inputs: Iterable[IN_contra]) -> Iterable[OUT_co] | None:
        """Evaluate a window; returns the records to emit."""


class PassThroughWindowFunction(WindowFunction[T, T, KEY_contra, W_contra]):
    """Emits the elements of a window unchanged.

    Example:
        >>> list(PassThroughWindowFunction().apply("key", None, [1, 2]))
        [1, 2]
    """

    def apply(self, key: KEY_contra, window: W_contra, inputs: Iterable[T]) -> Iterable[T]:
        return inputs


class PassThroughAllWindowFunction(AllWindowFunction[T, T, W_contra]):
    """Emits the elements of a window of the whole stream unchanged."""

    def apply(self, window: W_contra, inputs: Iterable[T]) -> Iterable[T]:
        return inputs


class ProcessAllWindowFunction(Function, Generic[IN_contra, OUT_co, W_contra]):
    """Evaluates a window of the whole stream, with access to clocks and state."""

    class Context(ProcessWindowFunction.Context[W_co]):
        """The window that is evaluated, clocks, state of the window and state over all windows."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[W_contra], elements: Iterable[IN_contra]
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Evaluate a window; returns the records to emit."""

    def clear(self, context: ProcessAllWindowFunction.Context[W_contra]) -> None:
        """Delete the window's state; called when the window is deleted."""
