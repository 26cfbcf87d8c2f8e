"""`SqlClient`: executes statements one after the other and prints their results."""

from __future__ import annotations

import re
import signal
import sys
from contextlib import suppress
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from millrace.cli.printing import printable
from millrace.cli.sql_client.result_display import MAX_ROWS, RESULT_MODES, show_table
from millrace.cli.sql_client.statement_texts import divided, heading
from millrace.common.config import options
from millrace.common.errors import JobCancelledError, MillraceError
from millrace.common.job import JobStatus
from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.sql.parser import parse_statement
from millrace.sql.statements import Insert, InsertSet
from millrace.table import TableEnvironment
from millrace.table.result_kind import ResultKind
from millrace.table.table_result import TableResult

if TYPE_CHECKING:
    from millrace.engine.embedded_job_client import EmbeddedJobClient

__all__ = ["RESULT_MODE", "RESUME_ADVICE", "SqlClient"]

RESULT_MODE = "sql-client.execution.result-mode"
DEFAULT_MAX_ROWS = 1_000_000
"""Default of Flink's client."""
ALL_ROWS = -1
RESUME_ADVICE = f"SET '{options.RESUME.key}' = 'true';"
"""Statement after which jobs continue from their newest checkpoints."""
HELP = """\
Statements end with a semicolon; they may have several lines. Besides those of Flink SQL:
  HELP                            this text
  SET 'key' = 'value', SET        set an option; show those that are set
  RESET 'key', RESET              forget an option; forget all
  SOURCE 'file.sql'               carry out the statements of a file
  BEGIN STATEMENT SET; ... END    several INSERTs as one job
  SHOW JOBS, STOP JOB 'id'        list the jobs of this session; end one
  CLEAR                           empty the screen
  QUIT, EXIT                      leave; jobs that still run are cancelled
Results are shown as SET 'sql-client.execution.result-mode' says: table, changelog or tableau.
Ctrl-C cancels the query that runs."""
_COMMAND = re.compile(r"(?is)(help|clear|quit|exit|source\s+(?:'(?P<file>[^']+)'|(?P<bare>\S+)))\Z")
_SETTING = re.compile(
    rf"(?is)(?P<word>set|reset)\s+'?(?P<key>{re.escape(RESULT_MODE)}|{re.escape(MAX_ROWS)})'?"
    r"\s*(?:=\s*(?P<value>.*))?\Z"
)
_ALL_OPTIONS = re.compile(r"(?i)set\s*\Z")
_WHOLE = re.compile(r"-?[0-9]{1,9}")


