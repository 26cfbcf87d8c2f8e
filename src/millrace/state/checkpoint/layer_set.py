"""Which layer files make up the state as of now, and which of their layers are alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.state.checkpoint.directory import metadata_path
from millrace.state.checkpoint.files import StrPath
from millrace.state.checkpoint.layer_file import (
    LayerEntry,
    LayerFile,
    LayerFileRef,
    SubtaskKey,
    read_index,
)
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.layer import Layer

__all__ = ["LayerSet", "read_layer_set"]

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
        files = {
            path: file for path, file in self.files.items() if any(map(self.is_live, file.entries))
        }
        return LayerSet(files, self.floors, self.tips)

    def is_live(self, entry: LayerEntry) -> bool:
        """Whether a restore needs the layer."""
        stage, subtask, layer = entry
        floor = self.floors.get((stage, subtask))
        return floor is not None and layer.epoch >= floor

    def by_subtask(self) -> dict[SubtaskKey, list[Layer]]:
        """The live layers of every subtask in epoch order."""
        found: dict[SubtaskKey, list[Layer]] = {}
        for file in self.files.values():
            for entry in filter(self.is_live, file.entries):
                found.setdefault(entry[:2], []).append(entry[2])
        for layers in found.values():
            layers.sort(key=lambda layer: layer.epoch)
        return found

    def check_versions(self, versions: Mapping[SubtaskKey, str], what: str) -> None:
        """Raises CheckpointError unless the newest layers are the ones that make ``versions``."""
        for key, version in versions.items():
            newest = self.tips.get(key, _NO_TIP)[1]
            if version != newest:
                raise CheckpointError(
                    f"{what} has subtask {key[1]} of stage {key[0]} at version "
                    f"{version or '(none)'}, but its newest layer makes {newest or '(none)'}"
                )


def raised(
    floors: Mapping[SubtaskKey, int], entries: Iterable[LayerEntry]
) -> dict[SubtaskKey, int]:
    """The floors after some more layers."""
    result = dict(floors)
    for stage, subtask, layer in entries:
        key = stage, subtask
        result[key] = max(result.get(key, 0), layer.floor)
    return result


def read_layer_set(job_dir: StrPath, manifest: Manifest) -> LayerSet:
    """The layers of a checkpoint, from the indexes of its files.

    Raises:
        CheckpointCorruptError: a file is missing or damaged.
        CheckpointError: the files do not add up to the versions in the manifest.
    """
    files = [_read_file(job_dir, ref) for ref in manifest.layer_files]
    layers = _assemble(files).for_stages(manifest.stages)
    path = metadata_path(job_dir, manifest.checkpoint)
    try:
        layers.check_versions(manifest.versions, "it")
    except CheckpointCorruptError:
        raise
    except CheckpointError as error:
        raise CheckpointCorruptError(path, str(error)) from error
    return layers


def _read_file(job_dir: StrPath, ref: LayerFileRef) -> LayerFile:
    return LayerFile(ref, tuple(read_index(job_dir, ref)))


def _assemble(files: Iterable[LayerFile]) -> LayerSet:
    layers = LayerSet()
    for file in files:
        layers = layers.with_file(file)
    return layers
