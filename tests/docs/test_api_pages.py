"""The API reference has every public name, and shows docstrings as they are meant."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import connector_pages
import docstrings
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/api").glob("*.md"))
SHOWN = re.compile(r"^::: (millrace[\w.]+)$", re.MULTILINE)
PUBLIC = (
    "millrace.common",
    "millrace.common.source",
    "millrace.common.sink",
    "millrace.datastream",
    "millrace.datastream.async_retry_predicates",
    "millrace.datastream.async_retry_strategies",
    "millrace.datastream.connectors",
    "millrace.datastream.formats.avro",
    "millrace.datastream.formats.csv",
    "millrace.datastream.formats.parquet",
    "millrace.datastream.functions",
    "millrace.datastream.state",
    "millrace.datastream.window",
    "millrace.cep",
    "millrace.connectors",
    "millrace.formats",
    "millrace.formats.changes",
    "millrace.formats.protobuf",
    "millrace.formats.registry",
    "millrace.graph",
    "millrace.graph.bipartite",
    "millrace.graph.generators",
    "millrace.graph.library",
    "millrace.graph.gsa",
    "millrace.graph.iterations",
    "millrace.graph.pregel",
    "millrace.graph.spargel",
    "millrace.metrics",
    "millrace.rest",
    "millrace.state_processor",
    "millrace.table",
    "millrace.table.catalog",
    "millrace.table.expressions",
    "millrace.table.udf",
    "millrace.table.window",
    "millrace.testing",
)


def shown() -> Iterator[object]:
    """Every object that a page of the reference shows."""
    for page in PAGES:
        for path in SHOWN.findall(connector_pages.expanded(page.read_text(encoding="utf-8"))):
            package, _, name = path.rpartition(".")
            thing = getattr(importlib.import_module(package), name, None)
            if thing is None or isinstance(thing, ModuleType):
                module = importlib.import_module(path)
                yield from (getattr(module, each) for each in module.__all__)
            else:
                yield thing


def test_every_public_name_is_in_the_reference() -> None:
    """A new public name needs a line ``::: millrace.<module>.<name>`` on a page of docs/api."""
    known = set(map(id, shown()))
    public = {
        f"{module}.{name}": getattr(importlib.import_module(module), name)
        for module in PUBLIC
        for name in importlib.import_module(module).__all__
    }
    assert [path for path, thing in public.items() if id(thing) not in known] == []


def test_every_page_is_in_the_navigation_and_the_index() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    index = (ROOT / "docs/api/index.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert f"api/{page.name}" in navigation
        assert page.stem == "index" or f"({page.name})" in index


def link(path: str, text: str) -> str:
    return f'<autoref optional identifier="{path}"><code>{text}</code></autoref>'


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("Sum:\n\n>>> 1 + 1\n2\n\nEnd.", "Sum:\n\n```pycon\n>>> 1 + 1\n2\n```\n\nEnd."),
        ("Example:\n    >>> 1\n    1", "**Example:**\n\n```pycon\n>>> 1\n1\n```"),
        (
            "Example: of it::\n\n    a = 1\n\n    b = 2\n\nRaises:\n    E: no.",
            "**Example: of it:**\n\n```python\na = 1\n\nb = 2\n```\n\nRaises:\n    E: no.",
        ),
        ("The tree::\n\n    a\n      b\n", "The tree:\n\n```text\na\n  b\n```"),
        ("`Row`, ``Row``, `row`, `Col`.", link("common.Row", "Row") + ", ``Row``, `row`, `Col`."),
        ("`Row.get` of it", link("common.Row.get", "Row.get") + " of it"),
        (">>> `Row`\n1", "```pycon\n>>> `Row`\n1\n```"),
        (
            "Args:\n    a, b: two\n        lines.\n    c: one.\n\nNot d, e: this.",
            "Args:\n    a: two\n        lines.\n    b: two\n        lines.\n    c: one.\n\n"
            "Not d, e: this.",
        ),
    ],
)
def test_docstrings_become_markdown(docstring: str, markdown: str) -> None:
    rendered = docstrings.rendered(docstring, {"Row": "common.Row"})
    assert re.sub(r"\n{3,}", "\n\n", rendered) == markdown


def test_names_lead_to_where_a_class_is_defined(tmp_path: Path) -> None:
    import griffe

    package = tmp_path / "things" / "inner"
    package.mkdir(parents=True)
    (tmp_path / "things/__init__.py").write_text("")
    (package / "__init__.py").write_text('from things.inner.row import Row\n__all__ = ["Row"]\n')
    (package / "row.py").write_text('class Row:\n    """Not a `Col`, but a `Row`."""\n')
    extensions = griffe.load_extensions(docstrings.Docstrings)
    things = griffe.load("things", search_paths=[tmp_path], extensions=extensions)
    docstring = things["inner.row.Row"].docstring
    assert docstring.value == f"Not a `Col`, but a {link('things.inner.row.Row', 'Row')}."
