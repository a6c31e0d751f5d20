"""A page many screens long that states facts from top to bottom."""

from pathlib import Path

from tests.web.hostile_pages import capture_of

from gossamer.archive.record import response_record
from gossamer.values.url import url_of

LONG, SPARSE = "http://long.test/chapters", "http://long.test/three-facts"
CHAPTERS = 60


def html(is_sparse: bool = False) -> str:
    """With some hundred facts, or with one at the top, one in the middle and one at the bottom."""
    words = f"<p>{'This is filler for the page. ' * 40}</p>"
    chapters = "".join(
        f"<section><h2>Chapter {number}</h2>{words}</section>"
        if is_sparse and number != CHAPTERS // 2
        else f'<section property="hasPart" typeof="Chapter"><h2 property="name">Chapter {number}</h2>'
        f'{words}<p property="position">{number}</p></section>'
        for number in range(1, CHAPTERS + 1)
    )
    return f"""<!doctype html><html lang="en"><head><title>A long book</title></head>
<body vocab="http://schema.org/" typeof="Book"><h1 property="name">A long book</h1>{chapters}
<footer>By <b property="author">Mary Patient</b></footer></body></html>"""


def write_warc(path: Path) -> Path:
    with path.open("wb") as file:
        for text in (LONG, SPARSE):
            url = url_of(text)
            assert url is not None
            file.write(response_record(capture_of(url, html(text == SPARSE), 0)))
    return path
