"""`gossamer serve`: which clients it answers, and what it prints when it starts."""

import asyncio
import os
import signal
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError

import pytest
from tests.cli.conftest import Collection
from tests.cli.site import PATIENCE_S

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError, DirectoryUnusable
from gossamer.cli.serve import (
    accepted_hosts,
    access_of,
    directory_to_serve,
    is_any_address,
    is_local,
    warnings,
    web_server,
)
from gossamer.config.settings import Settings, WebSettings
from gossamer.store.directory import Directory
from gossamer.web.access.tokens import AccessTokens

KEYS = AccessTokens("a" * 40, "r" * 40)


def test_on_this_machine_reading_needs_no_token() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        access = access_of(WebSettings(host=host), KEYS)
        assert is_local(host) and access.is_open and not access.is_public and warnings(WebSettings(host=host)) == []


def test_beyond_this_machine_reading_needs_a_token_unless_public_is_set() -> None:
    for host in ("0.0.0.0", "::", "10.1.2.3", "search.example", ""):
        web = WebSettings(host=host)
        assert not is_local(host) and not access_of(web, KEYS).is_open
        assert "plain HTTP" in warnings(web)[0] and "reader-token" in warnings(web)[1]
        public = access_of(replace(web, public=True), KEYS)
        assert public.is_open and public.is_public
        assert "can read" in warnings(replace(web, public=True))[1]


def test_its_own_host_names_and_the_configured_ones_are_accepted() -> None:
    assert accepted_hosts(WebSettings()) == ("127.0.0.1", "localhost", "[::1]", "127.0.0.1")
    assert set(accepted_hosts(WebSettings(host="10.1.2.3", names=("Box.Example",)))) >= {"10.1.2.3", "box.example"}
    assert "[2001:db8::5]" in accepted_hosts(WebSettings(host="2001:db8::5"))
    assert "0.0.0.0" not in accepted_hosts(WebSettings(host="0.0.0.0", names=("a.example",)))


def test_bound_to_every_address_it_requires_configured_names(tmp_path: Path) -> None:
    async def start(host: str) -> None:
        settings = Settings(web=WebSettings(host=host, port=0))
        async with web_server(Directory(tmp_path), settings, real_outside()):
            raise AssertionError("it started")

    for host in ("0.0.0.0", "::", ""):
        assert is_any_address(host)
        with pytest.raises(ConfigError, match=r"web\.names"):
            asyncio.run(start(host))


def test_F_W6_the_printed_link_grants_access_and_a_new_token_replaces_the_old(collection: Collection) -> None:
    first = started(collection.root)
    assert (collection.root / "token").read_text().strip() == first
    second = started(collection.root, "--new-token")
    assert (collection.root / "token").read_text().strip() == second != first
    assert (collection.root / "token").stat().st_mode & 0o777 == 0o600


def test_a_new_directory_is_served_so_that_a_crawl_can_be_started_from_the_web_site(tmp_path: Path) -> None:
    root = tmp_path / "not yet"
    token = started(root)
    assert not Directory(root).state.exists(), "the state is created by a crawl only"
    assert started(root) == token, "the token stays the same before the first crawl"


def test_a_folder_with_other_files_is_not_made_a_collection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = real_outside()
    (tmp_path / "gossamer.toml").write_text("")
    assert directory_to_serve(tmp_path, outside) == Directory(tmp_path)
    assert "was created in" in capsys.readouterr().err
    (tmp_path / "thesis.doc").write_text("")
    with pytest.raises(DirectoryUnusable, match="there is no collection"):
        directory_to_serve(tmp_path, outside)
    with pytest.raises(DirectoryUnusable):
        directory_to_serve(tmp_path / "thesis.doc", outside)


def started(root: Path, *flags: str) -> str:
    """Start the server and try the printed link; returns its token."""
    command = [sys.executable, "-m", "gossamer", "serve", "--dir", str(root), "--port", "0", *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    assert process.stdout is not None
    try:
        link = process.stdout.readline().split()[2]
        address, _, token = link.partition("?token=")
        assert address.startswith("http://127.0.0.1:") and len(token) >= 43
        assert urllib.request.urlopen(f"{address}status.json", timeout=PATIENCE_S).status == 200
        changing = urllib.request.Request(f"{address}crawl/none", b"", {"Authorization": f"Bearer {token}"})
        for request, status in ((changing, (404, 405)), (f"{address}?token=wrong", (401,))):
            with pytest.raises(HTTPError) as refused:
                urllib.request.urlopen(request, timeout=PATIENCE_S)
            assert refused.value.code in status
            refused.value.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)
        process.stdout.close()
    return token
