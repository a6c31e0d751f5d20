"""Pages for the extraction benchmark: real ones from a folder, and dense ones written here.

The dense pages show what RDFa costs when a page consists of it: a mean of 46 KB and 365 facts, in three kinds that
alternate. `catalogue` is RDFa Lite with one vocabulary; `register` is RDFa Core with prefixes, @rel, @rev, incomplete
triples, lists and `<time>`; `chronicle` is mostly prose. The same number gives the same bytes.
"""

from html import escape
from pathlib import Path
from typing import NamedTuple

from gossamer.demo.words import Draw, new_word, paragraph, person_name

HOME = "http://dense.bench.test"
LARGEST_REAL = 300_000
"""One of the real pages is nearly a megabyte, and would dominate every sum."""
SEED = 1
LISTED = {"catalogue": 31, "register": 25, "chronicle": 22}
LINKS = 40


class Sample(NamedTuple):
    name: str
    address: str
    body: bytes


def real_pages(folder: Path) -> list[Sample]:
    """The captured pages, under made-up addresses: where they came from is not recorded."""
    files = [file for file in sorted(folder.glob("*.html")) if file.stat().st_size <= LARGEST_REAL]
    return [Sample(file.stem, f"http://real.bench.test/{file.name}", file.read_bytes()) for file in files]


def dense_pages(count: int = 12) -> list[Sample]:
    return [dense_page(number) for number in range(count)]


def dense_page(number: int) -> Sample:
    kind = ("catalogue", "register", "chronicle")[number % 3]
    draw = Draw(SEED, "dense", number)
    listed = LISTED[kind] + draw.between(-8, 8)
    write = {"catalogue": _pot, "register": _singer, "chronicle": _entry}[kind]
    body = "\n".join([write(draw, number, place) for place in range(listed)])
    return Sample(f"dense-{number}", f"{HOME}/{kind}/{number}.html", _framed(draw, number, body).encode())


def _words(draw: Draw, least: int = 3, most: int = 6) -> str:
    return escape(paragraph(draw, SEED, "en", least, most))


def _pot(draw: Draw, number: int, place: int) -> str:
    """A product for sale: nested items, each linked to the enclosing one by @property."""
    at = f"/catalogue/{number}/{place}"
    price, votes = draw.between(4, 900), draw.between(1, 400)
    return f"""<div class="tile tile-{place % 5}"><div class="tile-body">
<article typeof="Product" resource="{at}#thing">
<h3><a property="url" href="{at}"><span property="name">{new_word(draw)} {new_word(draw)}</span></a></h3>
<img property="image" src="/pictures/{number}-{place}.jpg" width="240" height="180" alt="">
<p class="tile-text" property="description">{_words(draw)}</p>
<div property="offers" typeof="Offer" class="tile-price"><meta property="priceCurrency" content="EUR">
<b property="price" content="{price}.50">{price},50</b><link property="availability" href="https://schema.org/InStock"></div>
<div property="aggregateRating" typeof="AggregateRating"><i property="ratingValue">{draw.between(1, 5)}</i> from
<i property="ratingCount">{votes}</i></div></article></div></div>"""


def _singer(draw: Draw, number: int, place: int) -> str:
    """A person in a register: prefixes, relations both ways, an incomplete triple, a list, a time, a language."""
    me, since = f"#{number}-singer-{place}", f"{draw.between(1990, 2024)}-0{draw.between(1, 9)}-1{draw.below(10)}"
    return f"""<section about="{me}" typeof="foaf:Person reg:Singer" class="row"><div><div>
<h2 property="foaf:name">{escape(person_name(draw))}</h2><p property="dc:abstract" lang="en-GB">{_words(draw)}</p>
<p>Sings beside <a rel="reg:beside" rev="reg:beside" href="#{number}-singer-{place + 1}">{escape(person_name(draw))}</a>
and learnt from <span rel="reg:teacher"><b typeof="foaf:Person"><i property="foaf:name">{escape(person_name(draw))}</i>
<a rel="foaf:homepage" href="http://teacher-{draw.below(99)}.example/">home</a></b></span></p>
<p>Since <time property="reg:since" datetime="{since}">then</time></p>
<ol><li property="reg:song" inlist="">{new_word(draw)}</li><li property="reg:song" inlist="">{new_word(draw)}</li></ol>
</div></div></section>"""


def _entry(draw: Draw, number: int, place: int) -> str:
    """A day in a chronicle: long text, and now and then a picture or a remark."""
    aside = f"""<figure property="image" typeof="ImageObject">
<img property="contentUrl" src="/plates/{number}-{place}.png" alt="">
<figcaption property="caption">{_words(draw)}</figcaption></figure>"""
    remark = f"""<blockquote property="comment" typeof="Comment" resource="#remark-{place}">
<p property="text">{_words(draw)}</p>
<cite property="author" typeof="Person"><span property="name">{escape(person_name(draw))}</span></cite></blockquote>"""
    return f"""<div class="day" property="hasPart" typeof="Article" resource="#day-{place}">
<h2 property="headline">{new_word(draw)}</h2>
<p property="articleBody">{_words(draw, 5, 9)} <a href="/see/{place}">{new_word(draw)}</a> {_words(draw)}</p>
{aside if place % 3 == 0 else ""}{remark if place % 2 else ""}<p class="more">{_words(draw, 2, 5)}</p></div>"""


def _framed(draw: Draw, number: int, body: str) -> str:
    """The boilerplate around it: most of a page, and without facts."""
    ways = "".join(
        f'<li class="way"><a class="way-link" href="/topic/{place}" title="{new_word(draw)}">{new_word(draw)}</a></li>'
        for place in range(LINKS)
    )
    return f"""<!DOCTYPE html>
<html lang="en" prefix="reg: http://register.example/terms# og: http://ogp.me/ns#"><head><meta charset="utf-8">
<title>{new_word(draw)}</title><link rel="stylesheet" href="/look.css"><link rel="canonical" href="{HOME}/{number}">
<meta property="og:title" content="{new_word(draw)}"><meta property="og:type" content="website">
<meta name="description" content="{_words(draw)}">
<script>for (var n = 0; n < 9; n++) {{ document.title += "<!-- " + n; }}</script>
<style>.tile {{ float: left }} .way-link:hover {{ color: #036 }}</style></head>
<body vocab="http://schema.org/" class="page"><header><nav><ul>{ways}</ul></nav></header>
<main typeof="CollectionPage" resource=""><h1 property="name">{new_word(draw)} {new_word(draw)}</h1>
{body}
</main><footer><ul>{ways}</ul><p>{_words(draw, 2, 4)}</p></footer></body></html>
"""
