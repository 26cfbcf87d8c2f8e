"""What every file system does: the same tests for a disk and for an object store."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from millrace.filesystem.file_system import FileStatus, FileSystem


def names(found: list[FileStatus], root: str) -> list[str]:
    return sorted(status.location.removeprefix(root) for status in found)


class TestFileSystem:
    def test_a_published_file_is_there_with_parents_nobody_made(
        self, files: FileSystem, root: str
    ) -> None:
        assert files.publish(f"{root}/a/b/c", [b"one ", b"two"]) == 7
        assert files.read(f"{root}/a/b/c") == b"one two"
        status = files.status(f"{root}/a/b/c")
        assert status is not None
        assert (status.location, status.length) == (f"{root}/a/b/c", 7)
        assert status.modified > 1e9

    def test_an_empty_file_is_a_file(self, files: FileSystem, root: str) -> None:
        files.publish(f"{root}/empty", [])
        assert files.read(f"{root}/empty") == b""
        assert files.status(f"{root}/empty") is not None

    def test_publishing_replaces(self, files: FileSystem, root: str) -> None:
        files.publish(f"{root}/a", [b"long content"])
        files.publish(f"{root}/a", [b"new"])
        assert files.read(f"{root}/a") == b"new"

    def test_nobody_sees_a_file_before_it_is_complete(self, files: FileSystem, root: str) -> None:
        files.publish(f"{root}/a", [b"old"])
        pending = files.begin(f"{root}/a")
        pending.write(b"half")
        assert files.read(f"{root}/a") == b"old"
        assert names(list(files.list(root)), root) == ["/a"]
        pending.complete()
        assert files.read(f"{root}/a") == b"half"

    def test_what_is_discarded_leaves_nothing(self, files: FileSystem, root: str) -> None:
        pending = files.begin(f"{root}/d/a")
        pending.write(b"half")
        pending.discard()
        pending.discard()
        assert files.status(f"{root}/d/a") is None
        assert list(files.list(root, recursive=True)) == []

    def test_an_error_while_writing_publishes_nothing(self, files: FileSystem, root: str) -> None:
        def broken():
            yield b"half"
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            files.publish(f"{root}/a", broken())
        pending = files.begin(f"{root}/b")
        pending.__exit__(ValueError, ValueError("broken"), None)
        assert list(files.list(root)) == []

    def test_a_block_that_ends_well_completes(self, files: FileSystem, root: str) -> None:
        with files.begin(f"{root}/b") as pending:
            pending.write(memoryview(b"whole"))
        assert files.read(f"{root}/b") == b"whole"

    def test_discarding_a_complete_file_leaves_it(self, files: FileSystem, root: str) -> None:
        pending = files.begin(f"{root}/a")
        pending.complete()
        pending.discard()
        assert files.status(f"{root}/a") is not None

    def test_one_of_many_creates(self, files: FileSystem, root: str) -> None:
        barrier = threading.Barrier(8)

        def create(number: int) -> bool:
            barrier.wait()
            return files.write_if(f"{root}/lease/1", b"%d" % number, None) is not None

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(create, range(8)))
        assert won.count(True) == 1
        assert files.read(f"{root}/lease/1") == b"%d" % won.index(True)
        assert names(list(files.list(f"{root}/lease")), root) == ["/lease/1"]

    def test_a_published_file_cannot_be_created_again(self, files: FileSystem, root: str) -> None:
        files.publish(f"{root}/a", [b"first"])
        assert files.write_if(f"{root}/a", b"second", None) is None
        with pytest.raises(FileExistsError):
            files.publish(f"{root}/a", [b"second"], exclusive=True)
        assert files.read(f"{root}/a") == b"first"

    def test_only_what_was_read_is_replaced(self, files: FileSystem, root: str) -> None:
        assert files.read_version(f"{root}/a") is None
        first = files.write_if(f"{root}/a", b"first", None)
        assert files.read_version(f"{root}/a") == (b"first", first)
        second = files.write_if(f"{root}/a", b"other", first)
        assert second not in (None, first)
        assert files.write_if(f"{root}/a", b"late", first) is None
        assert files.read_version(f"{root}/a") == (b"other", second)
        files.delete(f"{root}/a")
        assert files.write_if(f"{root}/a", b"late", second) is None

    def test_one_of_many_replaces(self, files: FileSystem, root: str) -> None:
        """Counting up together loses no count."""
        files.write_if(f"{root}/count", b"0", None)

        def count_up(_: int) -> None:
            while True:
                found = files.read_version(f"{root}/count")
                assert found is not None
                if files.write_if(f"{root}/count", b"%d" % (int(found[0]) + 1), found[1]):
                    return

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(count_up, range(40)))
        assert files.read(f"{root}/count") == b"40"

    def test_another_process_commits(self, files: FileSystem, root: str) -> None:
        pending = files.begin(f"{root}/d/a")
        pending.write(b"part")
        upload = pickle.loads(pickle.dumps(pending.persist()))
        pending.discard()
        assert (upload.location, upload.length) == (f"{root}/d/a", 4)
        assert list(files.list(root, recursive=True)) == []
        assert [(u.location, u.token) for u in files.uploads(root)] == [
            (upload.location, upload.token)
        ]
        for _ in range(2):
            files.commit([upload])
            assert files.read(f"{root}/d/a") == b"part"
            assert list(files.uploads(root)) == []

    def test_two_that_commit_at_once(self, files: FileSystem, root: str) -> None:
        """Both find it committed, whoever has done it."""
        for number in range(30):
            pending = files.begin(f"{root}/{number}", durable=False)
            pending.write(b"part")
            upload, barrier = pending.persist(), threading.Barrier(2)

            def commit(_: int, upload=upload, barrier=barrier) -> None:
                barrier.wait()
                files.commit([upload])

            with ThreadPoolExecutor(2) as pool:
                list(pool.map(commit, range(2)))
            assert files.read(f"{root}/{number}") == b"part"

    def test_what_nobody_commits_is_aborted(self, files: FileSystem, root: str) -> None:
        upload = files.begin(f"{root}/a").persist()
        files.abort(upload.token)
        assert list(files.uploads(root)) == []
        with pytest.raises(FileNotFoundError):
            files.commit([upload])

    def test_a_commit_replaces_nothing(self, files: FileSystem, root: str) -> None:
        upload = files.begin(f"{root}/a").persist()
        files.publish(f"{root}/a", [b"other"])
        with pytest.raises(FileExistsError):
            files.commit([upload])
        assert files.read(f"{root}/a") == b"other"

    def test_a_file_becomes_another(self, files: FileSystem, root: str) -> None:
        files.publish(f"{root}/.chunk", [b"content"])
        upload = files.adopt(f"{root}/.chunk", f"{root}/a")
        assert files.status(f"{root}/a") is None
        files.commit([upload])
        files.delete(f"{root}/.chunk")
        assert files.read(f"{root}/a") == b"content"

    def test_many_are_deleted_at_once(self, files: FileSystem, root: str) -> None:
        for name in "abc":
            files.publish(f"{root}/{name}", [b"x"])
        files.delete_all([f"{root}/{name}" for name in "acz"])
        assert names(list(files.list(root)), root) == ["/b"]

    def test_a_part_of_a_file_is_read(self, files: FileSystem, root: str) -> None:
        files.publish(f"{root}/a", [b"0123456789"])
        assert files.read(f"{root}/a", 3, 4) == b"3456"
        assert files.read(f"{root}/a", 8) == b"89"
        assert files.read(f"{root}/a", 8, 100) == b"89"
        with files.open(f"{root}/a") as file:
            file.seek(-2, 2)
            assert file.read() == b"89"

    def test_what_is_not_there(self, files: FileSystem, root: str) -> None:
        assert files.status(f"{root}/none") is None
        assert list(files.list(f"{root}/none", recursive=True)) == []
        assert list(files.directories(f"{root}/none")) == []
        assert not files.is_directory(f"{root}/none")
        assert not files.delete(f"{root}/none")
        files.delete_directory(f"{root}/none")
        with pytest.raises(FileNotFoundError):
            files.open(f"{root}/none")
        with pytest.raises(FileNotFoundError):
            files.read(f"{root}/none")

    def test_lists_of_one_level_and_of_all(self, files: FileSystem, root: str) -> None:
        for path in ("a", "d/b", "d/e/c", "dd"):
            files.publish(f"{root}/{path}", [path.encode()])
        assert names(list(files.list(root)), root) == ["/a", "/dd"]
        assert names(list(files.list(f"{root}/d")), root) == ["/d/b"]
        everything = names(list(files.list(root, recursive=True)), root)
        assert everything == ["/a", "/d/b", "/d/e/c", "/dd"]
        assert list(files.directories(root)) == ["d"]
        assert files.is_directory(f"{root}/d")
        assert not files.is_directory(f"{root}/a")
        assert files.status(f"{root}/d") is None, "that is no file"

    def test_delete(self, files: FileSystem, root: str) -> None:
        files.publish(f"{root}/a", [b""])
        assert files.delete(f"{root}/a")
        assert files.status(f"{root}/a") is None
        for path in ("d/b", "d/e/c", "dd"):
            files.publish(f"{root}/{path}", [b""])
        files.delete_directory(f"{root}/d")
        assert names(list(files.list(root, recursive=True)), root) == ["/dd"]

    def test_made_directories_do_not_show_as_files(self, files: FileSystem, root: str) -> None:
        files.make_directory(f"{root}/d/e")
        files.make_directory(f"{root}/d/e")
        assert list(files.list(root, recursive=True)) == []
        files.publish(f"{root}/d/e/a", [b""], durable=False)
        assert names(list(files.list(root, recursive=True)), root) == ["/d/e/a"]
