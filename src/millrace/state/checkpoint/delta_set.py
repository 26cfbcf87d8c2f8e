"""Set of the delta files that make up the present state, with their live deltas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millrace.common.errors import CheckpointCorruptError
from millrace.filesystem.location import located
from millrace.state.checkpoint.delta_file import (
    DeltaEntry,
    DeltaFile,
    DeltaFileRef,
    SubtaskKey,
    check_shared,
    read_index,
)
from millrace.state.checkpoint.directory import metadata_path
from millrace.state.checkpoint.files import StrPath, length_of
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.state_delta import FileRef, StateDelta

__all__ = ["DeltaSet", "check_segments", "raised", "read_delta_set", "read_deltas_of"]

Tip = tuple[int, str]
_NO_TIP: Tip = (-1, "")


@dataclass(frozen=True, slots=True)
class DeltaSet:
    """Delta files of one consistent cut. The set is immutable, so a failed checkpoint only drops
    its copy.
    """

    files: Mapping[str, DeltaFile] = field(default_factory=dict)
    """Delta files by path."""
    low_epochs: Mapping[SubtaskKey, int] = field(default_factory=dict)
    """First live epoch per subtask: deltas of earlier epochs are dead. All deltas of a subtask
    without an entry are dead."""
    tips: Mapping[SubtaskKey, Tip] = field(default_factory=dict)
    """Epoch and version of the newest delta, per subtask."""

    def with_file(self, file: DeltaFile) -> DeltaSet:
        """This set plus a file of new deltas, minus the files that have no live delta any more."""
        files = {**self.files, file.ref.path: file}
        low_epochs, tips = raised(self.low_epochs, file.entries), _newer(self.tips, file.entries)
        return DeltaSet(files, low_epochs, tips).without_dead_files()

    def with_packed(self, sources: Iterable[str], packed: DeltaFile) -> DeltaSet:
        """This set with ``packed`` in place of the files whose live deltas it holds."""
        gone = set(sources)
        files = {path: file for path, file in self.files.items() if path not in gone}
        files[packed.ref.path] = packed
        return DeltaSet(files, self.low_epochs, self.tips).without_dead_files()

    def for_stages(self, stages: Mapping[str, int]) -> DeltaSet:
        """This set without deltas of subtasks that ``stages`` (uid -> parallelism) do not have."""

        def stays(key: SubtaskKey) -> bool:
            return key[1] < stages.get(key[0], 0)

        if all(map(stays, self.tips)):
            return self
        low_epochs = {key: low_epoch for key, low_epoch in self.low_epochs.items() if stays(key)}
        tips = {key: tip for key, tip in self.tips.items() if stays(key)}
        return DeltaSet(self.files, low_epochs, tips).without_dead_files()

    def without_dead_files(self) -> DeltaSet:
        """This set without files that hold no live delta."""
        # the newest deltas come last in a file, so the search ends soon
        files = {
            path: file
            for path, file in self.files.items()
            if any(map(self.is_live, reversed(file.entries)))
        }
        return DeltaSet(files, self.low_epochs, self.tips)

    def has(self, entry: DeltaEntry) -> bool:
        """Whether the set has the delta, or a later one of its subtask."""
        return entry[2].epoch <= self.tips.get(entry[:2], _NO_TIP)[0]

    def is_live(self, entry: DeltaEntry) -> bool:
        """Whether a restore needs the delta."""
        stage, subtask, delta = entry
        low_epoch = self.low_epochs.get((stage, subtask))
        return low_epoch is not None and delta.epoch >= low_epoch

    def live(self) -> list[DeltaEntry]:
        """All live deltas; the deltas of a subtask are in epoch order."""
        by_subtask = self.by_subtask()
        return [(*key, delta) for key in by_subtask for delta in by_subtask[key]]

    def by_subtask(self) -> dict[SubtaskKey, list[StateDelta]]:
        """Live deltas of every subtask, in epoch order."""
        by_subtask: dict[SubtaskKey, list[StateDelta]] = {}
        for file in self.files.values():
            for entry in filter(self.is_live, file.entries):
                by_subtask.setdefault(entry[:2], []).append(entry[2])
        for deltas in by_subtask.values():
            deltas.sort(key=lambda delta: delta.epoch)
        return by_subtask

    def misfit(self, versions: Mapping[SubtaskKey, str]) -> str | None:
        """Reason why the newest deltas do not lead to ``versions``; None if they do."""
        for key, version in versions.items():
            newest = self.tips.get(key, _NO_TIP)[1]
            if version != newest:
                return (
                    f"subtask {key[1]} of stage {key[0]} is at version {version or '(none)'}, "
                    f"but its newest delta makes {newest or '(none)'}"
                )
        return None


def raised(
    low_epochs: Mapping[SubtaskKey, int], entries: Iterable[DeltaEntry]
) -> dict[SubtaskKey, int]:
    """The low epochs of subtasks, each raised to the low epoch that a newer delta names."""
    result = dict(low_epochs)
    for stage, subtask, delta in entries:
        key = stage, subtask
        result[key] = max(result.get(key, 0), delta.low_epoch)
    return result


def _newer(tips: Mapping[SubtaskKey, Tip], entries: Iterable[DeltaEntry]) -> dict[SubtaskKey, Tip]:
    result = dict(tips)
    for stage, subtask, delta in entries:
        key = stage, subtask
        # of one epoch the last: parts of a former owner come before the delta that follows them
        if delta.epoch >= result.get(key, _NO_TIP)[0]:
            result[key] = delta.epoch, delta.version
    return result


def check_segments(job_dir: StrPath, entries: Iterable[DeltaEntry]) -> None:
    """Raise CheckpointCorruptError unless each file of the given deltas has at least the length
    that the deltas need.

    Their content is checked when it is loaded.
    """
    for _, _, delta in entries:
        if isinstance(delta.data, FileRef):
            path = located(job_dir, delta.data.path)
            length = length_of(path)
            if length < delta.data.offset + delta.data.length:
                raise CheckpointCorruptError(path, f"it ends at byte {length}")


def read_delta_set(job_dir: StrPath, manifest: Manifest) -> DeltaSet:
    """Deltas of a checkpoint, from the indexes of its files.

    Raises:
        CheckpointCorruptError: a file is missing or damaged, or the deltas are not those of the
            versions in the manifest.
    """
    return read_deltas_of(job_dir, manifest, metadata_path(job_dir, manifest.checkpoint))


def read_deltas_of(
    directory: StrPath,
    manifest: Manifest,
    metadata: StrPath,
    known: Mapping[str, DeltaFile] | None = None,
) -> DeltaSet:
    """Deltas that a manifest names. Their files are relative to ``directory``, and ``known`` has
    the files, by path, whose indexes were read before. Errors name the manifest by ``metadata``.
    Raises the same errors as `read_delta_set`."""
    known = known or {}
    files = [known.get(ref.path) or _read_file(directory, ref) for ref in manifest.delta_files]
    entries = [entry for file in files for entry in file.entries]
    all_files = {file.ref.path: file for file in files}
    delta_set = DeltaSet(all_files, raised({}, entries), _newer({}, entries)).without_dead_files()
    deltas = delta_set.for_stages(manifest.stages)
    misfit = deltas.misfit(manifest.versions)
    if misfit is not None:
        raise CheckpointCorruptError(metadata, misfit)
    return deltas


def _read_file(job_dir: StrPath, ref: DeltaFileRef) -> DeltaFile:
    try:
        check_shared(ref.path)
    except ValueError as error:
        raise CheckpointCorruptError(
            job_dir, f"{error}, which is not a file of the checkpoint"
        ) from None
    return DeltaFile(ref, tuple(read_index(job_dir, ref)))
