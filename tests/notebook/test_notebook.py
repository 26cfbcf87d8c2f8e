"""The extension in a real kernel: one notebook, one session, whose outputs are looked at."""

from __future__ import annotations

from typing import Any

import nbclient
import nbformat.v4
import pytest

CELLS = {
    "load": """
from millrace.testing import run_local
cluster = run_local()
cluster.__enter__()
%load_ext millrace.notebook
from millrace.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from millrace.table.expressions import col
from millrace.datastream import StreamExecutionEnvironment
batch = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
""",
    "bounded": "batch.from_elements([(n, '<b>') for n in range(30)], ['n', 's'])",
    "ddl": """%%millrace_sql
CREATE TABLE n (i BIGINT) WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence',
  'fields.i.start' = '1', 'fields.i.end' = '30');
CREATE TABLE nowhere (i BIGINT) WITH ('connector' = 'blackhole');
SHOW TABLES
""",
    "query": """%%millrace_sql
SELECT MOD(i, 3) AS m, COUNT(*) AS c FROM n GROUP BY MOD(i, 3)
""",
    "table": """
from millrace.common.typeinfo import Types
env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection(list(range(1, 31)), Types.LONG())
table = StreamTableEnvironment.create(env).from_data_stream(numbers, col("i"))
table.select((col("i") * 2).alias("twice"))
""",
    "insert": """%%millrace_sql
INSERT INTO nowhere SELECT i FROM n
""",
    "watch": """
from millrace.notebook import watch
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2, 3]).map(str).print()
client = env.execute_async("three numbers")
drawing = watch(client)
client.result()
drawing.join()
""",
    "client": "client",
    "execute": """
env.from_collection([1, 2, 3, 4]).map(str).print()
_ = env.execute("four numbers")
""",
    "failed": """
env.from_collection([0]).map(lambda n: 1 // n).print()
env.execute("by nothing")
""",
    "reprs": """
stream = env.from_collection([1], Types.LONG()).map(str, Types.STRING()).set_parallelism(2)
ending = batch.from_elements([(1,)], ["n"])
listed = batch.execute_sql("SHOW TABLES")
print(*map(repr, (stream, table, ending, client, listed)), sep="\\n")
""",
    "stream": "env.from_collection(['to be']).flat_map(str.split).key_by(len).reduce(min)",
    "unknown": "%%millrace_sql nothing\nSELECT 1",
    "no number": "%%millrace_sql\nSELECT CAST('x' || CAST(i AS STRING) AS INT) AS i FROM n",
}


def html_of(outputs: list[Any]) -> list[str]:
    """The pictures of a cell as they are in the end, after all updates."""
    return [
        output["data"][kind]
        for output in outputs
        for kind in ("text/html", "image/svg+xml")
        if kind in output.get("data", {})
    ]


@pytest.mark.alone
def test_a_notebook_with_the_extension() -> None:
    made: Any = nbformat.v4
    notebook = made.new_notebook()
    notebook.cells = [made.new_code_cell(code.lstrip("\n")) for code in CELLS.values()]
    client = nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", allow_errors=True
    )
    client.execute()
    outputs = {title: cell["outputs"] for title, cell in zip(CELLS, notebook.cells, strict=True)}
    failed = {
        title: [each["evalue"] for each in found if each["output_type"] == "error"]
        for title, found in outputs.items()
        if title not in ("unknown", "failed", "no number")
    }
    assert not any(failed.values()), failed

    [first] = html_of(outputs["bounded"])
    assert first.count("<tr>") == 21
    assert "&lt;b&gt;" in first
    assert "the first 20 rows" in first

    assert "nowhere" in html_of(outputs["ddl"])[-1]
    [counts] = html_of(outputs["query"])
    assert counts.count("<td>10</td>") == 3
    assert "3 rows in the end" in counts
    [last] = html_of(outputs["table"])
    assert "<td>60</td>" in last
    assert "30 rows in the end, the last 20 of them here" in last

    assert "insert-into" in html_of(outputs["insert"])[0]
    [progress] = html_of(outputs["watch"])
    assert "three numbers" in progress
    assert "<td>FINISHED</td>" in progress
    assert "<td>3 (" in progress
    assert "FINISHED" in html_of(outputs["client"])[0]
    [waited] = html_of(outputs["execute"])
    assert "four numbers" in waited
    assert "<td>FINISHED</td>" in waited
    [ended] = html_of(outputs["no number"])
    assert "0 rows when the query failed" in ended
    assert "cannot be cast to INT" in outputs["no number"][-1]["evalue"]
    [failure] = html_of(outputs["failed"])
    assert "<td>FAILED</td>" in failure
    assert "by nothing" in failure
    [printed] = [each["text"] for each in outputs["reprs"] if each["output_type"] == "stream"]
    of_stream, of_table, ending, of_job, listed = printed.splitlines()
    assert of_stream == "<DataStream of Map: String [parallelism 2]>"
    assert of_table == "<Table (`i` BIGINT), a stream>"
    assert ending == "<Table (`n` BIGINT)>"
    assert of_job.startswith("<job 'three numbers', ")
    assert ": FINISHED, 3 records read" in of_job
    assert listed == "<TableResult (`table name` STRING): 0 rows>"
    assert "Flat Map" in html_of(outputs["stream"])[0]
    [error] = [each for each in outputs["unknown"] if each["output_type"] == "error"]
    assert "nothing is not a TableEnvironment of this notebook" in error["evalue"]
