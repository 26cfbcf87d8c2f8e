"""A session: results in all modes, errors with carets and without tracebacks, files, jobs."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest

from millrace.cli.main import main
from millrace.cli.sql_client.client import SqlClient
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

NUMBERS = (
    "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence',"
    " 'fields.n.start' = '1', 'fields.n.end' = '3');"
)
JOB = re.compile(r"job '(.*)' ((?:runs|is) .*)")
COUNT = "SELECT COUNT(*) AS c FROM numbers;"


@pytest.fixture
def client() -> Iterator[SqlClient]:
    with run_local():
        settings = EnvironmentSettings.in_streaming_mode()
        yield SqlClient(TableEnvironment.create(settings), "tableau")


def test_a_mistake_has_a_caret_and_the_session_goes_on(
    client: SqlClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not client.execute("SELECT a FORM t WHERE b")
    error = capsys.readouterr().err
    assert error.endswith("SELECT a FORM t WHERE b\n         ^^^^\n")
    assert "Traceback" not in error
    assert client.execute_all(NUMBERS + "SHOW TABLES;")
    assert "numbers" in capsys.readouterr().out


def test_modes(client: SqlClient, capsys: pytest.CaptureFixture[str]) -> None:
    assert client.execute_all(NUMBERS + COUNT)
    assert "| op |" in capsys.readouterr().out
    assert client.execute_all(f"SET 'sql-client.execution.result-mode' = 'table'; {COUNT}")
    assert capsys.readouterr().out == "OK\n+---+\n| c |\n+---+\n| 3 |\n+---+\n1 row in set\n"
    assert client.execute_all(f"RESET 'sql-client.execution.result-mode'; {COUNT}")
    assert "| op |" in capsys.readouterr().out
    assert not client.execute("SET 'sql-client.execution.result-mode' = 'tables'")
    assert "table, changelog, tableau" in capsys.readouterr().err


def test_how_many_rows_a_table_keeps(client: SqlClient, capsys: pytest.CaptureFixture[str]) -> None:
    option = "sql-client.execution.max-table-result.rows"
    five = "SELECT * FROM (VALUES (1), (2), (3), (4), (5)) AS t (n)"
    assert client.execute_all(f"SET 'sql-client.execution.result-mode' = 'table'; {five};")
    assert "5 rows in set" in capsys.readouterr().out
    assert client.execute_all(f"SET '{option}' = '2'; {five};")
    printed = capsys.readouterr().out
    assert "2 rows in set" in printed
    assert f"3 older rows were left out: {option} is 2" in printed
    for wrong in ("0", "-2", "many", "1.5"):
        assert not client.execute(f"SET '{option}' = '{wrong}'")
    assert "a number of rows from 1, or -1 for all" in capsys.readouterr().err
    assert client.execute_all(f"SET '{option}' = '-1'; {five};")
    assert "5 rows in set" in capsys.readouterr().out
    assert client.max_rows == -1
    assert client.execute(f"RESET '{option}'")
    assert client.max_rows == 1_000_000


def test_a_statement_set_is_one_job(client: SqlClient, capsys: pytest.CaptureFixture[str]) -> None:
    assert client.execute_all(
        NUMBERS
        + "CREATE TABLE a (n BIGINT) WITH ('connector' = 'blackhole');"
        + "BEGIN STATEMENT SET; INSERT INTO a SELECT n FROM numbers;"
        + "INSERT INTO a SELECT n + 1 FROM numbers; END;"
    )
    assert client.wait()
    printed = capsys.readouterr().out
    assert printed.count("[INFO] job 'insert-into_") >= 1
    assert len({name for name, _ in JOB.findall(printed)}) == 1


def test_a_job_is_named_and_its_end_is_told(
    client: SqlClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that a file that runs for ever does not look as if it hung."""
    assert client.execute_all(
        "CREATE TABLE ticks (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');"
        "CREATE TABLE nowhere (n INT) WITH ('connector' = 'blackhole');"
        "SET 'pipeline.name' = 'ticking'; INSERT INTO nowhere SELECT n FROM ticks;"
    )
    [(name, state)] = JOB.findall(capsys.readouterr().out)
    told, id = state.split("; its id is ")
    assert (name, told) == ("ticking", "runs in the background")
    with ThreadPoolExecutor(1) as pool:
        waiting, printed = pool.submit(client.wait), ""
        told_of = "[INFO] waiting for the end of job 'ticking'; Ctrl-C cancels it\n"
        while told_of not in printed and not waiting.done():
            sleep(0.01)
            printed += capsys.readouterr().out
        assert told_of in printed + capsys.readouterr().out
        assert client.execute(f"STOP JOB '{id}'")
        assert waiting.result(60)
    printed = capsys.readouterr().out
    assert JOB.findall(printed)[-1] == ("ticking", "is CANCELED")
    assert client.execute_all("INSERT INTO nowhere SELECT n FROM ticks;")
    client.close()
    assert [state.partition(";")[0] for _, state in JOB.findall(capsys.readouterr().out)] == [
        "runs in the background",
        "is CANCELED",
    ]


