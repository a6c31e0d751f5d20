"""The media type of a body by its bytes and its label."""

import pytest

from gossamer.parse.sniff import essence, is_xml, media_type_of

HTML = b"<!DOCTYPE html><html><title>t</title>"
PDF = b"%PDF-1.7\n\x00\x01\x02"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00"
BINARY = b"\x00\x01\x02\x03\x04\x05"
RSS = b'<?xml version="1.0"?>\n<!-- c -->\n<rss version="2.0"><channel></channel></rss>'
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom"></feed>'


@pytest.mark.parametrize(
    ("label", "body", "expected"),
    [
        ("text/html; charset=utf-8", HTML, "text/html"),
        ("TEXT/HTML", HTML, "text/html"),
        (None, HTML, "text/html"),
        ("", b"\n  <p>words", "text/html"),
        ("nonsense", HTML, "text/html"),
        (None, b"<!-- a comment -->", "text/html"),
        (None, b"just words", "text/plain"),
        (None, b"<abbrev> is no HTML tag we know", "text/plain"),
        (None, PDF, "application/pdf"),
        (None, PNG, "image/png"),
        (None, BINARY, "application/octet-stream"),
        (None, RSS, "application/rss+xml"),
        (None, ATOM, "application/atom+xml"),
        (None, b"<?xml version='1.0'?><urlset/>", "text/xml"),
        (None, b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>", "application/xhtml+xml"),
        ("text/html", RSS, "application/rss+xml"),
        ("application/xml", RSS, "application/xml"),
        ("text/plain", HTML, "text/plain"),
        ("text/plain", b"BMW is a car", "text/plain"),
        ("text/plain", "naïve".encode("utf-16-le"), "text/plain"),
        ("application/json", b"{}", "application/json"),
        ("image/png", HTML, "image/png"),
        ("image/gif", PNG, "image/png"),
        ("text/html", b"", "text/html"),
        (None, b"", "text/plain"),
    ],
)
def test_the_media_type_of_a_body_is_recognised(label, body, expected):
    assert media_type_of(label, body) == expected


def test_F_H15_a_pdf_labelled_as_plain_text_is_a_pdf():
    assert media_type_of("text/plain", PDF) == "application/pdf"


def test_F_H15_binary_data_labelled_as_html_is_not_html():
    assert media_type_of("text/html", PNG) == "image/png"


def test_F_H15_html_labelled_as_an_image_stays_an_image():
    assert media_type_of("image/jpeg", HTML) == "image/jpeg"


def test_a_label_is_read_without_its_parameters():
    assert essence(" Text/HTML ; charset=x") == "text/html"
    assert essence("text") == essence(None) == essence("text/html, text/plain") == ""


def test_xhtml_is_read_as_html_and_other_xml_as_xml():
    assert is_xml("application/rss+xml") and is_xml("text/xml")
    assert not is_xml("application/xhtml+xml") and not is_xml("text/html")


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["unmarked", "marked"])
@pytest.mark.parametrize("codec", ["utf-16le", "utf-16be", "utf-32le", "utf-32be"])
def test_text_in_utf_16_and_utf_32_is_recognised(codec, mark):
    html = f"{mark}<!DOCTYPE html><html><title>Wide</title><p>words".encode(codec)
    assert media_type_of(None, html) == "text/html"
    assert media_type_of("text/plain", html) == "text/plain"
    assert media_type_of(None, f"{mark}Only words, no markup at all.".encode(codec)) == "text/plain"


def test_text_in_ebcdic_is_text_when_it_is_declared():
    text = "Two lines\x85of text".encode("cp037")
    assert media_type_of("text/plain; charset=ibm037", text) == "text/plain"
    assert media_type_of("text/plain", text) == "application/octet-stream"
    assert media_type_of(None, '<?xml version="1.0" encoding="ibm037"?><a/>'.encode("cp037")) == "text/xml"
