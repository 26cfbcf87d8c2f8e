"""Arguments of ``millrace run``, parsed and checked."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millrace.common.config import options
from millrace.common.config.config_file import settings_for
from millrace.common.config.configuration import (
    OPTIONS,
    Configuration,
    unknown_key,
)
from millrace.common.config.known_options import is_checked_elsewhere
from millrace.common.config.setting_origin import SettingOrigin
from millrace.common.config.settings_variable import (
    DEFAULTS_VARIABLE,
    SETTINGS_VARIABLE,
    settings_in,
)
from millrace.common.config.shown_settings import shown_word
from millrace.common.errors import (
    CheckpointError,
    ConfigurationError,
    MillraceError,
    UnsupportedFileSystemSchemeError,
)
from millrace.common.similar_names import nearest_name
from millrace.filesystem import registry
from millrace.filesystem.location import local_location
from millrace.server.server_options import job_settings_in
from millrace.spark.connect.remote import SETTING, Remote, remote_in


class UsageError(MillraceError):
    """A command line that cannot be carried out."""


_PLACES = ("spark.master", "spark.remote")
"""Settings that say on which Spark a job runs."""


@dataclass(frozen=True, slots=True)
class RunArguments:
    """The parsed command line of ``millrace run``."""

    job: Path
    job_arguments: tuple[str, ...] = ()
    settings: Configuration = field(default_factory=Configuration)
    """Settings that override those of the program."""
    defaults: Configuration = field(default_factory=Configuration)
    """Settings of ``config.yaml``, which those of the program override."""
    resume: bool = False
    py_files: tuple[Path, ...] = ()
    functions: Path | None = None
    """Python file with the functions of a module, which is among ``py_files``; None if the job file
    is the user's."""
    progress: bool | None = None
    """Whether to show the progress; None to show it only on a terminal."""
    argv: tuple[str, ...] = ()
    command: tuple[str, ...] = ("run",)
    """First words of ``argv``."""

    @property
    def master(self) -> str | None:
        """The Spark master; None for this machine."""
        return self.effective.get_string("spark.master")

    @property
    def effective(self) -> Configuration:
        """All settings of the run that are known before the program begins."""
        return Configuration(self.defaults).add_all(self.settings)

    @property
    def remote(self) -> Remote | None:
        """The Spark Connect server; None for a Spark application of this process."""
        return remote_in(self.effective.to_dict())

    def resume_command(self) -> str:
        """The command line that continues the job. Secrets are hidden, because other people may
        see the terminal."""
        at = len(self.command)
        words = self.argv if self.resume else (*self.command, "--resume", *self.argv[at:])
        return shlex.join(("millrace", *map(shown_word, words)))


def add_run_arguments(run: argparse.ArgumentParser) -> None:
    """Add the arguments of ``millrace run`` to a parser."""
    add_run_options(run)
    add_detached(run)
    run.add_argument("job", type=location, metavar="job.py", help="the job file")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the job file")


def add_detached(run: argparse.ArgumentParser) -> None:
    """Add the option ``--detached``: the command does not wait for the job that it starts on a
    server."""
    run.add_argument(
        "-d",
        "--detached",
        action="store_true",
        help="with --server: print the job's id, and do not wait for the job's end",
    )


def add_run_options(run: argparse.ArgumentParser) -> None:
    """Add the options of a job that runs from the command line to a parser."""
    run.add_argument(
        "--master", metavar="URL", help="Spark master, such as spark://host:7077 (default: local)"
    )
    run.add_argument(
        "--remote",
        metavar="URL",
        help="Spark Connect server, such as sc://host:15002 (default: SPARK_REMOTE, if it is set)",
    )
    run.add_argument(
        "--parallelism", metavar="N", help="parallelism of operators that set none (default: 1)"
    )
    run.add_argument(
        "--checkpoint-dir",
        metavar="D",
        help=(
            "directory in which jobs keep their checkpoints (default: under your state directory)"
        ),
    )
    run.add_argument(
        "--checkpoint-interval",
        metavar="X",
        help=(
            "time between checkpoints, such as '10 s'; 0: a checkpoint after every epoch "
            "(default: 1 s)"
        ),
    )
    _add_start_arguments(run)
    run.add_argument("--name", metavar="NAME", help="the job's name, in place of the program's")
    run.add_argument(
        "--py-files",
        metavar="A,B",
        type=_files,
        default=[],
        help="modules (.py) and archives (.zip, .egg, .whl) that the job's workers import",
    )
    add_settings(run, "a setting of millrace, or of Spark if it begins with 'spark.'")
    add_config_file(run)
    run.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show the job's progress (default: if standard error is a terminal)",
    )


