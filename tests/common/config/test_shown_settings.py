"""Settings with secrets hidden."""

from __future__ import annotations

import pytest

from millrace.common.config.shown_settings import (
    HIDDEN,
    shown_settings,
    shown_statement,
    shown_value,
)


def test_what_is_secret() -> None:
    keys = ("s3.secret-key", "fs.s3a.access.key", "rest.token", "jdbc.PASSWORD", "my.apikey")
    keys += ("spark.hadoop.fs.azure.account.key.mine.dfs.core.windows.net",)
    assert set(shown_settings(dict.fromkeys(keys, "x")).values()) == {"******"}
    plain = {"parallelism.default": "2", "topic": "t", "scan.section": "s", "compass": "n"}
    assert shown_settings(plain) == plain


@pytest.mark.parametrize("key", ["pasword", "db.passwort", "scret", "Tokn", "my-pwd", "credntial"])
def test_a_secret_with_a_misspelt_key_is_hidden(key: str) -> None:
    assert shown_settings({key: "x"}) == {key: HIDDEN}
    assert shown_statement(f"OPTIONS('{key}' = 'x')") == f"OPTIONS('{key}' = '*')"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("sc://h:443/;token=dapi;user_id=ada;x-auth=b", "sc://h:443/;******"),
        ("sc://h:443", "sc://h:443"),
        ("jdbc:mysql://h/db?user=ada&Password=pw", "jdbc:mysql://h/db?user=ada&Password=******"),
        ("amqp://ada:p@w@h,http://bob:pw@g/", "amqp://ada:******@h,http://bob:******@g/"),
        ("a;b=c", "a;b=c"),
    ],
)
def test_secrets_in_urls(value: str, shown: str) -> None:
    assert shown_settings({"spark.remote": value}) == {"spark.remote": shown}
    assert shown_value(value) == shown


def test_a_sas_of_azure_is_hidden() -> None:
    key = "spark.hadoop.fs.azure.sas.box.account.blob.core.windows.net"
    assert shown_settings({key: "sig"}) == {key: HIDDEN}
