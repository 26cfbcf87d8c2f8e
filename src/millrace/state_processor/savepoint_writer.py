"""Writing savepoints from DataFrames (Flink docs, "State Processor API").

Operators of an existing savepoint are removed or get other uids without decoding their values: only
the names of their tables change. One table with the operators' own values for all operators is
decoded.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from millrace.common.config import options
from millrace.common.config.config_options import ConfigOption
from millrace.common.config.configuration import Configuration
from millrace.common.errors import CheckpointError, StateError
from millrace.common.types.type_information import TypeInformation
from millrace.filesystem.registry import file_system_of, resolved
from millrace.runtime.main_classes import main_classes
from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.checkpoint.delta_file import (
    SUFFIX,
    DeltaEntry,
    DeltaFileRef,
    DeltaLoader,
    write_delta_file,
)
from millrace.state.checkpoint.delta_set import read_deltas_of
from millrace.state.checkpoint.directory import SHARED
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.delta_payload import Content, Loader, Written, contents, framed
from millrace.state.serialization.payload import decode, encode
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.state_delta import StateDelta
from millrace.state.table_id import OPERATOR_TABLE, VALVE, TableId
from millrace.state_processor.bootstrap_task import BootstrapTarget, BootstrapTask
from millrace.state_processor.savepoint_changes import SavepointChanges, empty_manifest
from millrace.state_processor.transformations import StateBootstrapTransformation
from millrace.state_processor.written_part import WrittenPart, read_answer

__all__ = ["SavepointWriter", "rewritten"]


class SavepointWriter:
    """Writes a savepoint that jobs can start from. Flink: class ``SavepointWriter``.

    State is matched by the uids of operators. Rows are brought to the subtask of their key in
    Spark; each task fills the state of one subtask and writes its file. The path must be one that
    the driver and all workers can write to.

    Example:
        >>> def bootstrap(spark, accounts, path):
        ...     writer = SavepointWriter.new_savepoint(spark)
        ...     writer.with_operator("accounts", accounts).write(path)
    """

    def __init__(self, spark: Any, base: SnapshotReader | None, max_parallelism: int) -> None:
        self._spark = spark
        self._base = base
        manifest = base.snapshot.manifest if base else empty_manifest(max_parallelism)
        self._changes = SavepointChanges(manifest)
        self._new: dict[str, StateBootstrapTransformation] = {}
        self._configuration = Configuration()

    @staticmethod
    def new_savepoint(spark: Any, max_parallelism: int | None = None) -> SavepointWriter:
        """Writer of a savepoint that is empty at first.

        Args:
            max_parallelism: max parallelism of jobs that start from the savepoint (default: 128).
        """
        default = Configuration().get(options.MAX_PARALLELISM)
        return SavepointWriter(spark, None, max_parallelism or default)

    @staticmethod
    def from_existing_savepoint(
        spark: Any, path: str | os.PathLike[str], pickle_allowed: bool = False
    ) -> SavepointWriter:
        """Writer of a savepoint that begins with the content of another savepoint or of a
        checkpoint. Replaced states are left out, and the old savepoint stays unchanged.

        Args:
            pickle_allowed: True for a snapshot whose maker you trust: native snapshots, and pickled
                values in canonical savepoints, can run code when they are read. If False, they
                are refused.

        Raises:
            CheckpointError: there is no snapshot at the path.
            CheckpointCorruptError: the snapshot is damaged.
        """
        reader = SnapshotReader(open_snapshot(path, pickle_allowed))
        maximum = reader.snapshot.manifest.max_parallelism
        return SavepointWriter(spark, reader, maximum)

    def with_configuration(self, option: ConfigOption[Any] | str, value: Any) -> SavepointWriter:
        """Set an option: ``parallelism.default`` is the parallelism of operators without an
        explicit one (default: Spark's)."""
        key = option if isinstance(option, str) else option.key
        self._configuration = Configuration({**self._configuration.to_dict(), key: value})
        self._configuration.validate()
        return self

    def with_operator(
        self, uid: str, transformation: StateBootstrapTransformation
    ) -> SavepointWriter:
        """Add the state of an operator.

        Raises:
            StateError: the savepoint has an operator of that uid (remove it first).
        """
        if not isinstance(transformation, StateBootstrapTransformation):
            raise StateError(
                "with_operator() takes the result of transform(), reduce() and similar "
                f"methods, got {transformation!r}"
            )
        if uid in self._new:
            raise StateError(f"operator '{uid}' was added already")
        self._changes.require_free(uid)
        self._new[uid] = transformation
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave the state of an operator out.

        Raises:
            StateError: the savepoint has no such operator.
        """
        if self._new.pop(uid, None) is None:
            self._changes.remove(uid)
        return self

    def change_operator_identifier(self, uid: str, new_uid: str) -> SavepointWriter:
        """Give an operator another uid; its state stays the same.

        Raises:
            StateError: the savepoint has no such operator, or one of the new uid.
        """
        if new_uid in self._new:
            raise StateError(f"operator '{new_uid}' was added already")
        self._changes.rename(uid, new_uid)
        return self

    def write(self, path: str | os.PathLike[str]) -> str:
        """Write the savepoint to a new directory, and return its path.

        Raises:
            CheckpointError: a file or directory exists at the path, or the file system refused;
                no files remain.
            UnsupportedFileSystemSchemeError: the path belongs to another file system.
            UserFunctionError: a bootstrap function failed.
        """
        directory = resolved(path)
        files = file_system_of(directory)
        parent, name = os.path.split(directory)
        drafts = f"{parent}/.{name}.{uuid.uuid4().hex[:12]}.draft"
        try:
            if any(files.list(directory, recursive=True)):
                raise CheckpointError(
                    f"{directory} is not empty; write the savepoint to a new path"
                )
            files.make_directory(f"{drafts}/{SHARED}")
            self._write(directory, drafts)
        except OSError as error:
            raise CheckpointError(f"cannot write the savepoint {directory}: {error}") from error
        finally:
            with contextlib.suppress(OSError):
                files.delete_directory(drafts)
        return directory

    def _write(self, directory: str, drafts: str) -> None:
        draft = _Draft(self._changes.manifest(), drafts)
        if self._base is not None:
            self._copy(self._base, draft)
        for uid, transformation in self._new.items():
            self._bootstrap(draft, uid, transformation)
        key_types = {uid: made.input.key_type for uid, made in self._new.items()}
        draft.complete(directory, key_types)

    def _copy(self, base: SnapshotReader, draft: _Draft) -> None:
        """Copy the deltas of the kept operators."""
        changes = {change.old: change for change in self._changes.by_stage()}
        kept = [key for key in base.subtasks() if key[0] in changes]
        if not kept:
            return
        load = DeltaLoader(base.snapshot.directory)

        def entries() -> Iterator[DeltaEntry]:
            for stage, subtask in kept:
                change = changes[stage]
                for delta in base.deltas(stage, subtask):
                    if change.rewritten:
                        yield change.new, subtask, rewritten(delta, load, change.uids)
                    else:
                        yield stage, subtask, dataclasses.replace(delta, data=load(delta))

        file = write_delta_file(draft.directory, f"state{SUFFIX}", entries())
        draft.files.append(file.ref)
        versions = base.snapshot.manifest.versions
        draft.versions.update({(changes[s].new, i): versions[s, i] for s, i in kept})

    def _bootstrap(
        self, draft: _Draft, uid: str, transformation: StateBootstrapTransformation
    ) -> None:
        from millrace.spark.state_frames import exchange_rows

        dataframe = transformation.input.dataframe
        width = min(self._parallelism(transformation), draft.manifest.max_parallelism)
        stage = draft.add_stage(uid, width)
        target = BootstrapTarget(
            uid, stage, width, draft.manifest.max_parallelism, draft.directory,
            draft.delta_epoch, draft.manifest.timestamp, main_classes(),
        )  # fmt: skip
        task = BootstrapTask(transformation, tuple(dataframe.columns), target)
        for answer in exchange_rows(dataframe, width, task.route, task.take):
            draft.take(read_answer(answer))

    def _parallelism(self, transformation: StateBootstrapTransformation) -> int:
        from millrace.spark.state_frames import default_parallelism

        if options.PARALLELISM.key in self._configuration.key_set():
            default = self._configuration.get(options.PARALLELISM)
        else:
            default = default_parallelism(self._spark)
        return transformation.input.parallelism or default


@dataclass
class _Draft:
    """A savepoint under construction."""

    manifest: Manifest
    directory: str

    def __post_init__(self) -> None:
        self.files: list[DeltaFileRef] = []
        self.versions: dict[tuple[str, int], str] = {}

    @property
    def delta_epoch(self) -> int:
        """The epoch of new deltas: the last one before the job resumes."""
        return max(0, self.manifest.epoch - 1)

    def add_stage(self, uid: str, parallelism: int) -> str:
        """Add a stage for one operator, and return the stage's name."""
        manifest = self.manifest
        stage = uid
        while stage in manifest.stages:
            stage += "'"
        self.manifest = dataclasses.replace(
            manifest,
            stages={**manifest.stages, stage: parallelism},
            chains={**manifest.chains, stage: (uid,)},
            operators={**manifest.operators, uid: uid},
            stateful=tuple(sorted({*manifest.stateful, uid})),
        )
        return stage

    def take(self, part: WrittenPart | None) -> None:
        """Add the part that a task wrote."""
        if part is not None:
            self.files.append(part.file)
            self.versions.update({(part.stage, i): v for i, v in part.versions.items()})

    def complete(self, path: str, key_types: Mapping[str, TypeInformation[Any] | None]) -> None:
        """Write the savepoint of all added parts."""
        manifest = dataclasses.replace(
            self.manifest, delta_files=tuple(self.files), versions=self.versions
        )
        deltas = read_deltas_of(self.directory, manifest, path).by_subtask()
        write_canonical_savepoint(
            path, self.directory, manifest, deltas, key_types, snapshot_id=manifest.snapshot_id
        )


Uids = Mapping[str, str | None]
"""New uid of each operator; None if the operator is removed."""


def rewritten(delta: StateDelta, load: Loader, uids: Uids) -> StateDelta:
    """The delta with the new uids of operators, and without the state of operators that are
    removed.
    """
    native = dataclasses.replace(delta, data=load(delta))
    pieces = (_content(content, uids) for content in contents(native, load))
    return dataclasses.replace(delta, data=b"".join(chain.from_iterable(map(framed, pieces))))


def _content(content: Content, uids: Uids) -> Written:
    return {part: dict(_tables(tables, uids)) for part, tables in content.items()}


def _tables(
    tables: Mapping[tuple[str, str], Any], uids: Uids
) -> Iterator[tuple[tuple[str, str], Any]]:
    for name, (kind, schema, encoded) in tables.items():
        table = TableId(*name)
        if table == OPERATOR_TABLE:
            yield name, (kind, schema, [encode(_own_values(decode(encoded), uids))])
        elif (uid := uids.get(table.uid)) is not None:
            yield (uid, table.name), (kind, schema, [encoded])


def _own_values(table_delta: dict[str, Any], uids: Uids) -> dict[str, Any]:
    names = {key: _renamed(key, uids) for part in table_delta.values() for key in part}
    put = {names[key]: value for key, value in table_delta["put"].items() if names[key] is not None}
    removed = [names[key] for key in table_delta["del"] if names[key] is not None]
    return {"put": put, "del": removed}


def _renamed(key: tuple[str, ...], uids: Uids) -> tuple[str, ...] | None:
    """The key of an operator's own value with the new uid; None if the operator is removed."""
    if key == VALVE:
        return key
    uid = uids.get(key[0])
    return None if uid is None else (uid, *key[1:])
