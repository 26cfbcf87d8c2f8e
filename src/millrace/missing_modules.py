"""Parts of PyFlink that Millrace does not have yet: importing one raises an error that says so.

Python calls a finder at the end of ``sys.meta_path`` for what nobody else has found, so a module
that is added later needs no change here but its line removed. ``from package import name`` looks
for a module of that name too, if the package has no such attribute. `explain_missing_names` lets a
plain module look like a package in this respect.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["MISSING", "MISSING_NAMES", "MissingModules", "explain_missing_names"]


_NO_TIME_CHARACTERISTIC = (
    "Neither Millrace nor Flink 2 has TimeCharacteristic: delete the import and the call of "
    "set_stream_time_characteristic(), as event time needs no switch"
)
MISSING: dict[str, str] = {"millrace.datastream.time_characteristic": _NO_TIME_CHARACTERISTIC}
"""Modules of PyFlink that are not there, and what to say."""


_KINESIS = {
    "WatermarkTracker": (
        "Millrace has no WatermarkTracker yet: WatermarkStrategy.with_watermark_alignment() does "
        "what it does"
    ),
}
_CASSANDRA = {
    "CassandraCommitter": (
        "Millrace has no write-ahead log for Cassandra yet: rows that are written again replace "
        "themselves by their primary key"
    ),
}
_PULSAR = {
    "RangeGenerator": (
        "Millrace has no RangeGenerator yet: it reads each partition of Pulsar in one subtask and "
        "in its order, with no subscription of the type Key_Shared"
    )
}
_STATE_BACKENDS = {
    former: (
        f"Neither Millrace nor Flink 2 has {former}: use {present}, and name the directory of "
        "checkpoints by execution.checkpointing.dir"
    )
    for former, present in {
        "FsStateBackend": "HashMapStateBackend",
        "MemoryStateBackend": "HashMapStateBackend",
        "RocksDBStateBackend": "EmbeddedRocksDBStateBackend",
    }.items()
}
_MODULE = {
    "Module": (
        "Millrace has no modules of Python yet: create_temporary_system_function() gives a "
        "function a name that goes before all others"
    ),
}
_USER_DEFINED_TYPE = {
    "UserDefinedType": (
        "Millrace has no user-defined types yet: a ROW, or RAW with a serializer, holds values of "
        "a class"
    ),
}
MISSING_NAMES: dict[str, dict[str, str]] = {
    "millrace.datastream": {"TimeCharacteristic": _NO_TIME_CHARACTERISTIC, **_STATE_BACKENDS},
    "millrace.datastream.state_backend": _STATE_BACKENDS,
    "millrace.table": {**_MODULE, **_USER_DEFINED_TYPE},
    "millrace.table.module": _MODULE,
    "millrace.table.types": _USER_DEFINED_TYPE,
    "millrace.datastream.connectors.cassandra": _CASSANDRA,
    "millrace.datastream.connectors.kinesis": _KINESIS,
    "millrace.datastream.connectors.pulsar": _PULSAR,
}
"""Names that PyFlink has in modules and packages which are there, and what to say."""
_SENTENCES = MISSING | {
    f"{package}.{name}": sentence
    for package, names in MISSING_NAMES.items()
    for name, sentence in names.items()
}


def explain_missing_names(module: str) -> None:
    """Let a module that is being imported explain names that it does not have.

    Python loses the text of the AttributeError in ``from module import name``, but it asks
    `MissingModules`, if the module has a ``__path__``.
    """
    attributes = vars(sys.modules[module])
    attributes.setdefault("__path__", [])
    find_late: Callable[[str], Any] | None = attributes.get("__getattr__")

    def find_or_explain(name: str) -> Any:
        sentence = _SENTENCES.get(f"{module}.{name}")
        if sentence is None and find_late is not None:
            return find_late(name)
        text = sentence or f"module {module!r} has no attribute {name!r}"
        raise AttributeError(text, name=name)

    attributes["__getattr__"] = find_or_explain


class MissingModules(MetaPathFinder):
    """Import hook that raises an error for modules that are known to be missing."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """None for all modules but the missing ones.

        Raises:
            ImportError: Millrace does not have it. A ModuleNotFoundError would lose its text:
                ``from package import name`` replaces it.
        """
        sentence = _SENTENCES.get(fullname)
        if sentence is not None:
            raise ImportError(sentence, name=fullname)
        return None


def install() -> None:
    """Install the import hook from now on."""
    sys.meta_path.append(MissingModules())
