"""Rows that come after their window: they are dropped, or sent aside by CURRENT_WATERMARK."""

from pathlib import Path

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

TIMES = ("00:01", "00:20", "01:10", "00:30", "01:20", "00:40", "03:00", "01:30")
SENT_ASIDE = """
EXECUTE STATEMENT SET BEGIN
  INSERT INTO given SELECT window_start, COUNT(*)
    FROM TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '1' MINUTE) GROUP BY window_start, window_end;
  INSERT INTO late SELECT id, ts FROM TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
    WHERE window_time <= CURRENT_WATERMARK(ts);
END
"""


def lines(directory: Path) -> list[str]:
    found = directory.rglob("part-*") if directory.exists() else ()
    return sorted(line for file in found for line in file.read_text().splitlines())


@pytest.mark.parametrize(
    ("records", "late"), [(1, [3, 5, 7]), (3, [3, 5]), (100, [])], ids=["one", "three", "all"]
)
def test_late_rows_are_sent_aside(records: int, late: list[int], tmp_path: Path) -> None:
    rows = [f"{number},2024-01-01 00:{time}.000\n" for number, time in enumerate(TIMES)]
    (tmp_path / "rows.csv").write_text("".join(rows))
    columns = {"b": "id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"}
    columns |= {"late": "id INT, ts TIMESTAMP(3)", "given": "s TIMESTAMP(3), n BIGINT"}
    with run_local(epoch_records=records):
        env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for name, declared in columns.items():
            path = tmp_path / ("rows.csv" if name == "b" else name)
            env.execute_sql(
                f"CREATE TABLE {name} ({declared}) WITH ('connector' = 'filesystem', "
                f"'path' = '{path}', 'format' = 'csv')"
            )
        env.execute_sql(SENT_ASIDE).wait()
    assert [int(line.split(",")[0]) for line in lines(tmp_path / "late")] == late
    counted = sum(int(line.split(",")[1]) for line in lines(tmp_path / "given"))
    assert counted == len(TIMES) - len(late)
