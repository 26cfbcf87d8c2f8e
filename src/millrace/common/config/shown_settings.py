"""Settings as logs, REST and messages show them: with secrets hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

from millrace.common.similar_names import likeness_of

__all__ = ["HIDDEN", "shown_settings", "shown_statement", "shown_value", "shown_word"]

HIDDEN = "******"
SECRET = (
    "password",
    "secret",
    "token",
    "apikey",
    "api-key",
    "auth-params",
    "credential",
    "service-key",
    "basic-auth",
    "access-key",
    "access.key",
    "account.key",
    "azure.sas",
    "jaas.config",
    "http-headers",
    "alerts.webhook",
)
"""Words in the keys of settings with secret values (Flink: ``GlobalConfiguration`` hides the
same). The address of a webhook is a secret, too: whoever knows it can post there."""
_SHORT = frozenset({"pass", "passwd", "passphrase", "pw", "pwd"})
_MISSPELT = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "credential",
    "credentials",
)
_IN_VALUES = frozenset({"authorization", "basic", "bearer"})
"""Words of HTTP headers with secrets."""
_PARTS_OF_VALUES = (
    *("secret", "password", "apikey", "api-key", "api_key", "cookie", "webhook", "hooks."),
    *("key=", "sig=", "signature="),
)
"""Parts of values with secrets, such as parameters, and headers without a standard."""
_AUTHORIZING = ("authorization", "authentication", "webhook", "cookie")
"""Words of keys whose values let somebody in."""
_RANDOM = re.compile(r"(?=.{20})(?![a-z/+_-]+$)[\w/+-]+={0,2}", re.A)
"""At least 20 base64 or hexadecimal digits, such as a token has; words and paths in lower case
are none."""
_LIKENESS = 0.8
"""More than this of the letters of a word are those of a secret."""
_WORD = re.compile(r"[a-z]+")
_PASSWORD = re.compile(r"(\w://[^\s/:@]*):[^\s/]+@")
"""A password in a URL."""
_PARAMETER = re.compile(
    rf"([?&;][\w.-]*(?:{'|'.join(map(re.escape, SECRET))})[\w.-]*=)[^&;\s]+", re.I
)
"""A secret among the parameters of a URL."""
_CONNECT = re.compile(r"(\bsc://[^;\s]*;)\S+")
"""Parameters of a Spark Connect server's address, any of which may be a header with a secret."""
_ASSIGNMENT = re.compile(r"([\w.-]+)=(.*)", re.S)
_OPTION = re.compile(r"('((?:[^']|'')*)'\s*=\s*')((?:[^']|'')*)'")
"""An option in a statement of SQL: what is before its value, its key, and its value."""


