"""A document as a page: its title, text, links and facts; and what a reader loads before the first document."""

import subprocess
import sys

from tests.parse.documents.samples import docx, letter, mail, pdf, relations, words

from gossamer.base.clock import SECOND
from gossamer.reader.reading import read
from gossamer.values.capture import Capture
from gossamer.values.document import DOCX, MAIL, PDF
from gossamer.values.page import Reading
from gossamer.values.url import Url

LAZY = ("tarfile", "pypdfium2", "olefile", "office_oxide", "gossamer.parse.documents.package")


def reading_of(body: bytes, kind: str, name: str = "x", **fields: str) -> Reading:
    headers = (("Content-Type", kind), *((key.replace("_", "-"), value) for key, value in fields.items()))
    return read(Capture(Url(f"http://a.test/{name}"), 1_700_000_000 * SECOND, 200, "OK", headers, body, "20.0.0.1"))


def test_a_document_is_a_page_with_all_that_the_views_take() -> None:
    found = reading_of(letter(), DOCX)
    page = found.page
    assert page.title == "The title" and page.headings == ("Engines", "Of the difference engine")
    assert page.content.endswith("the notes one two") and page.bold == ("very important",)
    assert [link.url.text for link in page.links] == ["https://other.test/notes"] and page.links[0].text == "the notes"
    assert page.language == "en" and page.near and len(page.exact) == 32
    assert found.syntaxes == ("document",) and b"Ada Lovelace" in found.facts and found.sources
    assert "Ada Lovelace" in page.rest and "engines" in page.rest


def test_without_a_title_the_first_heading_or_words_are_one() -> None:
    assert reading_of(pdf(["Only words here"], info="/X (y)"), PDF).page.title == "Only words here"
    assert reading_of(mail(), MAIL).page.title == "Grüße"


def test_asides_are_found_but_are_not_the_text() -> None:
    more = {
        "word/_rels/document.xml.rels": relations(("h", "header", "h.xml")),
        "word/h.xml": f"<a>{words('Page header').replace('w:', '')}</a>",
    }
    page = reading_of(docx(words("Main words"), dict(more)), DOCX).page
    assert page.content == "Main words" and page.rest.startswith("Page header")


def test_headers_of_the_response_count_for_documents_too() -> None:
    page = reading_of(letter(), DOCX, X_Robots_Tag="nofollow, noindex").page
    assert not page.directives.may_index and not page.links[0].may_follow


def test_the_bytes_decide_and_then_the_name() -> None:
    assert reading_of(letter(), "application/zip").page.media_type == DOCX
    assert reading_of(letter(), "application/pdf").page.media_type == DOCX
    assert reading_of(pdf(["x"]), "application/octet-stream").page.media_type == PDF
    assert reading_of(b"a;b\n", "text/plain", "t.csv").page.media_type == "text/csv"
    assert reading_of(b"a;b\n", "text/plain", "t.txt").page.media_type == "text/plain"
    assert reading_of(b"<table><tr><td>x", "application/vnd.ms-excel").page.media_type == "text/html"


def test_a_reader_loads_no_converter_before_the_first_document() -> None:
    code = f"import sys, gossamer.reader.reading as _; print(*[name for name in {LAZY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
