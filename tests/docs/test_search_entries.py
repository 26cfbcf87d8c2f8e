"""Rows of tables as results of the search."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import search_entries

TABLE = """<table><thead><tr><th>key</th></tr></thead><tbody>
<tr>
<td><code>LOG(&lt;numeric&gt;)</code><br><code>LN(&lt;numeric&gt;)</code></td>
<td>The <em>natural</em> logarithm.</td>
</tr>
<tr>
<td><code>+(&lt;numeric&gt;)</code></td>
<td>The sum.</td>
</tr>
<tr>
<td><code>LOG(TEXT)</code></td>
<td>Another one.</td>
</tr>
</tbody></table>"""


def test_rows_have_anchors() -> None:
    content, entries = search_entries.with_anchors(TABLE, "sql-functions/", 3)
    assert '<tr id="row-log">\n<td><a id="row-ln"></a><code>LOG(' in content
    assert content.count("id=") == 2, "operators and repeated names have none"
    assert [entry.location for entry in entries] == [
        "sql-functions/#row-log",
        "sql-functions/#row-ln",
    ]
    assert entries[0].text == "The natural logarithm."


def test_entries_are_added_to_the_index(tmp_path: Path) -> None:
    index = tmp_path / "search" / "search_index.json"
    index.parent.mkdir()
    first = {"location": "sql-functions/", "title": "SQL functions", "text": ""}
    index.write_text(json.dumps({"config": {}, "docs": [first]}))
    page: Any = SimpleNamespace(file=SimpleNamespace(src_uri="sql-functions.md"), url="f/")
    search_entries.on_pre_build()
    search_entries.on_page_content(TABLE, page=page)
    search_entries.on_post_build(config=SimpleNamespace(site_dir=str(tmp_path)))
    added = json.loads(index.read_text())["docs"]
    assert [entry["title"] for entry in added] == ["SQL functions", "LOG", "LN"]
    assert added[1]["boost"] == search_entries.TABLES["sql-functions.md"]


def test_other_pages_stay_as_they_are() -> None:
    page: Any = SimpleNamespace(file=SimpleNamespace(src_uri="index.md"), url="")
    assert search_entries.on_page_content(TABLE, page=page) == TABLE


def test_names_of_the_reference_come_before_pages_that_mention_them(tmp_path: Path) -> None:
    index = tmp_path / "search" / "search_index.json"
    index.parent.mkdir()
    places = ["api/state/", "api/state/#millrace.common.State", "concepts/#millrace.common.State"]
    index.write_text(
        json.dumps(
            {
                "docs": [
                    {"location": place, "title": "State  <code>dataclass</code>", "text": ""}
                    for place in places
                ]
            }
        )
    )
    page: Any = SimpleNamespace(file=SimpleNamespace(src_uri="api/state.md"), url="api/state/")
    markdown = "# State\n\n::: millrace.common.State\n"
    search_entries.on_pre_build()
    assert search_entries.on_page_markdown(markdown, page=page) == markdown
    search_entries.on_post_build(config=SimpleNamespace(site_dir=str(tmp_path)))
    weighed = json.loads(index.read_text())["docs"]
    assert ["boost" in document for document in weighed] == [False, True, False]
    assert weighed[1]["title"] == "State"


def test_a_common_word_weighs_more_as_a_name() -> None:
    documents: list[dict[str, Any]] = [
        {"location": f"p{number}/", "title": "Page", "text": "a word in a list"}
        for number in range(50)
    ]
    rows = [
        {"location": f"f/#{name}", "title": name, "text": "Whether", "boost": 20}
        for name in ("IN", "INITCAP")
    ]
    search_entries.weigh([*documents, *rows], set())
    common, rare = rows
    assert common["boost"] > 100 > rare["boost"]
    assert (common["text"], rare["text"]) == ("", "Whether")
