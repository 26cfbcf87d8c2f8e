"""Which token goes to which server."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.cli.server_client import TOKEN_VARIABLE, server_address
from millrace.common.errors import MillraceError
from millrace.server.server_address import ServerAddress


def test_a_token_goes_to_the_server_that_has_made_it(tmp_path: Path) -> None:
    ServerAddress("http://127.0.0.1:8081", "ours", 1).write(tmp_path)
    for url in ("http://127.0.0.1:8081/", "http://localhost:8081"):
        assert server_address(url, None, tmp_path, {}).token == "ours"
    for url in ("http://127.0.0.1:8082", "https://127.0.0.1:8081", "http://elsewhere:8081"):
        assert server_address(url, None, tmp_path, {}).token is None
    given = server_address("http://elsewhere:8081", None, tmp_path, {TOKEN_VARIABLE: "theirs"})
    assert given.token == "theirs"


@pytest.mark.parametrize("token", ["t\u00f6ken", "two\nlines"])
def test_what_is_no_token(tmp_path: Path, token: str) -> None:
    with pytest.raises(MillraceError, match="the token has invalid characters"):
        server_address("http://there", None, tmp_path, {TOKEN_VARIABLE: token})
