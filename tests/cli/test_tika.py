"""A Tika server reads what nothing here can: in a crawl, again in a rebuild, and not at all while it is away."""

from pathlib import Path

import pytest
from tests.cli.answers import Says, Web, article
from tests.cli.site import QUICK, gossamer, json_lines
from tests.services import tika
from tests.web.site import serving

from gossamer.store.directory import Directory

pytestmark = pytest.mark.slow


def settings(root: Path, address: str) -> None:
    types = 'types = ["text/html", "application/x-tex"]'
    (root / "gossamer.toml").write_text(f'[fetch]\ntika = "{address}"\n{types}\n')


TEX = b"%!TeX\n\\documentclass{article}\n\\begin{document}\nThe pangolin walks at night.\n\\end{document}\n"


def found_in(root: Path, words: str) -> list[str]:
    with serving(Directory(root)) as site:
        return [str(hit["url"]) for hit in site.ask(f"/search.json?q={words}").json["hits"]]


def test_M_C9_a_tika_server_reads_the_rest_also_in_a_rebuild(tmp_path: Path) -> None:
    server = tika.server()
    answers = {"/": article("start", "/paper.tex"), "/paper.tex": Says(TEX, kind="application/x-tex")}
    with Web(answers).serving() as web:
        settings(tmp_path, server.address)
        done = gossamer("crawl", web.root, "--dir", tmp_path, *QUICK, "--json")
        assert done.returncode == 0, done.stderr
        address = f"{web.root}paper.tex"
    assert found_in(tmp_path, "pangolin") == [address]
    for spooled in (tmp_path / "spool").iterdir():
        spooled.unlink()  # then captures are read again
    assert gossamer("rebuild", "--dir", tmp_path).returncode == 0
    assert found_in(tmp_path, "pangolin") == [address]


def test_while_the_server_is_away_the_crawl_goes_on_and_says_so(tmp_path: Path) -> None:
    answers = {"/": article("start", "/paper.tex"), "/paper.tex": Says(TEX, kind="application/x-tex")}
    with Web(answers).serving() as web:
        settings(tmp_path, "http://127.0.0.1:9")
        done = gossamer("crawl", web.root, "--dir", tmp_path, *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    events = json_lines(done.stdout)
    assert any(line["event"] == "service.lost" and "fetch.tika" in str(line["service"]) for line in events)
    assert found_in(tmp_path, "pangolin") == [] and found_in(tmp_path, "start")


def test_an_address_that_is_none_stops_the_crawl_with_a_message(tmp_path: Path) -> None:
    settings(tmp_path, "ftp://127.0.0.1/")
    done = gossamer("crawl", "http://127.0.0.1:8080/", "--dir", tmp_path, *QUICK)
    assert done.returncode != 0 and "fetch.tika is not the URL of a service" in done.stderr