def _add_start_arguments(run: argparse.ArgumentParser) -> None:
    """Add the options for the state that a job starts from."""
    run.add_argument(
        "--resume",
        action="store_true",
        help="continue from the newest checkpoint; without a checkpoint, start afresh",
    )
    run.add_argument(
        "--available-now",
        action="store_true",
        help="continue from the newest checkpoint, read the input that is available now, and end",
    )
    run.add_argument(
        "-s",
        "--from-savepoint",
        metavar="PATH",
        help=(
            "start from a savepoint or a checkpoint: its path, or the first digits of its id; "
            "with --resume, a checkpoint of the job itself takes precedence"
        ),
    )
    run.add_argument(
        "-n",
        "--allow-non-restored-state",
        action="store_true",
        help="start even if the savepoint has state of operators that the job does not have",
    )
    run.add_argument(
        "--allow-pickle",
        action="store_true",
        help="start even if reading the savepoint can run code of its author",
    )
    run.add_argument(
        "--claim-mode",
        metavar="MODE",
        choices=options.CLAIM_MODE.choices,
        help="NO_CLAIM: the savepoint stays as it is (default); CLAIM: it becomes the job's own",
    )


def add_config_file(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--config``."""
    parser.add_argument(
        "--config",
        type=location,
        metavar="F",
        help=(
            "file with settings, or its directory (default: config.yaml in the directory "
            "MILLRACE_CONF_DIR, else conf/config.yaml)"
        ),
    )


def add_settings(parser: argparse.ArgumentParser, description: str) -> None:
    """Add the option ``--conf``, which may be repeated."""
    parser.add_argument(
        "--conf",
        metavar="K=V",
        action="append",
        type=_setting_pair,
        default=[],
        help=f"{description}; may be repeated",
    )


def run_arguments(args: argparse.Namespace, argv: Sequence[str]) -> RunArguments:
    """The arguments of ``run``, made from a parser's result for ``argv``.

    Raises:
        UsageError: a file is missing, or a setting is unknown or wrong.
    """
    if args.detached:
        raise UsageError("--detached needs --server")
    if not args.job.is_file():
        raise UsageError(no_file(args.job))
    settings = run_settings(args)
    return RunArguments(
        job=args.job,
        job_arguments=tuple(args.arguments),
        settings=settings,
        defaults=run_defaults(args, settings),
        resume=args.resume or args.available_now,
        py_files=existing(args.py_files),
        progress=args.progress,
        argv=tuple(argv),
    )


def no_file(job: Path) -> str:
    """Message for a missing job file, with the nearest name."""
    if job.is_dir():
        return f"{job} is a directory; name the job file in it"
    if not job.parent.is_dir():
        return f"there is no job file {job}: there is no directory {job.parent}"
    names = [path.name for path in job.parent.glob("*.py")]
    near = nearest_name(job.name, names)
    hint = f"; did you mean {str(job.with_name(near))!r}?" if near is not None else ""
    return f"there is no job file {job}{hint}"


def location(text: str) -> Path:
    """Parse a path or a ``file:`` URI on a command line."""
    try:
        return local_location(text)
    except UnsupportedFileSystemSchemeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _files(text: str) -> list[Path]:
    return [location(part) for part in text.split(",") if part]


def _setting_pair(text: str) -> tuple[str, str]:
    """Key and value of a setting on a command line."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form key=value")
    return key.strip(), value


def port(text: str) -> int:
    """Parse a port on a command line."""
    number = int(text)
    if not 0 <= number < 1 << 16:
        raise ValueError
    return number


def existing(py_files: Sequence[Path]) -> tuple[Path, ...]:
    """Parse the files of ``--py-files``, which must exist.

    Raises:
        UsageError: one does not exist, or is no module or archive.
    """
    for path in py_files:
        if not path.exists():
            raise UsageError(f"--py-files names {path}, which does not exist")
        if path.suffix not in {".py", ".zip", ".egg", ".whl"}:
            raise UsageError(f"--py-files takes .py, .zip, .egg and .whl files, not {path}")
    return tuple(py_files)


def _start(word: str | None) -> str | None:
    """Path of the savepoint to restore. A missing one is an error before Spark starts."""
    if word is None:
        return None
    from millrace.cli.savepoint_names import resolved
    from millrace.state.checkpoint.snapshot import snapshot_metadata

    try:
        return os.path.dirname(snapshot_metadata(resolved(word)))
    except (CheckpointError, UnsupportedFileSystemSchemeError) as error:
        raise UsageError(str(error)) from None