def test_source_stops_at_the_first_failure(
    client: SqlClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.sql"
    path.write_text(NUMBERS + "SELECT x FROM numbers; CREATE VIEW later AS SELECT 1;")
    assert not client.execute(f"SOURCE '{path}'")
    assert client.t_env.list_tables() == ["numbers"]
    assert f"the statement begins in line 1 of {path}" in capsys.readouterr().err
    path.write_text("-- two\n\nSHOW TABLES;\nSELECT n,\n  x FROM numbers;\nSHOW VIEWS;")
    assert not client.execute_file(path)
    said = capsys.readouterr().err
    assert "line 2, column 3: column 'x'" in said
    assert said.endswith(f"the statement begins in line 4 of {path}\n")
    path.write_text(f"SOURCE '{path}';")
    assert not client.execute(f"SOURCE '{path}'")
    assert "includes itself" in capsys.readouterr().err


def test_set_lists_the_options_of_the_client_too(
    client: SqlClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert client.execute("SET 'table.exec.state.ttl' = '1 h'")
    assert client.execute("SET 'sql-client.execution.result-mode' = 'changelog'")
    capsys.readouterr()
    assert client.execute("SET")
    said = [line.split() for line in capsys.readouterr().out.splitlines() if line[0] == "|"]
    listed = {line[1]: line[3] for line in said}
    assert listed["sql-client.execution.result-mode"] == "changelog"
    assert listed["sql-client.execution.max-table-result.rows"] == "1000000"
    assert "table.exec.state.ttl" in listed


def test_quit_ends_a_session(client: SqlClient, capsys: pytest.CaptureFixture[str]) -> None:
    assert client.execute_all("HELP; QUIT; SELECT nothing;")
    assert client.ended
    assert "SOURCE" in capsys.readouterr().out


def test_exit_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, init = tmp_path / "a.sql", tmp_path / "init.sql"
    init.write_text(NUMBERS)
    path.write_text("SELECT n FROM numbers")
    with run_local():
        assert main(["sql", "-i", str(init), "-f", str(path)]) == 0
        assert "3 rows in set" in capsys.readouterr().out
        assert main(["sql", "-f", str(path)]) == 1
        assert main(["sql", "-f", str(tmp_path / "none.sql")]) == 1
        monkeypatch.setattr(sys, "stdin", io.StringIO("SHOW CATALOGS;"))
        assert main(["sql"]) == 0
    assert "default_catalog" in capsys.readouterr().out


KILLED = """
import sys
from millrace.cli.main import main
from millrace.testing import run_local
with run_local(checkpoint_dir=sys.argv[1]):
    sys.exit(main(["sql", "-f", sys.argv[2]]))
"""
ENDLESS = """
SET 'execution.checkpointing.interval' = '10 ms';
CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000');
CREATE TABLE out_ (n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO out_ SELECT n FROM numbers;
"""


@pytest.mark.turns(7)
def test_a_file_that_runs_again_after_a_kill_says_that_it_starts_afresh(tmp_path: Path) -> None:
    file, checkpoints = tmp_path / "job.sql", tmp_path / "checkpoints"
    file.write_text(ENDLESS)
    words = [sys.executable, "-c", KILLED, str(checkpoints), str(file)]
    told = []
    for setting in ("", "", "SET 'millrace.resume' = 'true';"):
        file.write_text(setting + ENDLESS)
        newest = newest_checkpoint(checkpoints)
        process = subprocess.Popen(words, text=True, stderr=subprocess.PIPE, stdout=sys.stderr)
        while newest_checkpoint(checkpoints) <= newest and process.poll() is None:
            sleep(0.02)
        process.kill()
        told.append((newest, process.communicate()[1]))
    [job_dir] = checkpoints.iterdir()
    (_, first), (newest, again), (_, resumed) = told
    assert "afresh" not in first
    assert (
        f"the job starts afresh, although there is checkpoint {newest}; to continue from it: "
        f"SET 'millrace.resume' = 'true'; (job 'insert-into_default_catalog.default_database.out_' "
        f"in {job_dir})\n" in again
    )
    assert "afresh" not in resumed


CONTINUE = r"to continue from checkpoint (\d+): SET 'millrace.resume' = 'true';"


@pytest.mark.parametrize("keeps", [True, False])
def test_a_cancelled_job_says_how_to_continue(
    keeps: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless it has deleted its checkpoints at its end."""
    kept = "RETAIN_ON_CANCELLATION" if keeps else "DELETE_ON_CANCELLATION"
    retention = f"execution.checkpointing.externalized-checkpoint-retention' = '{kept}"
    with run_local(checkpoint_dir=tmp_path):
        client = SqlClient(TableEnvironment.create(EnvironmentSettings.in_streaming_mode()), "")
        assert client.execute_all(f"SET '{retention}'; {ENDLESS}")
        while newest_checkpoint(tmp_path) == 0 and client.running():
            sleep(0.01)
        client.close()
    said = capsys.readouterr().out
    assert JOB.findall(said)[-1][1] == "is CANCELED"
    newest = newest_checkpoint(tmp_path)
    assert re.findall(CONTINUE, said) == ([str(newest)] if keeps else [])


def test_an_insert_that_failed_in_the_background_is_told_of_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_local(checkpoint_dir=tmp_path, epoch_records=1):
        client = SqlClient(TableEnvironment.create(EnvironmentSettings.in_streaming_mode()), "")
        assert client.execute_all(
            f"SET 'execution.checkpointing.interval' = '1 ms'; {NUMBERS}"
            "CREATE TABLE out_ (n BIGINT) WITH ('connector' = 'blackhole');"
            "INSERT INTO out_ SELECT 1 / (n - 3) FROM numbers;"
        )
        while client.running():
            sleep(0.01)
        client.close()
        client.close()
    said = capsys.readouterr().out
    assert [state for _, state in JOB.findall(said)].count("is FAILED") == 1
    newest = newest_checkpoint(tmp_path)
    assert re.findall(CONTINUE, said) == ([str(newest)] if newest else [])


def test_ctrl_c_ends_an_insert_that_is_waited_for(tmp_path: Path) -> None:
    file, checkpoints = tmp_path / "job.sql", tmp_path / "checkpoints"
    file.write_text("SET 'table.dml-sync' = 'true';" + ENDLESS)
    words = [sys.executable, "-c", KILLED, str(checkpoints), str(file)]
    process = subprocess.Popen(words, text=True, stderr=subprocess.PIPE, stdout=sys.stderr)
    # the first checkpoints may be complete before the client waits
    while newest_checkpoint(checkpoints) < 20 and process.poll() is None:
        sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert re.findall(CONTINUE, said) == [str(newest_checkpoint(checkpoints))]


def newest_checkpoint(checkpoints: Path) -> int:
    """Number of the newest complete checkpoint of the only job; 0 if there is none."""
    return max((int(p.parent.name[4:]) for p in checkpoints.glob("*/chk-*/_metadata")), default=0)
