"""How a file source cuts files into splits."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.connectors import FileEnumeratorProvider, FileSource, FileSplitAssignerProvider
from millrace.formats import StreamFormat

WHOLE = FileEnumeratorProvider.default_non_splittable_file_enumerator()
PIECES = FileEnumeratorProvider.default_splittable_file_enumerator()


def splits(path: Path, *enumerators: FileEnumeratorProvider) -> int:
    """How many splits a file of 100 lines has, which are at most 50 bytes."""
    path.write_text("line\n" * 100)
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path)
    for enumerator in enumerators:
        builder.set_file_enumerator(enumerator)
    source = builder.set_split_size(50).build()
    return len(source.create_enumerator().discover(0))


def test_files_are_read_whole_or_in_pieces(tmp_path: Path) -> None:
    """In pieces unless something else was said last."""
    assert splits(tmp_path / "a") == splits(tmp_path / "a", WHOLE, PIECES) == 10
    assert splits(tmp_path / "a", WHOLE) == splits(tmp_path / "a", PIECES, WHOLE) == 1


def test_the_assigner_is_the_one_there_is(tmp_path: Path) -> None:
    """Others are refused."""
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), tmp_path)
    assigner = FileSplitAssignerProvider.locality_aware_split_assigner()
    assert builder.set_split_assigner(assigner) is builder
    with pytest.raises(JobDefinitionError, match="locality_aware_split_assigner"):
        builder.set_split_assigner("near")  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="default_non_splittable_file_enumerator"):
        builder.set_file_enumerator(False)  # type: ignore[arg-type]
