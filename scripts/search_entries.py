"""Makes each SQL function and each option a result of the search: a hook of MkDocs.

The search knows pages and sections with a heading. The functions of SQL and the options of the
configuration are rows of tables, so a search for one would lead to a section with a hundred of
them. The hook gives each row an anchor, and adds an entry with the row's name as its title to the
index of the search. It also puts the names of the API reference before pages that mention them.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLES = {"sql-functions.md": 40, "configuration.md": 30}
"""Pages whose rows are results, and the weight of a row against a section of another page."""
PHRASE = 6
"""Weight of a name of several words, such as ``IS DISTINCT FROM``."""
NAMES_BOOST = 20
"""Weight of a section of the API reference whose title is a public name."""
RAISED = frozenset({"exp", "jobstore.expiration-time", "millrace.available-now"})
"""Names that weigh three times as much, because many longer names begin with them."""
COMMON = 30.0
"""From this factor on a name is a common word, and its text is left out of the search: the weight
of a document counts for all of its words."""
WORD = re.compile(r"[a-z0-9_]+")
PUBLIC_NAME = re.compile(r"^::: (millrace\.[\w.]+)$", re.MULTILINE)
ROW = re.compile(r"<tr>\s*<td>(?P<first>.*?)</td>(?P<others>.*?)</tr>", re.DOTALL)
CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
LABEL = re.compile(r"<code>[\w-]+</code>")
"""A label behind a name in the API reference, such as ``dataclass``."""
NAME = re.compile(r"^[\w. -]+")


@dataclass(frozen=True)
class Entry:
    """A row as a result of the search."""

    location: str
    title: str
    text: str
    boost: float

    def as_document(self) -> dict[str, Any]:
        """The entry as the index of the search has it."""
        return {
            "location": self.location,
            "title": html.escape(self.title, quote=False),
            "text": self.text,
            "boost": self.boost,
        }


_entries: list[Entry] = []
_names: set[str] = set()
"""Locations of the sections about public names."""


def name_of(signature: str) -> str:
    """The name in a signature or a key; empty if it is an operator such as ``+``.

    Example:
        >>> name_of("ABS(<numeric>)"), name_of("s3.endpoint"), name_of("+(<numeric>, <numeric>)")
        ('ABS', 's3.endpoint', '')
    """
    match = NAME.match(signature)
    name = match[0].strip(" -") if match else ""
    return name if any(map(str.isalpha, name)) else ""


def anchor_of(name: str) -> str:
    """The anchor of a row.

    Example:
        >>> anchor_of("IS NOT NULL"), anchor_of("s3.endpoint")
        ('row-is-not-null', 'row-s3.endpoint')
    """
    return "row-" + name.lower().replace(" ", "-")


def with_anchors(content: str, url: str, boost: float) -> tuple[str, list[Entry]]:
    """The HTML of a page whose rows have anchors, and the rows as entries."""
    entries: dict[str, Entry] = {}

    def anchored(row: re.Match[str]) -> str:
        codes = [html.unescape(code) for code in CODE.findall(row["first"])]
        names = list(dict.fromkeys(filter(None, map(name_of, codes))))
        new = [name for name in names if anchor_of(name) not in entries]
        for name in new:
            location = f"{url}#{anchor_of(name)}"
            words = re.sub(r"[.-]", " ", name) + " " if "." in name else ""
            text = words + " ".join(TAG.sub(" ", row["others"]).split())
            entries[anchor_of(name)] = Entry(location, name, text, PHRASE if " " in name else boost)
        if not new:
            return row[0]
        more = "".join(f'<a id="{anchor_of(name)}"></a>' for name in new[1:])
        return (
            row[0]
            .replace("<tr>", f'<tr id="{anchor_of(new[0])}">', 1)
            .replace("<td>", f"<td>{more}", 1)
        )

    return ROW.sub(anchored, content), list(entries.values())


def weigh(documents: list[dict[str, Any]], public: set[str]) -> None:
    """Set the weights of public names, and raise those of names that are common words.

    The search completes words, and a rare word weighs more than a common one: a search for ``Row``
    would lead to ``RowFormatBuilder``, and one for ``IN`` to ``INITCAP``. A word weighs by the
    square of its inverse document frequency (BM25), which the factor makes up for.

    Args:
        public: locations of the sections about public names.
    """
    frequencies = Counter(
        word
        for document in documents
        for word in set(WORD.findall(f"{document['title']} {document['text']}".lower()))
    )
    rarest = _rarity(1, len(documents))
    for document in documents:
        if document["location"] in public:
            document["boost"] = NAMES_BOOST
            document["title"] = LABEL.sub("", document["title"]).strip()
        title = document["title"].lower()
        if "boost" in document and title in RAISED:
            document["boost"] *= 3
        if "boost" in document and WORD.fullmatch(title):
            factor = (rarest / _rarity(frequencies[title], len(documents))) ** 2
            document["boost"] = round(document["boost"] * factor, 1)
            if factor > COMMON:
                document["text"] = ""


def _rarity(containing: int, documents: int) -> float:
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def on_pre_build(**_: Any) -> None:
    """Forget an earlier build."""
    _entries.clear()
    _names.clear()


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Note the public names of a page of the API reference."""
    if page.file.src_uri.startswith("api/"):
        _names.update(f"{page.url}#{name}" for name in PUBLIC_NAME.findall(markdown))
    return markdown


def on_page_content(content: str, *, page: Any, **_: Any) -> str:
    """Give the rows of the pages with tables their anchors."""
    if page.file.src_uri not in TABLES:
        return content
    anchored, entries = with_anchors(content, page.url, TABLES[page.file.src_uri])
    _entries.extend(entries)
    return anchored


def on_post_build(*, config: Any) -> None:
    """Add entries and weights to the index of the search, which the search plugin has written."""
    path = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    index["docs"] += [entry.as_document() for entry in _entries]
    weigh(index["docs"], _names)
    path.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")