def environment_settings() -> dict[str, str]:
    """Settings from an environment variable, which other users cannot see, unlike command lines.
    The variable is removed from the environment.

    Raises:
        UsageError: the variable is not a JSON object of texts.
    """
    try:
        return settings_in(os.environ)
    except ConfigurationError as error:
        raise UsageError(str(error)) from None
    finally:
        os.environ.pop(SETTINGS_VARIABLE, None)  # processes that this one starts need no secrets


def run_settings(args: argparse.Namespace) -> Configuration:
    """Settings of a job, from the options of `add_run_options`.

    Raises:
        UsageError: a setting is unknown or wrong.
    """
    from_variable = environment_settings()
    values = dict(args.conf)
    given = {
        "spark.master": args.master,
        SETTING: args.remote,
        options.PARALLELISM.key: args.parallelism,
        options.CHECKPOINTING_DIR.key: args.checkpoint_dir,
        options.CHECKPOINTING_INTERVAL.key: args.checkpoint_interval,
        options.START_FROM.key: _start(args.from_savepoint),
        options.ALLOW_NON_RESTORED.key: args.allow_non_restored_state or None,
        options.ALLOW_PICKLE.key: args.allow_pickle or None,
        options.CLAIM_MODE.key: args.claim_mode,
        options.JOB_NAME.key: args.name,
        options.AVAILABLE_NOW.key: args.available_now or None,
    }
    values.update({key: value for key, value in given.items() if value is not None})
    settings = _with_origins(from_variable, values)
    values = from_variable | values
    if args.master is not None and args.remote is not None:
        raise UsageError(
            "--master and --remote are two places for one job: name either the Spark master "
            "or the Spark Connect server"
        )
    try:
        settings.validate()
        remote_in(values)
        for option in (options.CHECKPOINTING_DIR, options.SAVEPOINT_DIR, options.START_FROM):
            registry.resolved(settings.get(option) or "")
    except (ConfigurationError, UnsupportedFileSystemSchemeError) as error:
        raise UsageError(str(error)) from None
    for key in values:
        require_known(key)
    return settings


def _with_origins(from_variable: dict[str, str], given: dict[str, str]) -> Configuration:
    """Settings that know where they come from. A job server hands the settings of a submission on
    by a variable and by the command line, together with one of its own."""
    from millrace.engine.fence import own_fencing_token

    served = own_fencing_token() is not None
    variable = SettingOrigin.SUBMISSION if served else SettingOrigin.ENVIRONMENT
    line = SettingOrigin.SUBMISSION if served else SettingOrigin.COMMAND_LINE
    settings = Configuration(from_variable).marked(variable)
    settings.add_all(Configuration(given).marked(line))
    if served and options.CONTROL_DIR.key in given:
        own = {options.CONTROL_DIR.key: given[options.CONTROL_DIR.key]}
        settings.add_all(Configuration(own).marked(SettingOrigin.SERVER))
    return settings


def run_defaults(args: argparse.Namespace, settings: Configuration) -> Configuration:
    """Settings of ``config.yaml``, which the program's own settings override. For a job of a
    server, the server supplies them.

    Args:
        settings: those of the command line. Where they say on which Spark the job runs, the file
            does not.

    Raises:
        UsageError: the file is missing, or one of its settings is unknown or wrong.
    """
    try:
        if DEFAULTS_VARIABLE in os.environ:
            defaults = Configuration(settings_in(os.environ, DEFAULTS_VARIABLE))
            defaults.validate()
            defaults = defaults.marked(SettingOrigin.FILE)
        else:
            defaults = job_settings_in(settings_for(args.config))
        if any(settings.contains_key(key) for key in _PLACES):
            for key in _PLACES:
                defaults.remove_config(key)
        elif all(defaults.contains_key(key) for key in _PLACES):
            raise UsageError(f"the configuration file has {' and '.join(_PLACES)}; keep one")
        return defaults
    except ConfigurationError as error:
        raise UsageError(str(error)) from None
    finally:
        os.environ.pop(DEFAULTS_VARIABLE, None)


def require_known(key: str) -> None:
    """Refuse a key that is neither millrace's nor Spark's.

    Raises:
        UsageError: the key is neither millrace's nor Spark's.
    """
    # A configuration made in a program may carry foreign keys; on a command line nobody reads them.
    if key in OPTIONS or is_checked_elsewhere(key):
        return
    raise UsageError(str(unknown_key(key, OPTIONS)))
