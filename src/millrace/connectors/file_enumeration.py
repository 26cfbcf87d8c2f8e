"""Splitting of files in a file source, and assignment of the splits (Flink docs, "FileSystem")."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FileEnumeratorProvider", "FileSplitAssignerProvider"]

WHOLE = 1 << 62
"""Size of splits with which each file is one split."""


@dataclass(frozen=True, slots=True)
class FileEnumeratorProvider:
    """Choice between reading large files in pieces or whole. Files whose names begin with ``.`` or
    ``_`` are always ignored. See `FileSourceBuilder.set_file_enumerator`.

    Example:
        >>> FileEnumeratorProvider.default_non_splittable_file_enumerator().splits_files
        False
    """

    splits_files: bool = True

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Cut files that can be read from the middle into pieces (the default)."""
        return FileEnumeratorProvider(splits_files=True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Let one subtask read each file from its beginning to its end."""
        return FileEnumeratorProvider(splits_files=False)


@dataclass(frozen=True, slots=True)
class FileSplitAssignerProvider:
    """Choice of the subtask that gets a split. See `FileSourceBuilder.set_split_assigner`."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """The default, and the only assigner. The file systems here report no locations, so no
        split is closer to one subtask than to another, and splits are spread evenly."""
        return FileSplitAssignerProvider()