class SqlClient:
    """Executes the statements of one session.

    Args:
        mode: display mode of query results, until the session sets another.
    """

    def __init__(self, t_env: TableEnvironment, mode: str) -> None:
        self.t_env = t_env
        self.mode = self._first_mode = mode
        self.max_rows = DEFAULT_MAX_ROWS
        """Rows that the mode ``table`` keeps; `ALL_ROWS`: however many there are."""
        self.ended = False
        """The session was told to QUIT."""
        self._jobs: list[EmbeddedJobClient] = []
        self._told: list[EmbeddedJobClient] = []
        """Jobs whose end the session has told of."""
        self._sources: list[Path] = []

    def execute_file(self, path: Path) -> bool:
        """Execute the statements of a file up to the first that fails; False if one failed."""
        resolved = path.resolve()
        if resolved in self._sources:
            return self._failed(f"{path} includes itself by SOURCE")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            return self._failed(f"cannot read {path}: {getattr(error, 'strerror', error)}")
        self._sources.append(resolved)
        try:
            return self.execute_all(text, str(path))
        finally:
            self._sources.pop()

    def execute_all(self, text: str, source: str = "") -> bool:
        """Execute statements up to the first that fails; False if one failed.

        Args:
            source: origin of the text, for the place of a failed statement in messages.
        """
        statements, rest = divided(text)
        begin = 0
        for statement in [*statements, rest] if rest else statements:
            if self.ended:
                break
            begin = text.index(statement, begin)
            if not self.execute(statement, f": {heading(statement)}" if source else ""):
                line = text.count("\n", 0, begin) + 1
                if source:
                    print(f"the statement begins in line {line} of {source}", file=sys.stderr)
                return False
            begin += len(statement)
        return True

    def execute(self, statement: str, done: str = "") -> bool:
        """Execute one statement; False if it failed, after printing the reason.

        Args:
            done: what is printed after ``OK`` if the statement has no rows: the statement, if it
                does not stand above on the screen.

        Raises:
            KeyboardInterrupt: Ctrl-C; the query that was running has been cancelled.
        """
        try:
            if command := _COMMAND.match(statement):
                return self._command(command)
            if setting := _SETTING.match(statement):
                return self._set(setting, done)
            self._statement(statement, done)
        except MillraceError as error:
            return self._failed(str(error))
        except ImportError as error:
            return self._failed(f"a package is missing: {error}")
        except (OSError, ValueError, TypeError, ArithmeticError, LookupError) as error:
            return self._failed(f"{type(error).__name__}: {error}")
        return True

    def wait(self) -> bool:
        """Wait for the jobs of INSERTs; False if one failed."""
        done = True
        for client in self._jobs:
            waiting = not _has_ended(client)
            if waiting:
                name = client.progress().job_name
                print(f"[INFO] waiting for the end of job {name!r}; Ctrl-C cancels it", flush=True)
            try:
                client.get_job_execution_result().result()
            except JobCancelledError:
                waiting = True  # somebody wanted its end
            except MillraceError as error:
                waiting, done = False, self._failed(str(error))
            if waiting:
                print(f"[INFO] {_told(client)}")
            self._told.append(client)
            _say_how_to_resume(client)
        return done

    def running(self) -> list[EmbeddedJobClient]:
        """Jobs of INSERTs that have not ended."""
        return [client for client in self._jobs if not _has_ended(client)]

    def close(self) -> None:
        """Cancel the running jobs, wait for their end, and report this, including jobs that have
        failed in the background."""
        running = self.running()
        for client in running:
            client.cancel()
        for client in self._jobs:
            failed = client.progress().status is JobStatus.FAILED
            if client in self._told or not (failed or client in running):
                continue
            with suppress(MillraceError):  # that it was cancelled, or why it has failed
                client.get_job_execution_result().result()
            self._told.append(client)
            print(f"[INFO] {_told(client)}")
            _say_how_to_resume(client)

    def _command(self, command: re.Match[str]) -> bool:
        word = command[1].split()[0].upper()
        if word == "SOURCE":
            return self.execute_file(Path(command["file"] or command["bare"]))
        if word == "HELP":
            print(HELP)
        elif word == "CLEAR":
            if sys.stdout.isatty():
                print("\x1b[H\x1b[2J", end="", flush=True)
        else:
            self.ended = True
        return True

    def _set(self, match: re.Match[str], done: str) -> bool:
        value = None
        if match["word"].upper() == "SET":
            value = (match["value"] or "").strip().strip("'").lower()
        set_option = self._set_mode if match["key"].lower() == RESULT_MODE else self._set_max_rows
        if not set_option(value):
            return False
        print(f"OK{done}")
        return True

    def _set_mode(self, value: str | None) -> bool:
        mode = self._first_mode if value is None else value
        if mode not in RESULT_MODES:
            return self._failed(f"{RESULT_MODE} must be one of {', '.join(RESULT_MODES)}")
        self.mode = mode
        return True

    def _set_max_rows(self, value: str | None) -> bool:
        text = str(DEFAULT_MAX_ROWS) if value is None else value
        if not _WHOLE.fullmatch(text) or not (int(text) >= 1 or int(text) == ALL_ROWS):
            return self._failed(
                f"{MAX_ROWS} must be a number of rows from 1, or {ALL_ROWS} for all rows"
            )
        self.max_rows = int(text)
        return True

    def _statement(self, statement: str, done: str) -> None:
        result = self.t_env.execute_sql(statement)
        if current_thread() is main_thread():
            # PySpark takes Ctrl-C over when it makes its context
            signal.signal(signal.SIGINT, signal.default_int_handler)
        client = result.get_job_client()
        if client is None and result.get_result_kind() is ResultKind.SUCCESS:
            print(f"OK{done}")
        elif client is None:
            self._with_own_options(statement, result).print()
        elif isinstance(parse_statement(statement), (Insert, InsertSet)):
            self._jobs.append(client)
            # the file's statements cannot know the id, and who types may want it for STOP JOB
            id = "" if done or _has_ended(client) else f"; its id is {client.get_job_id()}"
            print(f"[INFO] {_told(client)}{id}")
        else:
            self._show(result)

    def _with_own_options(self, statement: str, result: TableResult) -> TableResult:
        """The result of SET, with the options that only the client has."""
        if not _ALL_OPTIONS.match(statement):
            return result
        own = [(RESULT_MODE, self.mode), (MAX_ROWS, str(self.max_rows))]
        row_type = RowType.of(("key", VarCharType()), ("value", VarCharType()))
        return TableResult.of_rows(row_type, [*result.collect(), *own])

    def _show(self, result: TableResult) -> None:
        try:
            if self.mode == "table":
                time_zone = self.t_env.get_config().get_local_timezone()
                most = None if self.max_rows == ALL_ROWS else self.max_rows
                show_table(result, time_zone, sys.stdout, most)
            else:
                result.print()
        except KeyboardInterrupt:
            print("\n[INFO] the query is being cancelled")
            raise
        except JobCancelledError:
            print("[INFO] the query was cancelled")
        finally:
            result.collect().close()

    def _failed(self, reason: str) -> bool:
        sys.stdout.flush()
        print(f"[ERROR] {printable(reason.rstrip(), keep=chr(10) + chr(9))}", file=sys.stderr)
        return False


def _has_ended(client: EmbeddedJobClient) -> bool:
    return client.progress().status.is_terminal_state()


def _say_how_to_resume(client: EmbeddedJobClient) -> None:
    """Print how to continue a job that has ended before its input."""
    from millrace.engine.resume_hint import resume_hint

    if client.progress().status is JobStatus.FINISHED:
        return
    hint = resume_hint(client, RESUME_ADVICE)
    if hint is not None:
        print(f"[INFO] {hint}")


def _told(client: EmbeddedJobClient) -> str:
    """A job and its state, in words."""
    details = client.progress()
    ended = details.status.is_terminal_state()
    state = f"is {details.status.name}" if ended else "runs in the background"
    return f"job {details.job_name!r} {state}"
