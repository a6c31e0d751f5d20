"""Laws that hold for any bytes: nothing is raised, limits hold, spans lie inside their text, twice is the same."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.parse.documents.samples import samples

from gossamer.extract.document import document_facts, xmp_facts
from gossamer.extract.terms import Labels
from gossamer.parse.document_copy import document_copy
from gossamer.parse.documents.converter import convert
from gossamer.parse.documents.draft import MOST_BLOCKS, MOST_CHARACTERS, MOST_LINKS, MOST_SPANS
from gossamer.parse.sniff import media_type_of
from gossamer.values.document import ARCHIVES, DOC, FORMAT_OF, GZIP, MSG, PPT, TAR, XLS, ZIP, DocumentText, Metadata
from gossamer.values.url import Url

SAMPLES = samples()
URL = Url("http://a.test/folder/file")
GENTLE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def checked(body: bytes, kind: str) -> None:
    found = convert(body, kind)
    assert convert(body, kind) == found
    if not isinstance(found, DocumentText):
        assert found.says.endswith(".")
        return
    assert len(found.blocks) <= MOST_BLOCKS and len(found.links) <= MOST_LINKS
    assert sum(len(block.text) for block in found.blocks) <= 2 * MOST_CHARACTERS
    for block in found.blocks:
        assert block.text.strip() and "\x00" not in block.text and block.text.encode()
        assert len(block.spans) <= MOST_SPANS
        assert all(0 <= span.start < span.end <= len(block.text) for span in block.spans)
    assert "<script" not in document_copy(found, "", URL, lambda url: url.text).lower()
    facts = document_facts(found.metadata, URL, 1)
    assert len(facts.triples) == len(set(facts.triples)) == len(facts.places) == len(facts.stated_in)


@pytest.mark.parametrize("name", sorted(SAMPLES))
@given(st.data())
@GENTLE
def test_any_change_of_a_document_is_survived(name: str, data: st.DataObject) -> None:
    kind, body = SAMPLES[name]
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, min(len(body), start + 400)))
    put = data.draw(
        st.binary(max_size=60)
        | st.sampled_from([b"<", b"\\u-1 ", b"\x00" * 40, b"PK\x03\x04", b"{", b"]]>", b"\xff\xfe"])
    )
    checked(body[:start] + put + body[end:], kind)


@given(st.sampled_from([*FORMAT_OF, *ARCHIVES, DOC, XLS, PPT, MSG]), st.binary(max_size=600))
@GENTLE
def test_any_bytes_under_any_label_are_survived(kind: str, body: bytes) -> None:
    checked(body, kind)
    for start in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"%PDF-1.4\n", b"{\\rtf1 ", b"\x1f\x8b\x08"):
        checked(start + body, kind)


@given(
    st.binary(max_size=300), st.sampled_from(["", *FORMAT_OF, "application/octet-stream", "text/plain", ZIP, GZIP, TAR])
)
@GENTLE
def test_the_type_of_any_bytes_is_found(body: bytes, label: str) -> None:
    for start in (b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        found = media_type_of(label, start + body, "http://a.test/x.docx")
        assert found.count("/") == 1


@given(st.text(max_size=300))
@GENTLE
def test_any_xmp_is_survived(text: str) -> None:
    for packet in (text.encode("utf-8", "replace"), f"<rdf:RDF>{text}</rdf:RDF>".encode("utf-8", "replace")):
        assert all(fact.subject and fact.predicate for fact in xmp_facts(packet, URL.text, Labels(1)))


XMP = b"""<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmpMM="http://ns.adobe.com/xap/1.0/mm/">
<rdf:Description rdf:about="uuid:1"><dc:title><rdf:Alt><rdf:li xml:lang="x-default">The title</rdf:li>
<rdf:li xml:lang="de">Der Titel</rdf:li></rdf:Alt></dc:title><dc:creator><rdf:Seq><rdf:li>A</rdf:li><rdf:li>B</rdf:li>
</rdf:Seq></dc:creator><xmpMM:DocumentID>secret</xmpMM:DocumentID></rdf:Description></rdf:RDF></x:xmpmeta>"""


def test_the_lists_of_xmp_are_opened_and_its_history_is_left_out() -> None:
    facts = {(fact.predicate.rpartition("/")[2], fact.object) for fact in xmp_facts(XMP, URL.text, Labels(1))}
    assert facts == {("title>", '"The title"'), ("title>", '"Der Titel"@de'), ("creator>", '"A"'), ("creator>", '"B"')}
    assert {fact.subject for fact in xmp_facts(XMP, URL.text, Labels(1))} == {f"<{URL.text}>"}


def test_metadata_are_dublin_core_facts_with_datatypes_and_languages() -> None:
    said = Metadata("T", ("A", "B"), "2020-02-29T10:00:00Z", "2020", "de-AT", "S", "D", ("k",), "P", "I")
    lines = {f"{fact.predicate.rpartition('/')[2][:-1]} {fact.object}" for fact in document_facts(said, URL, 1).triples}
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert lines == {
        'title "T"@de-at', 'creator "A"', 'creator "B"', f'created "2020-02-29T10:00:00Z"^^<{xsd}dateTime>',
        f'modified "2020"^^<{xsd}gYear>', 'language "de-AT"', 'subject "S"@de-at', 'description "D"@de-at',
        'subject "k"@de-at', 'publisher "P"', 'identifier "I"',
    }  # fmt: skip
