"""Checks the declared type of keys where records are distributed by key.

A key is looked at when it is first met, of columns once per Arrow type: what follows is free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import SerializationError
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.type_check import BatchCheck, batch_check, mismatch
from millrace.common.types.type_information import TypeInformation
from millrace.runtime.key_columns import key_objects
from millrace.runtime.state_check import usual_class
from millrace.state.key_groups import KeyMemo

if TYPE_CHECKING:
    from millrace.state.column_key_groups import KeyColumns

__all__ = ["CheckedKeyMemo", "KeyCheck"]


class KeyCheck:
    """Refuses keys that do not have the declared type.

    Args:
        fits: batch check of the type.
    """

    def __init__(self, type_info: TypeInformation[Any], fits: BatchCheck) -> None:
        self.type_info = type_info
        self._fits = fits
        self._checked: set[Any] = set()
        """Arrow types of key columns that were checked."""

    @staticmethod
    def of(type_info: TypeInformation[Any] | None) -> KeyCheck | None:
        """The check for keys of a type. None if any key is allowed."""
        fits = None if type_info is None else batch_check(type_info)
        return None if type_info is None or fits is None else KeyCheck(type_info, fits)

    def key(self, key: Any) -> None:
        """Check one key.

        Raises:
            SerializationError: the key does not have the type.
        """
        if not self._fits((key,)):
            raise SerializationError(
                f"keys are declared as {self.type_info.name}, but "
                f"{mismatch(self.type_info, key)}: {key!r}; give key_by() the key_type that its "
                "keys have, or make keys of that type"
            )

    def keys(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Check the keys of many records, as `key` does for one."""
        if not self._fits(keys):
            # the report of a failure takes the record from the variable of this name
            for key, value in zip(keys, values, strict=True):  # noqa: B007
                self.key(key)

    def columns(self, columns: KeyColumns, batch: ColumnBatch) -> None:
        """Check the key columns of a batch, as `key` does for one key. A column type that has
        passed is not checked again.
        """
        kind = _kind(columns)
        if kind not in self._checked:
            keys = key_objects(columns)
            if not self._fits(keys):
                self.keys(keys, batch.to_rows().values)
            self._checked.add(kind)


def _kind(columns: KeyColumns) -> Any:
    return tuple(map(_kind, columns)) if isinstance(columns, tuple) else columns.type


class CheckedKeyMemo(KeyMemo):
    """A key memo that checks the type of each new key."""

    __slots__ = ("_check", "_cls", "_high", "_low")

    def __init__(
        self, check: KeyCheck, max_parallelism: int, resolve: Callable[[int], Any]
    ) -> None:
        super().__init__(max_parallelism, resolve)
        self._check = check
        self._cls, self._low, self._high = usual_class(check.type_info)

    def __missing__(self, key: Any) -> Any:
        # the most usual keys without a call: where each is new, the check is made for each
        if type(key) is not self._cls or (
            self._low is not None and not self._low <= key <= self._high
        ):
            self._check.key(key)
        return KeyMemo.__missing__(self, key)
