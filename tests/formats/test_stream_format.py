"""A format of a user's own, and how lines are cut into pieces."""

from pathlib import Path

from millrace.formats import FileRange, LineFormat, TextLineFormat


class Shouted(LineFormat[str]):
    """Lines in capitals."""

    def decode(self, lines: list[bytes]) -> list[str]:
        return [line.decode().strip().upper() for line in lines]


def test_a_format_of_a_users_own(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("to be\nor not\n")
    reader = Shouted().open(str(path), FileRange(0, 100), None)
    assert reader.read(1).values == ["TO BE"]
    assert reader.position() == 6
    assert reader.read(10).values == ["OR NOT"]
    assert reader.finished()
    reader.close()


def test_every_line_belongs_to_the_piece_it_begins_in(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("aaaa\nbb\n\ncc")
    pieces = [FileRange(i, i + 1) for i in range(11)]
    lines = []
    for piece in pieces:
        reader = TextLineFormat().open(str(path), piece, None)
        lines.append(reader.read(10).values)
        reader.close()
    assert lines == [["aaaa"], [], [], [], [], ["bb"], [], [], [""], ["cc"], []]


def test_pieces_are_of_about_the_wanted_size() -> None:
    ranges = TextLineFormat().ranges("x", 1000, 300)
    assert [r.start for r in ranges] == [0, 333, 666]
    assert len(TextLineFormat().ranges("x.gz", 1000, 300)) == 1
    assert len(TextLineFormat().ranges("x", 0, 300)) == 1
