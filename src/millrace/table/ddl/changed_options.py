"""SET and RESET of the declared options of a table, database or model."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.common.errors import JobDefinitionError
from millrace.sql.statements import ResetOptions, SetOptions

__all__ = ["changed_options"]


def changed_options(
    options: Mapping[str, str], action: SetOptions | ResetOptions, kept: str, of: str
) -> dict[str, str]:
    """The options after ALTER ... SET or RESET.

    Args:
        kept: option that determines the kind of object, and cannot be reset.
        of: the object with the options, for errors.

    Raises:
        JobDefinitionError: the statement resets the option ``kept``.
    """
    if isinstance(action, SetOptions):
        return {**options, **action.options}
    if kept in action.keys:
        raise JobDefinitionError(f"the option {kept!r} of a {of} cannot be reset")
    return {key: value for key, value in options.items() if key not in action.keys}
