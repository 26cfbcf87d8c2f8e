"""What a release is checked for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from release_parts import (
    EXTRA_MODULES,
    PageProgram,
    archive_faults,
    modules_of_extra,
    page_programs,
    release_notes,
)

import millrace

ROOT = Path(__file__).parents[2]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_extra_is_tried() -> None:
    """A connector needs no entry: its own module is imported."""
    for extra in set(PROJECT["project"]["optional-dependencies"]) - {"dev"}:
        for module in modules_of_extra(extra):
            if module.startswith("millrace."):
                path = ROOT / "src" / module.replace(".", "/")
                assert path.is_dir() or path.with_suffix(".py").is_file(), (extra, module)


def test_an_entry_is_of_an_extra() -> None:
    assert set(EXTRA_MODULES) <= set(PROJECT["project"]["optional-dependencies"])


def test_the_version_stands_in_one_place() -> None:
    assert PROJECT["tool"]["hatch"]["version"] == {"path": "src/millrace/__init__.py"}
    assert "version" in PROJECT["project"]["dynamic"]
    quoted = f'"{millrace.__version__}"'
    found = [
        path.relative_to(ROOT)
        for folder in ("src", "scripts", "docs", "examples")
        for path in (ROOT / folder).rglob("*.py")
        if quoted in path.read_text(encoding="utf-8")
    ]
    assert found == [Path("src/millrace/__init__.py")]


def test_the_changelog_has_notes_for_the_version() -> None:
    notes = release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), millrace.__version__)
    assert "### Added" in notes


def test_notes_are_the_section_of_the_version() -> None:
    changelog = "# Changes\n\n## [0.2.0] - unreleased\n\nNew.\n\n## [0.1.0] - 2026-12-01\n\nOld.\n"
    assert release_notes(changelog, "0.2.0") == "New.\n"
    assert release_notes(changelog, "0.1.0") == "Old.\n"
    with pytest.raises(ValueError, match=r"no section \[0.3.0\] \(it has: 0.2.0, 0.1.0\)"):
        release_notes(changelog, "0.3.0")


@pytest.mark.parametrize(
    ("archive", "file", "fault"),
    [
        ("m.whl", "tests/test_it.py", "does not belong there"),
        ("m.whl", "millrace/__pycache__/a.pyc", "is a test or a cache"),
        ("m.tar.gz", "millrace-1/conformance/run.py", "does not belong there"),
        ("m.tar.gz", "millrace-1/src/millrace/tests/test_it.py", "is a test or a cache"),
        ("m.tar.gz", "millrace-1/web/node_modules/x.js", "is a test or a cache"),
    ],
)
def test_what_does_not_belong_into_an_archive(archive: str, file: str, fault: str) -> None:
    [found] = archive_faults(archive, {file: b""}, [])
    assert fault in found


def test_names_of_the_machine_are_found() -> None:
    files = {"millrace/a.py": b"PLACE = '/srv/checkout/src'"}
    assert archive_faults("m.whl", files, ["/srv/checkout"]) == [
        "m.whl: millrace/a.py has the text '/srv/checkout'"
    ]
    assert archive_faults("m.whl", files, ["/elsewhere"]) == []


def test_programs_of_a_page() -> None:
    page = """\
```python
print(1)
```

```console
$ .venv/bin/millrace run one.py
1
$ ls
```

```python
print(2)
```

prints

```text
2
```

```python
shown_only()
```
"""
    assert list(page_programs(page)) == [
        PageProgram("one.py", "print(1)\n", "\n1"),
        PageProgram("program.py", "print(2)\n", "2\n"),
    ]


@pytest.mark.parametrize("page", ["getting-started.md", "sql/index.md", "index.md"])
def test_the_pages_of_a_release_have_programs(page: str) -> None:
    assert list(page_programs((ROOT / "docs" / page).read_text(encoding="utf-8")))
