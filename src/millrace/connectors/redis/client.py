"""Connections to Redis by URL, to one server, through Sentinel or to a cluster; errors and
pipelines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from millrace.common.errors import JobDefinitionError
from millrace.common.installation import missing_package
from millrace.connectors.errors import ConnectorError

__all__ = [
    "Command",
    "RedisClient",
    "RedisError",
    "RedisUnavailableError",
    "import_redis",
    "require_plain",
    "require_url",
    "shown_command",
    "shown_url",
]

Command = tuple[Any, ...]
"""Name and arguments, as in ``redis-cli``: texts, bytes and numbers."""
_SCHEMES = (
    *("redis", "rediss", "unix"),
    *("redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"),
)
_PLAIN = frozenset({str, bytes, int, float})
_TIMEOUT_S = 30.0
_PASSING = ("MISCONF", "NOREPLICAS", "BUSY", "LOADING", "OOM", "UNKILLABLE")


class RedisError(ConnectorError):
    """Redis is not reachable, or refuses a job's commands."""


class RedisUnavailableError(RedisError):
    """Redis is not reachable or accepts no writes now; a retry may succeed."""


def import_redis() -> Any:
    """Import the module redis.

    Raises:
        RedisError: it is not installed.
    """
    try:
        import redis
        import redis.crc
    except ImportError as error:
        raise RedisError(
            missing_package("the Redis connector needs", "redis", "redis", on_workers=True)
        ) from error
    return redis


def require_url(url: Any) -> str:
    """The URL itself, after a check.

    Raises:
        JobDefinitionError: the argument is not a URL of Redis.
    """
    scheme, separator, place = url.partition("://") if isinstance(url, str) else ("", "", "")
    if scheme not in _SCHEMES or not separator or not place:
        raise JobDefinitionError(
            "the URL of a Redis server is redis://host:6379/0, rediss:// with TLS, unix:///path, "
            "redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379,host:26379/name/0, "
            + (f"not one that begins with '{scheme}'" if separator else "and has ://")
        )
    if not _is_readable(url):
        raise JobDefinitionError(
            "the URL of a Redis server cannot be read; special characters in a password or "
            "an option are escaped: / as %2F, ? as %3F, # as %23, @ as %40, [ as %5B"
        )
    return str(url)


def _is_readable(url: str) -> bool:
    """Whether the end of the password is unambiguous, since messages show the text after it."""
    try:
        parts = urlsplit(url)
        if "+" not in parts.scheme:
            _ = parts.port
    except ValueError:  # it quotes the password
        return False
    return "@" in parts.netloc or "@" not in url


