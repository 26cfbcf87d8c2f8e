from __future__ import annotations

import errno

import pytest

from millrace.filesystem.hdfs.name_service import refusals

REMOTE = 'RPCError("org.apache.hadoop.{}", "{}\\n\\tat org.apache.hadoop.Some.java:1)")'


def refused(error: Exception) -> OSError:
    with pytest.raises(OSError) as told, refusals("hdfs://nn/x"):  # noqa: PT011  that is looked at
        raise error
    assert told.value.filename == "hdfs://nn/x"
    assert "\tat " not in str(told.value)
    assert "\\tat " not in str(told.value)
    return told.value


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (FileNotFoundError, errno.ENOENT),
        (FileExistsError, errno.EEXIST),
        (PermissionError, errno.EACCES),
        (OSError, errno.EIO),
    ],
)
def test_the_kind_stays_and_the_stack_trace_goes(kind: type[OSError], number: int) -> None:
    told = refused(kind("it is so\n\tat org.apache.hadoop.Some.java:1)"))
    assert isinstance(told, kind)
    assert (told.errno, told.strerror) == (number, "it is so")


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("security.AccessControlException", errno.EACCES),
        ("fs.PathIsNotEmptyDirectoryException", errno.ENOTEMPTY),
        ("hdfs.protocol.DSQuotaExceededException", errno.EDQUOT),
        ("hdfs.server.namenode.SafeModeException", errno.EIO),
    ],
)
def test_exceptions_of_the_namenode(name: str, number: int) -> None:
    told = refused(RuntimeError(REMOTE.format(name, "a sentence")))
    assert (told.errno, told.strerror) == (number, f"{name.rpartition('.')[2]}: a sentence")


def test_errors_of_our_own_pass() -> None:
    error = FileExistsError(errno.EEXIST, "ours", "hdfs://nn/other")
    with pytest.raises(FileExistsError) as told, refusals("hdfs://nn/x"):
        raise error
    assert told.value is error
