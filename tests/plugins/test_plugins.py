"""Formats and protocols unknown to the program, plugged in from files, and crawled on a small server."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.cli.site import OPEN, gossamer

from gossamer.archive.reader import volumes_in
from gossamer.base.errors import ConfigError
from gossamer.base.files import DiskFiles
from gossamer.frontier.reports import ledger
from gossamer.plugins.code import NAME, kept_in, recalled
from gossamer.plugins.settings import plugged_in, protocols_of, split, write
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.store.trust import Code, allow
from gossamer.values.messages import Plugged
from gossamer.workers.jobs import READ, job_for

PROTOCOL = """
from gossamer import Answer

class Quay:
    port = 1900
    with_tls = False
    has_robots = True

    async def fetch(self, url, dial, most_bytes):
        reader, writer = await dial()
        writer.write(url.encode() + b"\\r\\n")
        head = (await reader.readline()).decode().split()
        if head[0] == "31":
            return Answer(status=301, location=head[1])
        if head[0] == "51":
            return Answer(status=404)
        return Answer(await reader.read(most_bytes + 1), head[1])
"""
READERS = """
from gossamer import Text

def tables(body, url, media_type):
    rows = [line.split(",") for line in body.decode().splitlines()]
    if rows[0][0] == "broken":
        raise ValueError("no table")
    return Text(" ".join(" ".join(row) for row in rows[1:]), title=rows[0][0], links=tuple(row[-1] for row in rows[1:]))

def lines(body, url, media_type):
    rows = body.decode().splitlines()
    links = tuple(line[2:].split()[0] for line in rows if line.startswith("=>"))
    return Text("\\n".join(line for line in rows if not line.startswith("=>")), rows[0].lstrip("# "), (), links)
