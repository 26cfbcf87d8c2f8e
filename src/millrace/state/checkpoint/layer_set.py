"""Which layer files make up the state as of now, and which of their layers are alive."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millrace.common.errors import CheckpointCorruptError
from millrace.state.checkpoint.directory import metadata_path
from millrace.state.checkpoint.files import StrPath, reading
from millrace.state.checkpoint.layer_file import (
    LayerEntry,
    LayerFile,
    LayerFileRef,
    SubtaskKey,
    check_shared,
    read_index,
)
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.layer import FileRef, Layer

__all__ = ["LayerSet", "check_segments", "raised", "read_layer_set", "read_layers_of"]

_NO_TIP = (-1, "")


@dataclass(frozen=True, slots=True)
class LayerSet:
    """The layer files of one consistent cut. Immutable: a failed checkpoint just drops its copy."""

    files: Mapping[str, LayerFile] = field(default_factory=dict)
    """By path."""
    floors: Mapping[SubtaskKey, int] = field(default_factory=dict)
    """Per subtask: layers of epochs before this one are dead. Without an entry all are."""
    tips: Mapping[SubtaskKey, tuple[int, str]] = field(default_factory=dict)
    """Per subtask: epoch and version of the newest layer."""

    def with_file(self, file: LayerFile) -> LayerSet:
        """With one more file of new layers; files that are dead by that are left out."""
        floors, tips = raised(self.floors, file.entries), dict(self.tips)
        for stage, subtask, layer in file.entries:
            key = stage, subtask
            tips[key] = max(tips.get(key, _NO_TIP), (layer.epoch, layer.version))
        grown = LayerSet({**self.files, file.ref.path: file}, floors, tips)
        return grown.without_dead_files()

    def with_packed(self, sources: Iterable[str], packed: LayerFile) -> LayerSet:
        """With ``packed`` in the place of the files whose live layers it holds."""
        gone = set(sources)
        files = {path: file for path, file in self.files.items() if path not in gone}
        files[packed.ref.path] = packed
        return LayerSet(files, self.floors, self.tips).without_dead_files()

    def for_stages(self, stages: Mapping[str, int]) -> LayerSet:
        """Without what belongs to subtasks that these stages (uid -> parallelism) do not have."""

        def stays(key: SubtaskKey) -> bool:
            return key[1] < stages.get(key[0], 0)

        if all(map(stays, self.tips)):
            return self
        floors = {key: floor for key, floor in self.floors.items() if stays(key)}
        tips = {key: tip for key, tip in self.tips.items() if stays(key)}
        return LayerSet(self.files, floors, tips).without_dead_files()

    def without_dead_files(self) -> LayerSet:
        """Without the files that hold no live layer."""
        # the newest layers come last in a file, so the search ends soon
        files = {
            path: file
            for path, file in self.files.items()
            if any(map(self.is_live, reversed(file.entries)))
        }
        return LayerSet(files, self.floors, self.tips)

    def has(self, entry: LayerEntry) -> bool:
        """Whether the layer, or a later one of its subtask, is in already."""
        return entry[2].epoch <= self.tips.get(entry[:2], _NO_TIP)[0]

    def is_live(self, entry: LayerEntry) -> bool:
        """Whether a restore needs the layer."""
        stage, subtask, layer = entry
        floor = self.floors.get((stage, subtask))
        return floor is not None and layer.epoch >= floor

    def live(self) -> list[LayerEntry]:
        """All live layers, those of a subtask in epoch order."""
        found = self.by_subtask()
        return [(*key, layer) for key in found for layer in found[key]]

    def by_subtask(self) -> dict[SubtaskKey, list[Layer]]:
        """The live layers of every subtask in epoch order."""
        found: dict[SubtaskKey, list[Layer]] = {}
        for file in self.files.values():
            for entry in filter(self.is_live, file.entries):
                found.setdefault(entry[:2], []).append(entry[2])
        for layers in found.values():
            layers.sort(key=lambda layer: layer.epoch)
        return found

    def misfit(self, versions: Mapping[SubtaskKey, str]) -> str | None:
        """What is wrong when the newest layers are not the ones that make ``versions``."""
        for key, version in versions.items():
            newest = self.tips.get(key, _NO_TIP)[1]
            if version != newest:
                return (
                    f"subtask {key[1]} of stage {key[0]} is at version {version or '(none)'}, "
                    f"but its newest layer makes {newest or '(none)'}"
                )
        return None


def raised(
    floors: Mapping[SubtaskKey, int], entries: Iterable[LayerEntry]
) -> dict[SubtaskKey, int]:
    """The floors after some more layers."""
    result = dict(floors)
    for stage, subtask, layer in entries:
        key = stage, subtask
        result[key] = max(result.get(key, 0), layer.floor)
    return result


def check_segments(job_dir: StrPath, entries: Iterable[LayerEntry]) -> None:
    """Raises CheckpointCorruptError unless the files of these layers are as long as they must be.

    Their content is checked when it is loaded.
    """
    for _, _, layer in entries:
        if isinstance(layer.data, FileRef):
            path = os.path.join(job_dir, layer.data.path)
            with reading(path):
                length = os.stat(path).st_size
            if length < layer.data.offset + layer.data.length:
                raise CheckpointCorruptError(path, f"it ends at byte {length}")


def read_layer_set(job_dir: StrPath, manifest: Manifest) -> LayerSet:
    """The layers of a checkpoint, from the indexes of its files.

    Raises:
        CheckpointCorruptError: a file is missing or damaged, or the layers are not those of the
            versions in the manifest.
    """
    return read_layers_of(job_dir, manifest, metadata_path(job_dir, manifest.checkpoint))


def read_layers_of(
    directory: StrPath,
    manifest: Manifest,
    metadata: StrPath,
    known: Mapping[str, LayerFile] | None = None,
) -> LayerSet:
    """The layers that a manifest names, whose files are relative to ``directory``; ``metadata`` is
    what errors call the manifest, ``known`` are files by path whose indexes have been read before.
    Raises as `read_layer_set` does."""
    known = known or {}
    files = [known.get(ref.path) or _read_file(directory, ref) for ref in manifest.layer_files]
    layers = _assemble(files).for_stages(manifest.stages)
    misfit = layers.misfit(manifest.versions)
    if misfit is not None:
        raise CheckpointCorruptError(metadata, misfit)
    return layers


def _read_file(job_dir: StrPath, ref: LayerFileRef) -> LayerFile:
    try:
        check_shared(ref.path)
    except ValueError as error:
        raise CheckpointCorruptError(job_dir, f"{error}, which is no file of it") from None
    return LayerFile(ref, tuple(read_index(job_dir, ref)))


def _assemble(files: Iterable[LayerFile]) -> LayerSet:
    by_path: dict[str, LayerFile] = {}
    floors: dict[SubtaskKey, int] = {}
    tips: dict[SubtaskKey, tuple[int, str]] = {}
    for file in files:
        by_path[file.ref.path] = file
        for stage, subtask, layer in file.entries:
            key = stage, subtask
            floors[key] = max(floors.get(key, 0), layer.floor)
            tips[key] = max(tips.get(key, _NO_TIP), (layer.epoch, layer.version))
    return LayerSet(by_path, floors, tips).without_dead_files()
