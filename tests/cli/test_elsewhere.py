"""Exports, imports, backups and rebuilds: the views are the same wherever they are made."""

import json
import shutil
from io import BytesIO
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from pyoxigraph import NamedNode, RdfFormat, parse
from tests.cli.conftest import Collection
from tests.cli.site import OPEN, PATIENCE_S, QUICK, Site, gossamer, harbour, held, searchable, started, wait_until
from tests.cli.test_commands import exit_code
from warcio.archiveiterator import ArchiveIterator

from gossamer.archive.catalogue import Catalogue
from gossamer.base.files import DiskFiles
from gossamer.store.directory import Directory
from gossamer.views.facts.sources import PROVENANCE
from gossamer.views.facts.store import opened


def exported(what: str, collection: Collection, out: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    assert exit_code(monkeypatch, "export", what, "--dir", collection.root, "--out", out) == 0
    assert [path.name for path in out.parent.iterdir()] == [out.name], "no partial file is left"
    return out.read_bytes()


def test_exported_n_quads_are_the_facts_of_the_graph(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = exported("nquads", collection, tmp_path / "facts.nq", monkeypatch)
    quads = set(parse(written, RdfFormat.N_QUADS))
    of_pages = {quad for quad in opened(Directory(collection.root).graph) if quad.graph_name != NamedNode(PROVENANCE)}
    assert quads == of_pages and len(quads) == 12 == written.count(b"\n")
    assert {quad.graph_name.value for quad in quads} == {f"{collection.origin}people/{n}" for n in range(4)}


def test_pages_as_json_lines_have_text_links_and_facts(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = exported("jsonl", collection, tmp_path / "pages.jsonl", monkeypatch).splitlines()
    pages = {page["url"].removeprefix(collection.origin): page for page in map(json.loads, lines)}
    assert len(pages) == 8
    keeper = pages["people/1"]
    assert keeper["title"] == "Keeper 1" and "lights lamps" in keeper["text"]
    assert keeper["types"] == ["http://schema.org/Person"] and len(keeper["facts"]) == 3
    assert [link["url"] for link in keeper["links"]] == [collection.origin]


def test_pages_as_plain_text_are_separated_by_form_feeds(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = exported("text", collection, tmp_path / "pages.txt", monkeypatch).decode()
    pages = text.split("\f\n")[:-1]
    assert len(pages) == 8
    knots = next(page for page in pages if page.startswith(f"{collection.origin}docs/knots\n"))
    assert knots.splitlines()[1] == "Knots" and "king of knots" in knots


def test_the_archive_as_one_warc_file_is_read_by_other_libraries_and_imports_to_equal_views(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out" / "all.warc.gz"
    out.parent.mkdir()
    written = exported("warc", collection, out, monkeypatch)
    records = [
        (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read())
        for record in ArchiveIterator(BytesIO(written), check_digests="raise")
    ]
    bodies = {url: body for kind, url, body in records if kind == "response"}
    assert len(bodies) == 10, "eight pages, a robots.txt and a 404 response"
    assert b"king of knots" in bodies[f"{collection.origin}docs/knots"]
    fast = list(FastIterator(BytesIO(written), parse_http=False))
    assert len(fast) == len(records)
    root = tmp_path / "imported"
    done = gossamer("import", out, "--dir", root)
    assert done.returncode == 0 and "10 captures imported, 8 of them pages" in done.stderr
    assert held(root) == held(collection.root)
    again = gossamer("import", out, out, "--dir", root)
    assert again.returncode == 0 and "0 captures imported, 0 of them pages; 20 already here" in again.stderr
    assert held(root) == held(collection.root) and sum(1 for _ in Directory(root).archive.iterdir()) == 1


def test_importing_a_file_that_is_not_an_archive_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.html"
    file.write_text("<html>")
    assert exit_code(monkeypatch, "import", file, "--dir", tmp_path / "c") == 1
    assert "Are these WARC, ARC or TREC files?" in capsys.readouterr().err


def test_exporting_to_a_missing_folder_is_an_error(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, "export", "nquads", "--dir", collection.root, "--out", tmp_path / "no" / "x.nq") == 2
    assert "there is no folder" in capsys.readouterr().err


def test_a_backup_made_while_the_crawl_runs_is_rebuilt_with_all_acknowledged_pages(tmp_path: Path) -> None:
    root, copy = tmp_path / "live", tmp_path / "copy"
    with Site(harbour(people=12)).serving() as site:
        crawl = started("crawl", site.root, "--dir", root, *OPEN, "--delay", "0.25")
        wait_until(lambda: len(site.pages_hit()) >= 4, "the crawl did not begin")
        with site.held():
            done = gossamer("backup", copy, "--dir", root)
            assert done.returncode == 0 and crawl.poll() is None, done.stderr
            assert "gossamer rebuild --dir" in done.stderr
            assert gossamer("backup", copy, "--dir", root).returncode == 3, "an existing backup is not overwritten"
        _, err = crawl.communicate(timeout=PATIENCE_S)
        assert crawl.returncode == 0, err
        assert gossamer("rebuild", "--dir", copy).returncode == 0
        known = catalogued(copy)
        assert 3 <= len(known) < len(catalogued(root)) == 16
        assert searchable(copy) == known
        assert facts_of(copy, known) == facts_of(root, known) and facts_of(copy, known)
        before = len(site.hits)
        assert gossamer("crawl", "--dir", copy, *QUICK).returncode == 0
        fetched_again = {f"{site.root.rstrip('/')}{path}" for path in site.hits[before:]}
        assert fetched_again.isdisjoint(known), "the copy continues from the time of the backup"
        assert searchable(copy) == searchable(root)


def catalogued(root: Path) -> set[str]:
    directory = Directory(root)
    with Catalogue(directory, DiskFiles()) as catalogue:
        return {kept.url.text for kept in catalogue.pages()}


def facts_of(root: Path, pages: set[str]) -> set[str]:
    """Their facts and provenance."""
    provenance = NamedNode(PROVENANCE)
    return {
        str(quad)
        for quad in opened(Directory(root).graph)
        if (quad.subject if quad.graph_name == provenance else quad.graph_name).value in pages
    }


def test_a_backup_of_a_finished_crawl_is_rebuilt_with_equal_views(
    embedded: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, "backup", tmp_path / "copy", "--dir", embedded.root) == 0
    assert exit_code(monkeypatch, "rebuild", "--dir", tmp_path / "copy") == 0
    assert held(tmp_path / "copy") == held(embedded.root)


@pytest.mark.parametrize(
    ("lost", "command"),
    [
        (("index", "graph"), ("rebuild",)),
        (("index", "links"), ("crawl", *OPEN)),
        (("graph",), ("crawl", *OPEN)),
    ],
)
def test_F_P8_deleted_views_are_rebuilt_equal_by_rebuild_and_by_the_next_crawl(
    embedded: Collection, tmp_path: Path, lost: tuple[str, ...], command: tuple[str, ...]
) -> None:
    root = tmp_path / "c"
    shutil.copytree(embedded.root, root)
    directory, whole = Directory(root), held(embedded.root)
    for view in lost:
        path: Path = getattr(directory, view)
        path.unlink() if path.is_file() else shutil.rmtree(path)
    done = gossamer(*command, "--dir", root)
    assert done.returncode == 0, done.stderr
    assert held(root) == whole