"""
PAGES = {
    "/robots.txt": "text/plain\nUser-agent: *\nDisallow: /private\n",
    "/": "text/quay\n# The quay\nShips and ropes.\n=> /table.csv A table\n=> old Old\n=> /private/x No\n=> /lost Lost",
    "/table.csv": "text/csv\nboats,harbour,way\nschooner,north,/deep\nketch,south,/broken.csv\n",
    "/broken.csv": "text/csv\nbroken\n",
    "/deep": "text/quay\n# The deep\nWhales.\n=> https://127.0.0.1:1/elsewhere Out of reach",
    "/private/x": "text/quay\n# Private\n",
}


@contextmanager
def quay() -> Iterator[tuple[str, list[str]]]:
    """The root URL of a server with a one-line protocol, and the paths requested from it."""
    hits: list[str] = []

    class Answers(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            url = self.rfile.readline().decode().strip()
            path = "/" + url.split("/", 3)[3]
            hits.append(path)
            if path == "/old":
                self.wfile.write(b"31 /deep\n")
            elif path not in PAGES:
                self.wfile.write(b"51 nothing\n")
            else:
                kind, _, body = PAGES[path].partition("\n")
                self.wfile.write(f"20 {kind}\n{body}".encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"quay://127.0.0.1:{server.server_address[1]}/", hits
        finally:
            server.shutdown()
            thread.join()


def install_plugins(folder: Path) -> None:
    (folder / "quay.py").write_text(PROTOCOL)
    (folder / "own.py").write_text(READERS)
    (folder / "gossamer.toml").write_text(
        '[crawl]\nprotocols = ["quay=quay.py:Quay"]\nreaders = ["text/csv=own.py:tables", "text/quay=own.py:lines"]\n'
    )
    allow([Code("", f"{name}.py:x", folder) for name in ("quay", "own")])


def test_M_E7_a_protocol_and_two_formats_are_plugged_in_without_changing_the_program(tmp_path: Path) -> None:
    install_plugins(tmp_path)
    with quay() as (root, hits):
        done = gossamer("crawl", root, "--dir", tmp_path, *OPEN, "--delay", "0.02", "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    ends = {line["url"]: line for line in lines if line.get("event") == "visit.settled"}
    outcomes = {url.removeprefix(root): (end["outcome"], end["is_page"]) for url, end in ends.items()}
    assert outcomes.pop("robots.txt") == ("fetched", False)
    assert outcomes == {
        "": ("fetched", True),
        "table.csv": ("fetched", True),
        "old": ("moved", False),
        "deep": ("fetched", True),
        "lost": ("gone", False),
        "broken.csv": ("fetched", False),
        "private/x": ("robots", False),
    }
    assert hits[0] == "/robots.txt" and "/private/x" not in hits and len(hits) == len(set(hits)) == 7
    assert volumes_in(DiskFiles(), Directory(tmp_path).archive)
    with closing(read_only(Directory(tmp_path).state)) as state:
        rows = list(ledger(state))
        assert [row.host for row in rows] == [root.rstrip("/").replace("://", "|")] and not rows[0].broken
    assert recalled(tmp_path, DiskFiles()).schemes == (("quay", 1900),)
    why = gossamer("why", f"{root}deep", "--dir", tmp_path)
    assert why.returncode == 0 and f"{root}table.csv" in why.stdout, why.stderr
    copy = tmp_path / "copy"
    assert gossamer("backup", copy, "--dir", tmp_path).returncode == 0
    assert {"plugged.json", "learned"} <= {path.name for path in copy.iterdir()}
    pages = [json.loads(line) for line in gossamer("export", "jsonl", "--dir", copy).stdout.splitlines()]
    titles = {page["url"].removeprefix(root): page["title"] for page in pages}
    assert (titles[""], titles["table.csv"]) == ("The quay", "boats")


def test_M_E7_connections_of_a_protocol_are_guarded_like_all_others(tmp_path: Path) -> None:
    install_plugins(tmp_path)
    with quay() as (root, hits):
        done = gossamer("crawl", root, "--dir", tmp_path, "--contact", "a@example.org", "--json")
    assert done.returncode != 0 and not hits


def test_plugins_are_recorded_in_the_collection_and_removed_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # other tests allow readers with the same name
    plugged = Plugged((("text/csv", "/x.py:read"),), (("quay", 1900),))
    write(plugged, tmp_path, DiskFiles())
    assert kept_in(tmp_path, DiskFiles()) == plugged
    assert recalled(tmp_path, DiskFiles()) == Plugged((), plugged.schemes), "its reader has not been allowed"
    write(Plugged(), tmp_path, DiskFiles())
    assert not (tmp_path / NAME).exists()


def test_nodes_of_a_cluster_find_the_code_in_folders_of_their_own(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "own.py").write_text("def tables(content): ...\n")
    plugged = Plugged((("text/csv", f"{one / 'own.py'}:tables"), ("text/x-dot", "dot")))
    write(plugged, one, DiskFiles(), is_shared=True)
    assert kept_in(one, DiskFiles()) == plugged
    (other / NAME).write_bytes((one / NAME).read_bytes())
    assert kept_in(other, DiskFiles()).readers == (("text/csv", f"{other / 'own.py'}:tables"), ("text/x-dot", "dot"))


def test_without_plugins_readers_run_the_usual_job() -> None:
    assert job_for(Plugged()) == READ
    assert job_for(Plugged((("text/csv", "/x.py:read"),))).startswith("gossamer.reader.reading:reader {")


@pytest.mark.parametrize("setting", ["text/csv=nowhere.py:read", "csv", "csv=own.py:tables", "text/csv"])
def test_an_invalid_reader_is_refused_at_the_start(tmp_path: Path, setting: str) -> None:
    install_plugins(tmp_path)
    with pytest.raises(ConfigError, match="reader"):
        plugged_in([setting], {}, tmp_path)


@pytest.mark.parametrize(
    "setting", ["quay=nowhere.py:Quay", "quay=quay.py:Nothing", "quay=own.py:tables", "http=quay.py:Quay", "quay"]
)
def test_an_invalid_protocol_is_refused_at_the_start(tmp_path: Path, setting: str) -> None:
    install_plugins(tmp_path)
    with pytest.raises(ConfigError, match="protocol"):
        protocols_of([setting], tmp_path)


def test_an_entry_point_has_the_name_of_its_type_or_scheme() -> None:
    assert split("text/csv") == ("text/csv", "text/csv")
    assert split("gemini = gemini.py:Gemini") == ("gemini", "gemini.py:Gemini")