def shown_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings with the values of secrets hidden, as Flink hides them, and secrets in URLs.

    Example:
        >>> shown_settings({"user.database": "postgresql://ada:pw@host/db", "s3.secret-key": "x"})
        {'user.database': 'postgresql://ada:******@host/db', 's3.secret-key': '******'}
    """
    return {
        key: HIDDEN if _is_secret(key) else shown_value(value) for key, value in settings.items()
    }


def shown_value(value: str) -> str:
    """A value with the secrets in its URLs hidden.

    Example:
        >>> shown_value("sc://host:443/;token=x"), shown_value("https://host/?api-key=x&n=1")
        ('sc://host:443/;******', 'https://host/?api-key=******&n=1')
    """
    value = _PASSWORD.sub(rf"\1:{HIDDEN}@", value)
    return _PARAMETER.sub(rf"\1{HIDDEN}", _CONNECT.sub(rf"\1{HIDDEN}", value))


def shown_word(word: str) -> str:
    """A word of a command line, with secrets hidden. It may set something (``key=value``).

    Example:
        >>> shown_word("--conf=s3.secret-key=x"), shown_word("parallelism.default=2")
        ('--conf=s3.secret-key=******', 'parallelism.default=2')
    """
    assignment = _ASSIGNMENT.fullmatch(word)
    if assignment is None:
        return shown_value(word)
    key, value = assignment.groups()
    return f"{key}={HIDDEN if _is_secret(key) else shown_word(value)}"


def shown_statement(text: str, unknown: int | None = None, key: str | None = None) -> str:
    """A statement of SQL with secrets hidden. Each character of a secret becomes a star, so that
    positions in the statement stay the same.

    Args:
        unknown: offset of an option that does not exist. Its key may be misspelt, so its value is
            also hidden if a part of the key is that of a secret, or almost, and if the value names
            a secret or looks random.
        key: key of such options, wherever they are.

    Example:
        >>> shown_statement("WITH ('url' = 'jdbc://ada:pw@host', 'password' = 'x''y')")
        "WITH ('url' = 'jdbc://ada:**@host', 'password' = '****')"
    """
    quoted = None if key is None else key.replace("'", "''")
    return _OPTION.sub(
        lambda option: _with_stars(option, option.start() == unknown or option[2] == quoted), text
    )


def _with_stars(option: re.Match[str], is_unknown: bool) -> str:
    before, key, value = option.groups()
    if _is_secret(key) or (is_unknown and _may_be_secret(key, value)):
        return f"{before}{'*' * len(value)}'"
    value = _PASSWORD.sub(lambda m: f"{m[1]}:{'*' * (len(m[0]) - len(m[1]) - 2)}@", value)
    value = _PARAMETER.sub(lambda m: m[1] + "*" * (len(m[0]) - len(m[1])), value)
    return f"{before}{value}'"


def _is_secret(key: str) -> bool:
    lower = key.lower()
    return any(word in lower for word in SECRET) or any(map(_is_like_secret, _WORD.findall(lower)))


def _may_be_secret(key: str, value: str) -> bool:
    """Whether the value of an unknown option may be a secret.

    Example:
        >>> _may_be_secret("fields.n.kinds", "random"), _may_be_secret("acces-key", "x")
        (False, True)
        >>> _may_be_secret("jass.config", "login password=x"), _may_be_secret("http-heders", "a:b")
        (True, True)
    """
    return (
        _has_part_of_secret(key.lower()) or _names_secret(value) or bool(_RANDOM.fullmatch(value))
    )


def _has_part_of_secret(key: str) -> bool:
    """Whether one or two neighbouring segments of a key in lower case are almost a secret's.

    Example:
        >>> _has_part_of_secret("fs.azure.acount.key.me.net"), _has_part_of_secret("key.formt")
        (True, False)
    """
    segments = key.split(".")
    if len(segments) > 1 and segments[0] == "key":
        del segments[0]  # the key of a record: 'key.format', 'key.fields'
    if any(segment.endswith("key") for segment in segments):
        return True
    windows = [*segments, *map(".".join, pairwise(segments))]
    return any(
        likeness_of(secret, window) > _LIKENESS for secret in SECRET for window in windows
    ) or any(
        word.endswith("auth")
        or any(likeness_of(prefix, word) > _LIKENESS for prefix in _AUTHORIZING)
        for word in _WORD.findall(key)
    )


def _names_secret(value: str) -> bool:
    """Whether a part of a value is the name of a secret.

    Example:
        >>> [_names_secret(each) for each in ("X-Api-Key: abc", "clientSecret='x'", "keys")]
        [True, True, False]
    """
    lower = value.lower()
    return any(part in lower for part in _PARTS_OF_VALUES) or any(
        word in _IN_VALUES or _is_like_secret(word) for word in _WORD.findall(lower)
    )


@cache
def _is_like_secret(word: str) -> bool:
    """Whether a word of a key is short for a secret, or misspelt: the value is hidden even if no
    such setting exists, as it stays in logs.

    Example:
        >>> [_is_like_secret(word) for word in ("pasword", "pwd", "scret", "section", "topic")]
        [True, True, True, False, False]
    """
    return word in _SHORT or any(likeness_of(secret, word) > _LIKENESS for secret in _MISSPELT)
