"""Documents from the server to the browser: fetched, read, followed, found, shown, and downloaded unchanged."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.answers import Says, Web, article
from tests.cli.site import QUICK, gossamer, json_lines
from tests.parse.documents.samples import docx, letter, mail, pdf, relations, samples, words, zipped
from tests.web.site import Answer, serving, trouble_in

from gossamer.store.directory import Directory
from gossamer.values.document import DOCX, PDF, suffix_of

NAMES = {name: f"/files/{name}{suffix_of(kind)}" for name, (kind, _) in samples().items()}
LINKED = "/only/from-a-document"
PROTECTED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 504 + "EncryptedPackage".encode("utf-16-le") + b"\x00" * 600


def linking(root: str) -> bytes:
    link = '<w:p><w:hyperlink r:id="x1"><w:r><w:t>the zeppelin page</w:t></w:r></w:hyperlink></w:p>'
    rels = relations(("x1", "hyperlink", f"{root.rstrip('/')}{LINKED}"), external=("x1",))
    return docx(words("A document with a link.") + link, {"word/_rels/document.xml.rels": rels})


@dataclass(frozen=True)
class Crawled:
    root: Path
    web: Web
    says: str
    ends: dict[str, str]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    root = tmp_path_factory.mktemp("documents")
    vague = "application/octet-stream"
    more = {
        "/linking.docx": Says(b"", kind=DOCX),
        "/vague/report.pdf": Says(pdf(["An aardvark in a file without a type."]), kind=vague),
        "/vague/program.bin": Says(b"\x7fELF" + b"\x00" * 100, kind=vague),
        "/api/answer": Says(b'{"wombat": 1}', kind="application/json"),
        "/protected.docx": Says(PROTECTED, kind=DOCX),
        "/quiet.pdf": Says(pdf(["kept quiet"]), kind=PDF, fields=(("X-Robots-Tag", "noarchive"),)),
        LINKED: article("zeppelin"),
    }
    files = {NAMES[name]: Says(body, kind=kind) for name, (kind, body) in samples().items()}
    with Web({}).serving() as web:
        more["/linking.docx"] = Says(linking(web.root), kind=DOCX)
        pages = [name for name in (*files, *more) if name != LINKED]
        web.answers = {**files, **more, "/": article("start", *pages)}
        done = gossamer("crawl", web.root, "--dir", root / "data", *QUICK, "--json")
        assert done.returncode == 0, done.stderr
        ended = [line for line in json_lines(done.stdout) if line["event"] == "visit.settled"]
        ends = {str(line["url"]).removeprefix(web.root.rstrip("/")): str(line["outcome"]) for line in ended}
        yield Crawled(root / "data", web, done.stderr, ends)


def url(crawled: Crawled, path: str) -> str:
    return crawled.web.root.rstrip("/") + path


def test_M_C9_every_kind_of_document_is_fetched_and_read(crawled: Crawled) -> None:
    with serving(Directory(crawled.root)) as site:
        for name, path in NAMES.items():
            page = site.ask(f"/page.json?url={quote(url(crawled, path), safe='')}").json
            assert page["versions"][0]["is_page"], name


def test_what_a_document_links_to_is_followed(crawled: Crawled) -> None:
    assert crawled.ends[LINKED] == "fetched"


def test_data_for_programs_and_unknown_types_are_not_collected(crawled: Crawled) -> None:
    assert crawled.ends["/api/answer"] == crawled.ends["/vague/program.bin"] == "media-type"
    assert crawled.ends["/vague/report.pdf"] == "fetched", "its name says what it is"


def test_documents_are_found_by_words_titles_and_facts(crawled: Crawled) -> None:
    with serving(Directory(crawled.root)) as site:

        def hits(query: str) -> set[str]:
            found = site.ask(f"/search.json?q={quote(query)}").json["hits"]
            return {hit["url"].removeprefix(crawled.web.root.rstrip("/")) for hit in found}

        assert "/vague/report.pdf" in hits("aardvark")
        assert NAMES["docx"] in hits("difference engine")
        assert NAMES["rtf"] in hits("title:rich")
        assert NAMES["docx"] in hits("syntax:document lovelace")
        query = (
            'SELECT ?d ?t { GRAPH ?d { ?d <http://purl.org/dc/terms/creator> "Ada Lovelace" ; '
            "<http://purl.org/dc/terms/title> ?t } }"
        )
        rows = site.sparql(query).json["results"]["bindings"]
        assert (url(crawled, NAMES["docx"]), "The title") in {(row["d"]["value"], row["t"]["value"]) for row in rows}


def test_a_document_has_a_cached_view_with_headings_tables_and_links(crawled: Crawled) -> None:
    with serving(Directory(crawled.root)) as site:
        shown = cached(site.ask, url(crawled, NAMES["docx"]))
        assert [node.text() for node in shown.page.css("h1, h2")] == ["Engines", "Of the difference engine"]
        assert [node.text() for node in shown.page.css("td")] == ["one", "two"]
        (link,) = shown.page.css("a")
        assert link.attributes["href"] == f"/page?url={quote('https://other.test/notes', safe='')}"
        assert "sandbox" in shown.headers["content-security-policy"]
        for path in NAMES.values():
            assert trouble_in(cached(site.ask, url(crawled, path)).page) == ["there is a style"], "our own"


def test_the_original_is_offered_as_a_download_and_is_unchanged(crawled: Crawled) -> None:
    with serving(Directory(crawled.root)) as site:
        page = site.ask(f"/page?url={quote(url(crawled, NAMES['docx']), safe='')}&show=copy").page
        target = next(node.attributes["href"] or "" for node in page.css("a[download]"))
        found = site.ask(target)
        assert found.status == 200 and found.body == letter()
        assert found.headers["content-type"] == DOCX
        assert found.headers["content-disposition"] == 'attachment; filename="docx.docx"'
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["content-security-policy"] == "sandbox; default-src 'none'"
        written = site.ask(f"/page/original?url={quote(url(crawled, NAMES['csv']), safe='')}")
        assert written.headers["content-type"] == "application/octet-stream", "text is never shown under our name"


def test_a_page_that_is_no_document_has_no_download(crawled: Crawled) -> None:
    with serving(Directory(crawled.root)) as site:
        assert site.ask(f"/page/original?url={quote(url(crawled, '/'), safe='')}").status == 404
        assert site.ask(f"/page/original?url={quote(url(crawled, '/nowhere'), safe='')}").status == 404
        assert site.ask(f"/page/original?url={quote(url(crawled, '/'), safe='')}&at=never").status == 400


def test_noarchive_withholds_the_view_and_the_original(crawled: Crawled) -> None:
    with serving(Directory(crawled.root)) as site:
        for place in ("cached", "original"):
            found = site.ask(f"/page/{place}?url={quote(url(crawled, '/quiet.pdf'), safe='')}")
            assert found.status == 404 and "noarchive" in found.text and "kept quiet" not in found.text


def test_a_protected_document_says_so_in_its_cached_view(crawled: Crawled) -> None:
    with serving(Directory(crawled.root)) as site:
        found = site.ask(f"/page/cached?url={quote(url(crawled, '/protected.docx'), safe='')}&at=2999-01-01T00:00:00Z")
        assert "protected with a password" in found.text


def test_documents_can_be_switched_off(tmp_path: Path) -> None:
    answers = {"/": article("start", "/a.pdf", "/b.eml"), "/a.pdf": Says(pdf(["x"]), kind=PDF),
               "/b.eml": Says(mail(), kind="message/rfc822")}  # fmt: skip
    with Web(answers).serving() as web:
        (tmp_path / "gossamer.toml").write_text("[fetch]\ndocuments = false\n")
        done = gossamer("crawl", web.root, "--dir", tmp_path, *QUICK, "--json")
    ended = [line for line in json_lines(done.stdout) if line["event"] == "visit.settled"]
    assert [str(line["outcome"]) for line in ended].count("media-type") == 2
    assert "gossamer[documents]" not in done.stderr


@pytest.mark.parametrize("reads", [True, False])
def test_archives_are_collected_if_the_settings_say_so(tmp_path: Path, reads: bool) -> None:
    bundle = zipped({"letter.docx": letter(), "notes.txt": "A quokka in a bundle."})
    with Web({"/": article("start", "/a.zip"), "/a.zip": Says(bundle, kind="application/zip")}).serving() as web:
        (tmp_path / "gossamer.toml").write_text(f"[fetch]\narchives = {str(reads).lower()}\n")
        gossamer("crawl", web.root, "--dir", tmp_path, *QUICK)
        address = f"{web.root}a.zip"
    with serving(Directory(tmp_path)) as site:
        hits = [hit["url"] for hit in site.ask("/search.json?q=quokka").json["hits"]]
        assert hits == ([address] if reads else [])
        if reads:
            assert [node.text() for node in cached(site.ask, address).page.css("h1, h2")][:2] == [
                "letter.docx",
                "Engines",
            ]
    assert gossamer("rebuild", "--dir", tmp_path).returncode == 0
    with serving(Directory(tmp_path)) as site:
        assert [hit["url"] for hit in site.ask("/search.json?q=quokka").json["hits"]] == hits, (
            "a rebuild reads the same"
        )


def test_without_the_extra_a_hint_says_once_how_to_get_it(tmp_path: Path) -> None:
    """The packages are hidden from the program and its readers."""
    hidden = ["pypdfium2", "olefile", "office_oxide"]
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({hidden}))\n")
    answers = {
        "/": article("start", "/a.pdf", "/b.eml", "/c"), "/a.pdf": Says(pdf(["x"]), kind=PDF),
        "/b.eml": Says(mail(), kind="message/rfc822"), "/c": Says(pdf(["y"])),
    }  # fmt: skip
    with Web(answers).serving() as web:
        more = {"PYTHONPATH": str(tmp_path)}
        done = gossamer("crawl", web.root, "--dir", tmp_path / "data", *QUICK, **more)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("pip install 'gossamer[documents]'") == 1
        again = gossamer("crawl", web.root, "--dir", tmp_path / "more", *QUICK, "--json", **more)
    ends = {str(line["url"]): line for line in json_lines(again.stdout) if line["event"] == "visit.settled"}
    assert ends[f"{web.root}a.pdf"]["outcome"] == "media-type" and ends[f"{web.root}b.eml"]["outcome"] == "fetched"
    assert [line["event"] for line in json_lines(again.stdout)].count("documents.absent") == 1


def cached(ask: object, address: str) -> Answer:
    assert callable(ask)
    found: Answer = ask(f"/page/cached?url={quote(address, safe='')}")
    assert found.status == 200, found.text[:200]
    return found
