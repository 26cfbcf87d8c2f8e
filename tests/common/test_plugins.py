from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.errors import ConfigurationError
from millrace.common.plugins import Plugins

GROUP = "millrace.tests"
MODULE = """
class Two(dict):
    def __init__(self):
        super().__init__(two=2)

class Broken:
    def __init__(self):
        raise OSError("no disk")
"""


def install(path: Path, name: str, points: str, module: str = MODULE) -> None:
    """A package as pip leaves it."""
    (path / f"{name}_points.py").write_text(module)
    info = path / f"{name}-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{points}\n")


def plugins(**own: dict[str, int]) -> Plugins[dict[str, int]]:
    return Plugins(GROUP, dict, "number", own, ConfigurationError)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    points = ["two = some_points:Two", "zero = some_points:Broken", "path = pathlib:Path"]
    install(tmp_path, "some", "\n".join([*points, "gone = no_such_module:X"]))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_names_of_installed_packages_are_there_beside_own_ones(installed: Path) -> None:
    known = plugins(one={})
    assert sorted(known) == ["gone", "one", "path", "two", "zero"]
    assert len(known) == 5
    assert "two" in known
    assert "three" not in known
    assert known["two"] == {"two": 2}
    assert known["two"] is known["two"]
    assert known.own() == {"one": {}}
    assert known.get("three") is None
    with pytest.raises(KeyError):
        known[""]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zero", r"'zero' of some 1.5 \(some_points:Broken\) cannot be loaded: OSError: no disk"),
        ("gone", r"'gone' of some 1.5 .*ModuleNotFoundError: No module named 'no_such_module'"),
        (
            "path",
            r"the number 'path' of some 1.5 \(pathlib:Path\) is not a dict: .* millrace.tests",
        ),
    ],
)
def test_the_package_of_a_broken_one_is_named(installed: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        plugins()[name]


def test_two_packages_with_one_name(installed: Path) -> None:
    install(installed, "other", "two = other_points:Two")
    with pytest.raises(ConfigurationError, match="'two' is registered by other 1.5 and some 1.5"):
        plugins()["two"]


def test_own_names_are_not_taken_over(installed: Path) -> None:
    known = plugins(two={})
    assert known["two"] == {}
    known.register("zero", {"zero": 0})
    assert known["zero"] == {"zero": 0}
