"""One window for all records of a key; a trigger decides when it fires (Flink docs, "Windows")."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

from millrace.common.time.watermark_generator import MAX_WATERMARK
from millrace.common.types.serializer import TypeSerializer
from millrace.common.window.base_window import Window
from millrace.common.window.triggers import NeverTrigger
from millrace.common.window.window_assigner import WindowAssigner

__all__ = ["GlobalWindow", "GlobalWindowSerializer", "GlobalWindows"]


@dataclass(frozen=True, slots=True, order=True)
class GlobalWindow(Window):
    """The window that never ends.

    Example:
        >>> GlobalWindow.get() == GlobalWindow()
        True
    """

    @staticmethod
    def get() -> GlobalWindow:
        """The window."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        return MAX_WATERMARK

    def __repr__(self) -> str:
        return "GlobalWindow"


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Serializer of the global window: a single zero byte."""

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        stream.write(b"\x00")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        stream.read(1)
        return GlobalWindow()


@dataclass(frozen=True, slots=True)
class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """Puts every record into the one window of its key. It needs a trigger, because the default
    one never fires."""

    @staticmethod
    def create() -> GlobalWindows:
        """An assigner of all records to the global window."""
        return GlobalWindows()

    def assign_windows(
        self,
        element: Any,
        timestamp: int,
        context: WindowAssigner.WindowAssignerContext | None = None,
    ) -> tuple[GlobalWindow]:
        return (GlobalWindow(),)

    def get_default_trigger(self, env: Any = None) -> NeverTrigger:
        return NeverTrigger()

    def get_window_serializer(self) -> GlobalWindowSerializer:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False
