"""Records of a followed state, and the progress of their source.

The source is `millrace.state_processor.state_changes_source.StateChangesSource`. Savepoints name
these classes by this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from millrace.other_paths import late_names

__all__ = ["CopyComplete", "StatePosition", "StateUpdate"]


class StateUpdate(NamedTuple):
    """Value of a key at a checkpoint."""

    key: Any
    value: Any
    """Value of the key; None if the key is gone."""
    gone: bool
    checkpoint: int
    snapshot_id: str = ""
    """Snapshot id of the checkpoint; in a recreated directory, its number means another one."""


class CopyComplete(NamedTuple):
    """All keys of a checkpoint were emitted since the previous record of this kind, or since the
    beginning; keys that were not emitted no longer exist."""

    checkpoint: int
    snapshot_id: str = ""
    """Id of that checkpoint's snapshot."""


@dataclass(frozen=True)
class StatePosition:
    """Progress of the source."""

    checkpoint: int
    snapshot_id: str
    """Id of that checkpoint's snapshot."""
    complete: bool
    """Whether all updates up to that checkpoint have been read."""


__getattr__ = late_names(__name__)
