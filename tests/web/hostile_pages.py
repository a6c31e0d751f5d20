"""Pages that try to break out of every place where the web site shows text from crawled pages."""

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path

from gossamer.archive.record import response_record
from gossamer.base.clock import SECOND
from gossamer.values.capture import Capture
from gossamer.values.url import Url, url_of

RUN = "window.hacked=1;alert(1)"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f'"><img src=x onerror="{RUN}">',
    f"'><svg onload={RUN}>",
    f"</title></textarea></script><script>{RUN}</script>",
    f"{{{{ 7*7 }}}} {{% raw %}} javascript:{RUN}",
    f'" autofocus onfocus="{RUN}" x="',
)
WORD = "zebrafinch"
"""On every hostile page and nowhere else."""
ORIGIN = "http://hostile.test"


def pages() -> Iterator[tuple[str, str]]:
    for number, payload in enumerate(PAYLOADS):
        yield f"{ORIGIN}/page/{number}", page_with(payload, number)
    yield f"{ORIGIN}/odd?a={{b}}|c^`\\u003E\\'\"><script>{RUN}</script>", page_with(PAYLOADS[1], 99)
    yield f"{ORIGIN}/<script>{RUN}</script>/'onmouseover='{RUN}", page_with(PAYLOADS[0], 98)


def page_with(payload: str, number: int) -> str:
    shown = escape(payload)
    facts = {
        "@context": {"@vocab": "http://schema.org/", "knows": {"@type": "@id"}},
        "@type": ["Person", f"http://types.test/{number}'onclick='{RUN}"],
        "@id": f"javascript:{RUN}//{number}",
        "name": f"{payload} {number}",
        "knows": [f"javascript:{RUN}", f"data:text/html,<script>{RUN}</script>", "http://other.test/x#it"],
        "description": {"@value": payload, "@language": "en"},
        f"x{payload}": "odd property",
    }
    links = "".join(f'<a href="/page/{other}">{shown} to {other}</a> ' for other in range(len(PAYLOADS)))
    block = json.dumps(facts).replace("</", "<\\/")
    return f"""<!doctype html><html lang="en"><head><title>{shown} {WORD} {number}</title>
<meta name="description" content="{shown}"><meta property="og:title" content="{shown}">
<meta property="og:url" content="javascript:{RUN}">
<script type="application/ld+json">{block}</script></head>
<body vocab="http://schema.org/" typeof="Thing" resource="javascript:{RUN}"><h1>{shown}</h1>
<main><p property="name">The {WORD} number {number} said: {shown}, and then said it again for as long as it took.</p>
<a property="url" href="javascript:{RUN}">run</a> {links}</main></body></html>"""


def write_warc(path: Path) -> Path:
    with path.open("wb") as file:
        for number, (text, html) in enumerate(pages()):
            url = url_of(text)
            assert url is not None
            file.write(response_record(capture_of(url, html, number)))
    return path


def capture_of(url: Url, html: str, number: int) -> Capture:
    return Capture(
        url=url,
        fetched_at=(1_700_000_000 + number) * SECOND,
        status=200,
        reason=f"<b>{RUN}</b>",
        headers=(("Content-Type", "text/html; charset=utf-8"), ("X-Odd", f"<script>{RUN}</script>")),
        body=html.encode(),
        address="20.0.0.9",
        truncated=None,
        took_s=0.1,
    )