def shown_url(url: str) -> str:
    """The URL without user, password and options, for messages."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def shown_command(command: Command) -> str:
    """Name and key of a command; its values are left out because they may be private."""
    return " ".join(str(part)[:100] for part in command[:2])


def require_plain(commands: Sequence[Command]) -> None:
    """Refuse arguments that Redis cannot store.

    Raises:
        RedisError: an argument is neither text nor bytes nor a number; or there is no command.
    """
    for command in commands:
        if type(command) is not tuple or not command:
            raise RedisError(
                "a Redis command is a tuple of its name and arguments, such as ('SET', 'key', 5), "
                f"not a {type(command).__name__}"
            )
        for part in command:
            # those of other kinds, as numpy's, would be written as Python shows them
            if type(part) not in _PLAIN and not isinstance(part, (str, bytes)):
                raise RedisError(
                    f"command '{shown_command(command)}' has a {type(part).__name__} among its "
                    "arguments: Redis stores texts, bytes and Python's own numbers (json.dumps() "
                    "makes a text, float() a number)"
                )


class RedisClient:
    """Runs many commands concurrently; connects at its first use.

    Args:
        url: a URL that `require_url` accepts.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._redis = import_redis()
        self._is_cluster = "+cluster" in url.partition("://")[0]
        self._client: Any = None

    def run(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands, then read the responses; refused commands have exceptions as responses.

        Raises:
            RedisUnavailableError: the server cannot be reached, or does not write now; some may
                have been carried out.
            RedisError: it refuses user or password.
        """
        with self._told_of():
            client = self._connected()
            if self._is_cluster:
                answers = self._run_in_cluster(client, commands)
            else:
                answers = self._exchange(client.connection_pool, commands)
            for answer in answers:
                if self.passes(answer):
                    raise answer
        return answers

    def _run_in_cluster(self, client: Any, commands: Sequence[Command]) -> list[Any]:
        pipeline = client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        answers: list[Any] = pipeline.execute(raise_on_error=False)
        return answers

    @contextmanager
    def transaction(self, key: str) -> Iterator[RedisTransaction]:
        """Begin a transaction on the server that has the key. The server executes it only if the
        key's value has not changed since.

        Raises:
            RedisUnavailableError: the server cannot be reached, or does not write now.
            RedisError: it refuses user or password.
        """
        with self._told_of():
            client = self._connected()
            if self._is_cluster:
                client = client.get_redis_connection(client.get_node_from_key(key))
            pool = client.connection_pool
            connection = pool.get_connection()
            try:
                yield RedisTransaction(connection, key, self.passes)
            except BaseException:
                connection.disconnect()  # no longer watching, no answers left unread
                raise
            finally:
                pool.release(connection)

    def _exchange(self, pool: Any, commands: Sequence[Command]) -> list[Any]:
        connection = pool.get_connection()
        try:
            return exchange(connection, commands)
        except BaseException:
            connection.disconnect()
            raise
        finally:
            pool.release(connection)

    def passes(self, answer: Any) -> bool:
        """Whether a response is a temporary error: the state of the server causes it, not the
        command, so a retry may succeed.
        """
        errors = self._redis.exceptions
        kinds = (
            *(errors.ConnectionError, errors.ReadOnlyError, errors.OutOfMemoryError),
            *(errors.MovedError, errors.AskError, errors.TryAgainError),
            *(errors.ClusterDownError, errors.MasterDownError),
        )
        return isinstance(answer, kinds) or (
            isinstance(answer, errors.ResponseError) and str(answer).startswith(_PASSING)
        )

    @contextmanager
    def _told_of(self) -> Iterator[None]:
        """Add the server to connection errors; the next call reconnects."""
        errors = self._redis.exceptions
        try:
            yield
        except errors.AuthenticationError as error:
            self.close()
            raise RedisError(
                f"Redis at {shown_url(self._url)} refuses user or password: {error}; they are part "
                "of the URL, redis://user:password@host"
            ) from None
        except (errors.RedisError, OSError) as error:
            self.close()
            if isinstance(error, errors.ResponseError) and not self.passes(error):
                raise RedisError(f"Redis at {shown_url(self._url)} refuses: {error}") from error
            raise RedisUnavailableError(
                f"cannot write to Redis at {shown_url(self._url)}: {error}"
            ) from error

    def _connected(self) -> Any:
        if self._client is None:
            self._client = _connect(self._url)
        return self._client

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None


class RedisTransaction:
    """MULTI and EXEC on a connection that watches a key."""

    def __init__(self, connection: Any, key: str, passes: Callable[[Any], bool]) -> None:
        self._connection = connection
        self._key = key
        self._passes = passes
        watched, self.value = exchange(connection, [("WATCH", key), ("GET", key)])
        for answer in (watched, self.value):
            if isinstance(answer, Exception):
                raise answer

    def execute(self, commands: Sequence[Command]) -> tuple[bool, list[Any]]:
        """Execute all commands or none.

        Returns:
            Whether they were carried out, and the answers. If they were not and no answer is an
            exception, the key had changed.

        Raises:
            RedisError: in a cluster, the commands are for keys of several slots.
        """
        answers = exchange(self._connection, [("MULTI",), *commands, ("EXEC",)])
        end, queued = answers[-1], answers[1:-1]
        if isinstance(end, list):
            return True, end
        self._require_one_slot([*queued, end])
        refused = [answer for answer in answers[:-1] if isinstance(answer, Exception)]
        for answer in refused:
            if self._passes(answer):
                raise answer
        if isinstance(end, Exception) and not refused:
            raise end
        return False, queued

    def _require_one_slot(self, answers: Sequence[Any]) -> None:
        redis = import_redis()
        errors = redis.exceptions
        slot = redis.crc.key_slot(self._key.encode())
        for answer in answers:
            moved = isinstance(answer, errors.MovedError) and answer.slot_id != slot
            if moved or isinstance(answer, errors.ClusterCrossSlotError):
                raise RedisError(
                    "in a Redis cluster, exactly once needs keys that are all in one slot: give "
                    "them and set_sink_id() the same hash tag, such as {shop}"
                )

    def give_up(self) -> None:
        """Stop watching the key."""
        exchange(self._connection, [("UNWATCH",)])


def exchange(connection: Any, commands: Sequence[Command]) -> list[Any]:
    """Send all commands together, then read their responses."""
    kind = import_redis().exceptions.ResponseError
    connection.send_packed_command(connection.pack_commands(commands))
    answers: list[Any] = []
    for _ in commands:
        try:
            answers.append(connection.read_response())
        except kind as error:
            answers.append(error)
    return answers


def _connect(url: str) -> Any:
    """A redis-py client."""
    redis = import_redis()
    scheme, _, rest = url.partition("://")
    plain, _, kind = scheme.partition("+")
    if not kind:
        return redis.Redis.from_url(url, **_timeouts(url))
    place, _, path = rest.partition("/")
    path, question, query = path.partition("?")
    user, at, hosts = place.rpartition("@")
    name, _, database = path.partition("/")
    # redis-py reads URLs with one host; those of Sentinel and clusters have several
    base = f"{plain}://{user}{at}host/{database if kind == 'sentinel' else path}{question}{query}"
    options = {**redis.connection.parse_url(base), **_timeouts(url)}
    for unwanted in ("host", "connection_class", "db"):
        value = options.pop(unwanted, None)
        if unwanted == "db" and value and kind == "sentinel":
            options["db"] = value
    options["ssl"] = plain == "rediss"
    if kind == "sentinel":
        return _by_sentinel(redis, _places(hosts, 26379), name, options)
    nodes = [redis.cluster.ClusterNode(*where) for where in _places(hosts, 6379)]
    return redis.RedisCluster(startup_nodes=nodes, **options)


def _by_sentinel(redis: Any, places: list[tuple[str, int]], name: str, options: Any) -> Any:
    own = {key: options.pop(f"sentinel_{key}", None) for key in ("username", "password")}
    timeout = {"socket_timeout": options["socket_timeout"]}
    sentinel = redis.sentinel.Sentinel(places, sentinel_kwargs={**timeout, **own})
    return sentinel.master_for(name, **options)


def _places(hosts: str, port: int) -> list[tuple[str, int]]:
    places = []
    for host in hosts.split(","):
        name, _, number = host.rpartition(":") if ":" in host else (host, "", port)
        places.append((name, int(number)))
    return places


def _timeouts(url: str) -> dict[str, float]:
    """Default timeouts, in seconds, that the URL does not set."""
    names = ("socket_timeout", "socket_connect_timeout")
    return {name: _TIMEOUT_S for name in names if name not in url.partition("?")[2]}
