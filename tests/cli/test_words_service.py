"""A collection whose words are in OpenSearch, used as any other: crawl, search, serve, rebuild, forget."""

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.cli.site import OPEN, PATIENCE_S, QUICK, Site, command, gossamer, harbour, plain_environment, started
from tests.services import opensearch
from tests.services.opensearch import Server

from gossamer.base.clock import SystemClock
from gossamer.base.tell import silent
from gossamer.config.load import GUARDED
from gossamer.store.service import Service
from gossamer.views.words.opensearch.index import remove
from gossamer.views.words.place import MARK, OWNER, REMEMBERED

PAGES = 60


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    server, prefix = opensearch.server(), opensearch.index_for(tmp_path)
    yield f"{server}/{prefix}"
    service = Service("views.words", server, SystemClock(), silent)
    for name in (prefix, *(f"{prefix}-{number:04}" for number in (1, 2, 3))):
        remove(service, name)


def with_words(address: str, *words: object) -> "subprocess.CompletedProcess[str]":
    return gossamer(*words, GOSSAMER_VIEWS_WORDS=address)


def urls(address: str, root: Path, *words: str) -> list[str]:
    done = with_words(address, "search", *words, "--dir", root, "--json", "--limit", "100")
    assert done.returncode in (0, 1), done.stderr
    return sorted(hit["url"] for hit in json.loads(done.stdout)["hits"])


def test_a_crawl_with_its_words_at_a_service_is_searched_rebuilt_and_forgotten(tmp_path: Path, address: str) -> None:
    root = tmp_path / "c"
    with Site(harbour()).serving() as site:
        done = with_words(address, "crawl", site.root, "--dir", root, *QUICK)
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in (root / "index").iterdir()) == [MARK, REMEMBERED]
        assert (root / OWNER).is_file()
        assert "password" not in (root / "index" / MARK).read_text()
        keepers = urls(address, root, "keeper")
        assert len(keepers) == 4
        verified = with_words(address, "verify", "--dir", root)
        assert verified.returncode == 0 and "8 of 8 pages" in verified.stdout
        assert with_words(address, "rebuild", "--dir", root).returncode == 0
        assert urls(address, root, "keeper") == keepers
        found = urllib.request.urlopen(f"{address.rpartition('/')[0]}/_cat/indices?h=index").read().decode()
        prefix = address.rpartition("/")[2]
        assert [name for name in found.split() if name.startswith(prefix)] == [f"{prefix}-0001.1"]
        assert with_words(address, "forget", keepers[0], "--yes", "--dir", root).returncode == 0
        assert urls(address, root, "keeper") == keepers[1:]


def test_the_setting_counts_only_if_the_user_trusts_the_collection() -> None:
    assert "views.words" in GUARDED, "it sends the words of pages to another host"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "server"
    folder.mkdir()
    running = opensearch.own_server(folder)
    yield running
    running.stop()


def wait_for(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)


def many() -> dict[str, str]:
    links = "".join(f'<a href="/{n}">x</a>' for n in range(PAGES))
    pages = {f"/{n}": f"<title>Page {n}</title><p>the quayside number {n}" for n in range(PAGES)}
    return pages | {"/": f"<title>Start</title><p>the quayside begins {links}"}


@pytest.mark.slow
def test_a_service_that_is_killed_in_the_middle_of_a_crawl_and_started_again_loses_nothing(
    tmp_path: Path, own: Server
) -> None:
    root, address = tmp_path / "c", f"{own.address}/crawl"
    with Site(many()).serving() as site:
        words = ["crawl", site.root, "--dir", root, *OPEN, "--delay", "0.1", "--json"]
        with (tmp_path / "out").open("wb") as out:
            environment = plain_environment(GOSSAMER_VIEWS_WORDS=address)
            crawl = subprocess.Popen(command(*words), stdout=out, stderr=out, env=environment)
            wait_for(lambda: len(site.hits) > 15)
            own.stop()
            gone = with_words(address, "search", "quayside", "--dir", root)
            assert gone.returncode == 1 and "views.words at" in gone.stderr and "trying again" in gone.stderr
            assert "Traceback" not in gone.stderr
            own.start()
            assert crawl.wait(PATIENCE_S) == 0, (tmp_path / "out").read_text()
        assert len(urls(address, root, "quayside")) == PAGES + 1
        verified = with_words(address, "verify", "--dir", root)
        assert verified.returncode == 0 and f"{PAGES + 1} of {PAGES + 1} pages" in verified.stdout


@pytest.mark.slow
def test_the_search_page_says_that_the_service_is_gone(tmp_path: Path, own: Server) -> None:
    root, address = tmp_path / "c", f"{own.address}/crawl"
    with Site(harbour()).serving() as site:
        assert with_words(address, "crawl", site.root, "--dir", root, *QUICK).returncode == 0
    serve = started("serve", "--dir", root, "--port", "0", GOSSAMER_VIEWS_WORDS=address)
    try:
        assert serve.stdout is not None
        printed = ""
        while not (link := re.search(r"http://127\.0\.0\.1:\d+/", printed)):
            printed += serve.stdout.readline()
        site_url = link[0]
        page = urllib.request.urlopen(f"{site_url}?q=keeper", timeout=60).read().decode()
        assert "Keeper 1" in page
        assert json.loads(urllib.request.urlopen(f"{site_url}suggest.json?q=keep", timeout=60).read())
        own.stop()
        time.sleep(2)
        for path, accept in (("?q=keeper", "text/html"), ("search.json?q=keeper", "application/json")):
            request = urllib.request.Request(f"{site_url}{path}", headers={"Accept": accept})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=60)
            answer = refused.value.read().decode()
            assert refused.value.code == 503 and "views.words at" in answer and "Traceback" not in answer
        own.start()
        wait_for(lambda: "Keeper 1" in urllib.request.urlopen(f"{site_url}?q=keeper", timeout=60).read().decode())
    finally:
        serve.terminate()
        serve.wait(30)
        assert serve.stdout is not None
        assert "Traceback" not in serve.stdout.read()


def test_with_a_wrong_password_a_crawl_says_so_and_keeps_its_pages(tmp_path: Path) -> None:
    """OpenSearch without its security plug-in accepts any password, so a small server refuses."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("Content-Length", "12")
            self.end_headers()
            self.wfile.write(b"Unauthorized")

        do_PUT = do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://spider:${{WORDS_PASSWORD}}@127.0.0.1:{server.server_address[1]}/c"
    variables = {"GOSSAMER_VIEWS_WORDS": address, "WORDS_PASSWORD": "a-secret-word"}
    with Site({"/": "<title>One</title><p>harbour"}).serving() as site:
        done = gossamer("crawl", site.root, "--dir", tmp_path / "c", *QUICK, **variables)
    server.shutdown()
    assert done.returncode != 0
    assert "status 401" in done.stderr and "safe in the archive" in done.stderr
    assert "a-secret-word" not in done.stderr + done.stdout + str(os.listdir(tmp_path / "c"))
