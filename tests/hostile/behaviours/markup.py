"""M1 to M7: pages that are hard to parse, to decode, or to display."""

from collections.abc import Callable

from tests.hostile.behaviour import Request, Write, behaviour, makes, page, sends, whole
from tests.hostile.pages import M1, M2

START = b"<title>T</title><p>prefix</p><a href=/first>first</a>"
XHTML = b"Content-Type: application/xhtml+xml\r\n"
SVG = b"Content-Type: image/svg+xml\r\n"


def reads(name: str, make: Callable[[], bytes]) -> None:
    label = name.partition("-")[2].replace("-", " ")
    makes(name, lambda: START + make(), f"a page of {label}")


for _name, _make in M1.items():
    reads(f"M1-{_name.replace('_', '-')}", _make)
for _name, _make in M2.items():
    reads(f"M2-{_name.replace('_', '-')}", _make)

MORE: dict[str, Callable[[], bytes]] = {
    "M1-templates": lambda: b"<template>" * 50_000 + b"x",
    "M1-svg": lambda: b"<svg><g>" * 50_000 + b"x",
    "M1-math": lambda: b"<math><mi><svg><foreignObject>" * 20_000,
    "M1-million-attributes": lambda: b"<p " + b" ".join(b"a%d" % n for n in range(1_000_000)) + b">x",
    "M1-selects": lambda: b"<select><optgroup>" * 60_000,
    "M1-framesets": lambda: b"<frameset>" * 100_000,
    "M1-noscript": lambda: b"<noscript><p>" * 60_000,
    "M6-title-storm": lambda: b"<title>x</title>" * 200_000,
    "M6-zero-width": lambda: b"<title>" + "\u200b\u202e".encode() * 200_000 + b"</title>",
    "M6-images": lambda: b"<img src=/i srcset='a 1x, b 2x' alt=x>" * 100_000,
}
for _name, _make in MORE.items():
    reads(_name, _make)

for _label, _type, _body in (
    ("header-and-meta", b"text/html; charset=koi8-r", b"<meta charset=utf-8><title>\xc1</title>"),
    ("bom-and-header", b"text/html; charset=koi8-r", b"\xef\xbb\xbf<meta charset=big5><title>\xc3\xa4</title>"),
    ("utf16-without-bom", b"text/html", "<title>Gr\u00fc\u00dfe</title><p>und mehr".encode("utf-16-le")),
    ("iso-2022-jp", b"text/html", b'<meta charset=iso-2022-jp><title>\x1b$B$"\x1b(B</title>\x1b'),
    ("utf-7", b"text/html; charset=utf-7", b"<title>+ADw-script+AD4-</title>"),
    ("invalid-bytes", b"text/html; charset=utf-8", b"<title>a\xff\xc3(b</title>" + b"\xed\xa0\x80" * 1000),
    ("none-such", b"text/html; charset=none-such", b"<title>\xe9t\xe9</title>"),
    ("replacement", b"text/html; charset=hz-gb-2312", b"~{<script>" * 100),
):
    sends(f"M3-{_label}", whole(_body, b"Content-Type: " + _type + b"\r\n"), says=f"a wrong charset: {_label}")

for _label, _base in (
    ("private", "http://10.0.0.1/"),
    ("script", "javascript:alert(1)//"),
    ("file", "file:///etc/"),
    ("data", "data:text/html,"),
):
    sends(
        f"M4-base-{_label}",
        page("Based", "relative", "../up", "?q", head=f'<base href="{_base}"><base href="http://192.168.0.1/">'),
        says=f"<base> of kind {_label}, twice",
    )


@behaviour("M4-refresh-loop")
async def refresh_loop(write: Write, request: Request) -> None:
    """Two pages that refresh to each other."""
    other = "/b" if request.target == "/a" else "/a"
    write.write(page("Turning", head=f'<meta http-equiv=refresh content="0;{other}">'))


LAUGHS = b"<!DOCTYPE html [<!ENTITY a0 'ha'>" + b"".join(
    b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12)
)
DOCTYPES = {
    "file": b'<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    "parameter": b'<!DOCTYPE html [<!ENTITY % p SYSTEM "http://127.0.0.1/p"> %p;]>',
    "dial": b'<!DOCTYPE html SYSTEM "http://169.254.169.254/x.dtd" [<!ENTITY x SYSTEM "http://10.0.0.1/">]>',
    "laughs": LAUGHS + b"<!ENTITY x '&a11;'>]>",
    "quadratic": b"<!DOCTYPE html [<!ENTITY x '" + b"y" * 50_000 + b"'>]>",
    "stylesheet": b'<?xml-stylesheet type="text/xsl" href="http://10.0.0.1/x.xsl"?>',
}
for _label, _doctype in DOCTYPES.items():
    _xml = (
        b'<?xml version="1.0"?>'
        + _doctype
        + b'<html xmlns="http://www.w3.org/1999/xhtml" xmlns:i="http://www.w3.org/2001/XInclude"><body><p>'
        + b"&x;" * (5_000 if _label == "quadratic" else 1)
        + b'</p><i:include href="http://10.0.0.1/x" parse="text"/></body></html>'
    )
    sends(f"M5-xhtml-{_label}", whole(_xml, XHTML), says=f"XHTML with a document type: {_label}")
    if _label in ("file", "laughs"):
        sends(f"M5-svg-{_label}", whole(_xml, SVG), says=f"SVG with a document type: {_label}")
sends(
    "M6-bidi",
    page("\u202egnp.exe \u2066\u2067 \u200b\u200b", body="\u202e reversed" * 500),
    says="bidi overrides in title and text",
)
sends(
    "M6-escapes",
    page("\x1b]0;pwned\x07\x1b[2J", body="\x1b[31mred</p><script>alert(1)</script>"),
    says="terminal escapes in the title",
)
