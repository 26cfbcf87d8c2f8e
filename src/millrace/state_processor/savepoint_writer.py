"""Writing savepoints from DataFrames (Flink docs, "State Processor API")."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.common.config import options
from millrace.common.config.config_options import ConfigOption
from millrace.common.config.configuration import Configuration
from millrace.common.errors import CheckpointError, StateError
from millrace.filesystem.location import qualified
from millrace.runtime.main_classes import main_classes
from millrace.state.checkpoint.directory import METADATA, SHARED
from millrace.state.checkpoint.files import delete_quietly, make_directory, write_file
from millrace.state.checkpoint.layer_file import (
    SUFFIX,
    LayerEntry,
    LayerFileRef,
    LayerLoader,
    write_layer_file,
)
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.serialization.snapshot_codec import codec_of
from millrace.state.serialization.stand_ins import showing_codec
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state_processor.bootstrap_task import BootstrapTask, Target
from millrace.state_processor.layer_rewriting import rewritten
from millrace.state_processor.savepoint_plan import SavepointPlan, empty_manifest
from millrace.state_processor.transformations import StateBootstrapTransformation
from millrace.state_processor.written_part import WrittenPart, read_answer

__all__ = ["SavepointWriter"]


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

    def __init__(
        self, spark: Any, base: SnapshotReader | None, max_parallelism: int, pickle_allowed: bool
    ) -> None:
        self._spark = spark
        self._pickle_allowed = pickle_allowed
        self._base = base
        manifest = base.snapshot.manifest if base else empty_manifest(max_parallelism)
        self._plan = SavepointPlan(manifest)
        self._new: dict[str, StateBootstrapTransformation] = {}
        self._configuration = Configuration()

    @staticmethod
    def new_savepoint(
        spark: Any, max_parallelism: int | None = None, pickle_allowed: bool = True
    ) -> SavepointWriter:
        """A savepoint that begins empty.

        Args:
            max_parallelism: of the jobs that will start from it (default: that of jobs, 128).
            pickle_allowed: False: values that only a pickle can hold are refused, for jobs with
                ``state.pickle.allowed: false``.
        """
        default = Configuration().get(options.MAX_PARALLELISM)
        return SavepointWriter(spark, None, max_parallelism or default, pickle_allowed)

    @staticmethod
    def from_existing_savepoint(
        spark: Any, path: str | os.PathLike[str], pickle_allowed: bool = True
    ) -> SavepointWriter:
        """A savepoint with what is in another one (or in a checkpoint) and is not replaced: its
        layers are copied, the old savepoint stays as it is.

        Args:
            pickle_allowed: False: nothing in the old savepoint can run code here.

        Raises:
            CheckpointError: there is none.
            CheckpointCorruptError: it is damaged.
        """
        reader = SnapshotReader(open_snapshot(path), showing_codec(pickle_allowed))
        maximum = reader.snapshot.manifest.max_parallelism
        return SavepointWriter(spark, reader, maximum, pickle_allowed)

    def with_configuration(self, option: ConfigOption[Any] | str, value: Any) -> SavepointWriter:
        """Set an option: ``parallelism.default`` is the parallelism of operators that set none
        (default: that of Spark), ``state.pickle.allowed`` the same as the argument of that name."""
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
                f"with_operator() takes what transform(), reduce() and the like give, got "
                f"{transformation!r}"
            )
        if uid in self._new:
            raise StateError(f"operator '{uid}' was added already")
        self._plan.require_free(uid)
        self._new[uid] = transformation
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave the state of an operator out.

        Raises:
            StateError: the savepoint has no such operator.
        """
        if self._new.pop(uid, None) is None:
            self._plan.remove(uid)
        return self

    def change_operator_identifier(self, uid: str, new_uid: str) -> SavepointWriter:
        """Give an operator another uid; its state stays what it is.

        Raises:
            StateError: the savepoint has no such operator, or one of the new uid.
        """
        if new_uid in self._new:
            raise StateError(f"operator '{new_uid}' was added already")
        self._plan.rename(uid, new_uid)
        return self

    def write(self, path: str | os.PathLike[str]) -> str:
        """Write the savepoint to a directory, which is made; returns its path.

        Raises:
            CheckpointError: there is something at the path, or the file system refused; nothing is
                left behind.
            UnsupportedFileSystemSchemeError: the path belongs to another file system.
            UserFunctionError: a bootstrap function failed.
        """
        directory = Path(qualified(path))
        if directory.exists() and any(directory.iterdir()):
            raise CheckpointError(f"{directory} is not empty; write the savepoint to a new path")
        try:
            make_directory(directory / SHARED)
            self._write(directory)
        except OSError as error:
            shutil.rmtree(directory, ignore_errors=True)
            raise CheckpointError(f"cannot write the savepoint {directory}: {error}") from error
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return str(directory)

    def _write(self, directory: Path) -> None:
        draft = _Draft(self._plan.manifest(), str(directory))
        if self._base is not None:
            self._copy(self._base, draft)
        for uid, transformation in self._new.items():
            self._bootstrap(draft, uid, transformation)
        draft.complete()

    def _copy(self, base: SnapshotReader, draft: _Draft) -> None:
        """Copy the layers of the operators that stay."""
        changes = {change.old: change for change in self._plan.changes()}
        kept = [key for key in base.subtasks() if key[0] in changes]
        if not kept:
            return
        load = LayerLoader(base.snapshot.directory)
        codec = codec_of(self._pickles())

        def entries() -> Iterator[LayerEntry]:
            for stage, subtask in kept:
                change = changes[stage]
                for layer in base.layers(stage, subtask):
                    if change.rewritten:
                        yield change.new, subtask, rewritten(layer, load, change.uids, codec)
                    else:
                        yield stage, subtask, dataclasses.replace(layer, data=load(layer))

        file = write_layer_file(draft.directory, f"state{SUFFIX}", entries())
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
        target = Target(
            uid, stage, width, draft.manifest.max_parallelism, draft.directory,
            draft.layer_epoch, draft.manifest.timestamp, self._pickles(), main_classes(),
        )  # fmt: skip
        task = BootstrapTask(transformation, tuple(dataframe.columns), target)
        for answer in exchange_rows(dataframe, width, task.route, task.take):
            draft.take(read_answer(answer))

    def _pickles(self) -> bool:
        return self._pickle_allowed and self._configuration.get(options.STATE_PICKLE_ALLOWED)

    def _parallelism(self, transformation: StateBootstrapTransformation) -> int:
        from millrace.spark.state_frames import default_parallelism

        if options.PARALLELISM.key in self._configuration.key_set():
            default = self._configuration.get(options.PARALLELISM)
        else:
            default = default_parallelism(self._spark)
        return transformation.input.parallelism or default


@dataclass
class _Draft:
    """A savepoint in the making."""

    manifest: Manifest
    directory: str

    def __post_init__(self) -> None:
        self.files: list[LayerFileRef] = []
        self.versions: dict[tuple[str, int], str] = {}

    @property
    def layer_epoch(self) -> int:
        """The epoch that new layers are of: the last one before the job goes on."""
        return max(0, self.manifest.epoch - 1)

    def add_stage(self, uid: str, parallelism: int) -> str:
        """A stage for an operator of its own; returns what it is called."""
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
        """Add what a task wrote."""
        if part is not None:
            self.files.append(part.file)
            self.versions.update({(part.stage, i): v for i, v in part.versions.items()})

    def complete(self) -> None:
        """Write the manifest, and delete what tasks left that were run twice."""
        manifest = dataclasses.replace(
            self.manifest, layer_files=tuple(self.files), versions=self.versions
        )
        known = {os.path.basename(ref.path) for ref in self.files}
        shared = Path(self.directory, SHARED)
        for name in os.listdir(shared):
            if name not in known:
                delete_quietly(shared / name)
        directory = Path(self.directory)
        flush = [shared, directory, directory.parent]
        write_file(directory / METADATA, (manifest.encode(),), flush_too=flush)
