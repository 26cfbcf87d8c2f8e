"""Errors: one root, readable, and able to travel between processes."""

from __future__ import annotations

import pickle

import pytest

from millrace.common import errors
from millrace.common.errors import (
    CheckpointCorruptError,
    CheckpointError,
    JobExecutionError,
    KeyTypeError,
    LeaseError,
    LeaseLostError,
    MillraceError,
    UserFunctionError,
)

SPECIAL = {
    "UnsupportedFileSystemSchemeError": ("s3://bucket/dir", "s3"),
    "CheckpointCorruptError": ("chk-3/_metadata", "checksum differs"),
    "UserFunctionError": ("Count", "('a', 1)", "Traceback ...\nValueError: bad\n"),
}


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_survives_pickling(name: str) -> None:
    """They cross from workers to the driver."""
    error = getattr(errors, name)(*SPECIAL.get(name, ("what to do",)))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_has_the_root_and_is_drawn(name: str) -> None:
    """``except MillraceError`` catches all, and the docstring's tree shows all."""
    assert issubclass(getattr(errors, name), MillraceError)
    assert name in (errors.__doc__ or "")


@pytest.mark.parametrize(
    ("special", "general"),
    [
        (KeyTypeError, TypeError),
        (CheckpointCorruptError, CheckpointError),
        (LeaseLostError, LeaseError),
        (UserFunctionError, JobExecutionError),
    ],
)
def test_tree(special: type[Exception], general: type[Exception]) -> None:
    """The special ones can be caught as the general ones."""
    assert issubclass(special, general)


def test_corrupt_checkpoint_names_the_file() -> None:
    """A person must know which file to look at."""
    assert (
        str(CheckpointCorruptError("a/_metadata", "cut off")) == "a/_metadata is corrupt: cut off"
    )


def test_user_function_error_shows_operator_record_and_traceback() -> None:
    """What a person needs to find the bug, and nothing of ours."""
    text = str(UserFunctionError("Count", "('a', 1)", "Traceback\nValueError: bad\n"))
    assert text == "operator 'Count' failed for the record ('a', 1)\nTraceback\nValueError: bad"
    assert "record" not in str(UserFunctionError("Count", None, "Traceback"))
