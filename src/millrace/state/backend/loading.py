"""Lookup of a state backend by its name."""

from __future__ import annotations

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import StateError
from millrace.common.plugins import Plugins
from millrace.state.backend.rocksdb import EmbeddedRocksDBStateBackend
from millrace.state.backend.state_backend import HashMapStateBackend, StateBackend

__all__ = ["GROUP", "chosen_backend", "load_backend"]

GROUP = "millrace.state_backends"
"""Entry point group of backends in other packages."""

_OWN: dict[str, type[StateBackend]] = {
    "hashmap": HashMapStateBackend,
    "rocksdb": EmbeddedRocksDBStateBackend,
}
_OTHERS: Plugins[StateBackend] = Plugins(GROUP, StateBackend, "state backend", {}, StateError)  # type: ignore[type-abstract]


def chosen_backend(configuration: Configuration, given: StateBackend | None) -> StateBackend:
    """State backend of a job: the argument of `set_state_backend`, else ``state.backend.type``.

    Raises:
        StateError: there is no backend of that name, or it cannot be used here.
    """
    backend = given or load_backend(configuration.get(options.STATE_BACKEND))
    return backend.configured(configuration)


def load_backend(name: str) -> StateBackend:
    """Backend called ``name``: ``hashmap``, ``rocksdb`` or the name of an entry point.

    Raises:
        StateError: there is no backend of that name, or it cannot be loaded.
    """
    own = _OWN.get(name)
    if own is not None:
        return own()
    if name not in _OTHERS:
        known = ", ".join(f"'{known}'" for known in sorted({*_OWN, *_OTHERS}))
        raise StateError(
            f"there is no state backend '{name}' (state.backend.type); there are {known}. Others "
            f"are found by the entry point group {GROUP} of installed packages"
        )
    return _OTHERS[name]
