"""Names of side outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.types.typeinfo import TypeInformation

__all__ = ["OutputTag"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OutputTag(Generic[T]):
    """Name of a side output; two tags with the same id are the same side output.

    Semantics: Flink docs, "Side Outputs". A function emits with ``yield tag, value``.

    Args:
        tag_id: the name.
        type_info: type of the records; None for anything that can be pickled.

    Raises:
        JobDefinitionError: the id is empty or not a string.

    Example:
        >>> OutputTag("late") == OutputTag("late")
        True
    """

    tag_id: str
    type_info: TypeInformation[T] | None = field(default=None, compare=False)
    any_made: ClassVar[bool] = False
    """Whether this process has made a tag; if not, no record needs to be searched for one."""

    def __new__(cls, *_: Any, **__: Any) -> Self:
        # not in __post_init__: what is unpickled does not come by there
        if not OutputTag.any_made:
            OutputTag.any_made = True
        return object.__new__(cls)

    def __post_init__(self) -> None:
        if not isinstance(self.tag_id, str) or not self.tag_id:
            raise JobDefinitionError(
                f"an OutputTag needs a name such as OutputTag('late'), got {self.tag_id!r}"
            )
