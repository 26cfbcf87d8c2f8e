"""Lists the pages of connectors in other pages of the documentation: a hook of MkDocs.

The page of a connector begins with what it reads and writes, and with its guarantee::

    ---
    reads: bounded or not
    writes: topics
    guarantee: exactly once
    group: Logs and queues
    ---

    # Kafka

The group is a section of the navigation; a page without one stands beside the sections. From these
pages, the hook makes the lines of the navigation, and replaces a line
``<!-- connectors: LIST -->`` of another page: by rows of the table of connectors (``overview``), by
rows of the table of extras (``extras``), or by sections of the API reference (``reference``).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs.utils.meta import get_data

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "connectors"
CODE = ROOT / "src" / "millrace" / "connectors"
MARKER = re.compile(r"^<!-- connectors: (\w+) -->\n", re.MULTILINE)
REQUIREMENT = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class ConnectorPage:
    """What the page of a connector says about it.

    Args:
        name: name of the page, which is also the name of the package and of the extra.
    """

    name: str
    title: str
    reads: str
    writes: str
    guarantee: str
    group: str = ""

    @property
    def directions(self) -> str:
        """The connector as a source, a sink, or both."""
        return " and ".join(["source"] * bool(self.reads) + ["sink"] * bool(self.writes))

    def public_names(self) -> list[str]:
        """Full paths of the names that the connector's package exports."""
        package = self.name.replace("-", "_")
        file = CODE / package / "__init__.py"
        tree = ast.parse((file if file.exists() else CODE / f"{package}.py").read_text("utf-8"))
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
                names: list[str] = ast.literal_eval(statement.value)
                return [f"millrace.connectors.{package}.{name}" for name in names]
        return []


def connector_pages() -> list[ConnectorPage]:
    """The pages of connectors, by title."""
    pages = []
    for path in PAGES.glob("*.md"):
        text, data = get_data(path.read_text(encoding="utf-8"))
        if "guarantee" in data:
            title = re.findall(r"^# (.*)$", text, re.MULTILINE)[
                0
            ]  # the others are comments of code
            sides = [str(data.get(key) or "") for key in ("reads", "writes", "guarantee", "group")]
            pages.append(ConnectorPage(path.stem, title, *sides))
    return sorted(pages, key=lambda page: page.title.lower())


def expanded(markdown: str) -> str:
    """A page's text with the lists of connectors in place of their markers."""
    lists = {"overview": _overview, "extras": _extras, "reference": _reference}
    return MARKER.sub(lambda marker: "".join(lists[marker[1]](markdown)), markdown)


def _overview(_: str) -> Iterator[str]:
    for page in connector_pages():
        cells = [f"[{page.title}]({page.name}.md)", page.reads, page.writes, page.guarantee]
        yield f"| {' | '.join(cells)} |\n"


def _extras(_: str) -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for page in connector_pages():
        requirements = project["optional-dependencies"].get(page.name)
        if requirements is not None:
            packages = ", ".join(
                match[0] for match in map(REQUIREMENT.match, requirements) if match
            )
            link = f"[{page.title}](connectors/{page.name}.md)"
            command = f"pip install 'millrace[{page.name}]'"
            yield f"| `{command}` | {packages} | {link}: {page.directions} |\n"


def _reference(markdown: str) -> Iterator[str]:
    """Sections of the connectors that the page does not show by itself."""
    for page in connector_pages():
        names = page.public_names()
        if not any(f"::: {name}\n" in markdown for name in names):
            yield f"## {page.title}\n\n"
            for name in names:
                yield f"::: {name}\n    options:\n      heading_level: 3\n\n"


def on_config(config: Any) -> Any:
    """Put the pages of connectors, in their groups, behind the section's first page."""
    [section] = [
        entries
        for section in config.nav
        for entries in section.values()
        if isinstance(entries, list) and "connectors/index.md" in entries
    ]
    place = section.index("connectors/index.md") + 1
    section[place:place] = _grouped(connector_pages())
    return config


def _grouped(pages: list[ConnectorPage]) -> list[Any]:
    """Entries of the navigation: groups by their names, then the pages without a group."""
    groups: dict[str, list[dict[str, str]]] = {}
    for page in pages:
        groups.setdefault(page.group, []).append({page.title: f"connectors/{page.name}.md"})
    return [*({name: groups[name]} for name in sorted(groups) if name), *groups.get("", [])]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put lists of connectors into a page."""
    return expanded(markdown)
