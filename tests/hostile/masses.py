"""Pages with very many of one construct, by syntax: each is aimed at a loop that might be quadratic."""

from collections.abc import Callable

XML = ' property="schema:a" datatype="rdf:XMLLiteral"'
JSON_LD = b"<script type=application/ld+json>"
SIGN = b"<a class='vcard u-url' href=/>x</a>"
"""Microformats are only looked for on a page with such a class."""


def many(count: int, one: Callable[[int], str]) -> bytes:
    return "".join([one(number) for number in range(count)]).encode()


def prefixes(at: int) -> str:
    declared = "".join(f"p{at}x{number}: u " for number in range(90))
    return f'<p prefix="{declared}" property="p{at}x1:y">'


def pattern(at: int, count: int) -> str:
    """A pattern that copies a third of all patterns."""
    copies = "".join(f'<a property="rdfa:copy" href="#p{other}"></a>' for other in range(0, count, 3))
    return f'<p resource="#p{at}" typeof="rdfa:Pattern">{copies}<i property="schema:a">x</i></p>'


def patterns(count: int) -> bytes:
    users = many(count, lambda n: f'<p about="#s{n}"><a property="rdfa:copy" href="#p{n}"></a></p>')
    return many(count, lambda n: pattern(n, count)) + users


def overlapping(blocks: int, items: int) -> bytes:
    references = " ".join(f"b{number}" for number in range(blocks))
    inside = b"<i itemprop=a>x</i>" * 2_000 + b"</div>" * blocks
    return (
        many(blocks, lambda n: f"<div id=b{n}>") + inside + f"<p itemscope itemref='{references}'></p>".encode() * items
    )


def ring(n: int) -> str:
    return f"<p id=r{n} itemprop=a itemscope itemref='r{(n + 1) % 3000} r{(n + 7) % 3000}'></p>"


def letters(n: int) -> str:
    return chr(97 + n % 26) + chr(97 + n // 26 % 26)


NAMES = many(600, lambda n: f"p-a{letters(n)} ")

MASSES: dict[str, dict[str, Callable[[], bytes]]] = {
    "rdfa": {
        "types": lambda: b'<p vocab="http://v/" typeof="' + many(20_000, lambda n: f"t{n} ") + b'">',
        "prefixes": lambda: many(1_000, prefixes),
        "vocabularies": lambda: many(30_000, lambda n: f'<p vocab="http://v{n}/" property=a>x</p>'),
        "hanging": lambda: (
            b'<p prefix="a: u" rel="' + many(1_000, lambda n: f"a:r{n} ") + b'">' + b"<i about=x></i>" * 52_000
        ),
        "hanging_in_hanging": lambda: (
            many(400, lambda n: f'<div rel="schema:r{n} schema:s{n}">') + b"<p about=x></p>" * 9_000
        ),
        "lists_of_lists": lambda: b'<p rel="schema:a" inlist>' * 400 + b'<i property="schema:b" inlist>x</i>' * 52_000,
        "copies_of_copies": lambda: patterns(300),
        "literals_in_literals": lambda: b'<div property="schema:a">' * 500 + b"words " * 100_000,
        "markup_in_markup": lambda: (
            b'<div property="schema:a" datatype="rdf:XMLLiteral"><b>' * 150 + b"<i>x</i>" * 20_000
        ),
        "html_in_html": lambda: b'<div property="schema:a" datatype="rdf:HTML">' * 400 + b"<i>x</i>" * 150_000,
        "comments_in_html": lambda: b'<div property="schema:a" datatype="rdf:HTML">' * 400 + b"<!---->" * 150_000,
        "namespaces_of_markup": lambda: (
            many(300, lambda n: f"<div {' '.join(f'xmlns:a{n}x{m}=u' for m in range(300))}{XML}>") + b"x"
        ),
        "roles": lambda: b'<p role="' + many(3_000, lambda n: f"r{n} ") + b'">x</p>',
        "long_name": lambda: b'<p prefix="a: http://a/" property="a:' + b"x" * 3_000_000 + b'">y</p>',
    },
    "json-ld": {
        "scripts": lambda: (JSON_LD + b"{'a':</script>") * 10_000,
        "broken_strings": lambda: JSON_LD + b"{" + b'"\\' * 100_000,
        "broken_strings_guessed_at": lambda: JSON_LD + b"{" + b'"\\' * 60_000,
        "commas": lambda: JSON_LD + b"[" + b",/**/" * 52_000,
        "roots": lambda: JSON_LD + b"{}}" * 52_000,
        "keys": lambda: JSON_LD + b'{"@context":{"@vocab":"http://v/"}' + many(80_000, lambda n: f',"k{n}":1') + b"}",
        "contexts": lambda: JSON_LD + b"[" + b'{"@context":{"a":"http://b/"},"a":1},' * 40_000 + b"{}]",
        "named_graphs": lambda: JSON_LD + b"[" + b'{"@graph":[{"http://p/":[{},{}]}]},' * 30_000 + b"{}]",
    },
    "microdata": {
        "references_to_all": lambda: (
            b"<p itemscope itemref=all></p>" * 2_000 + b"<div id=all>" + b"<i itemprop=a>x</i>" * 20_000
        ),
        "references_that_overlap": lambda: overlapping(400, 500),
        "rings": lambda: many(3_000, ring) + b"<p itemscope itemref=r0>",
        "items_in_items": lambda: (
            b"<div itemscope>" + b"<div itemprop=a itemscope>" * 500 + b"<i itemprop=b>x</i>" * 52_000
        ),
        "texts_in_texts": lambda: b"<div itemscope>" + b"<div itemprop=a>" * 500 + b"words " * 150_000,
        "names": lambda: b"<div itemscope><i itemprop='" + many(100_000, lambda n: f"n{n} ") + b"'>x",
        "types": lambda: b"<p itemscope itemtype='" + many(52_000, lambda n: f"http://t/{n} ") + b"'>",
    },
    "microformats": {
        "items_in_items": lambda: SIGN + b"<div class='h-entry p-x'>" * 500 + b"words " * 100_000,
        "markup_in_markup": lambda: (
            SIGN + b"<div class=h-entry>" + b"<div class=e-content>" * 500 + b"<i>x</i>" * 150_000
        ),
        "markup_in_items": lambda: SIGN + b"<div class='h-entry e-content'>" * 500 + b"<i>x</i>" * 150_000,
        "names_of_one": lambda: SIGN + b"<div class=h-card><p class='" + NAMES + b"'>" + b"<i>x</i>" * 150_000,
        "names_of_each": lambda: (
            SIGN + b"<div class=h-card>" + (b"<div class='" + NAMES + b"'>") * 100 + b"<i>x</i>" * 50_000
        ),
        "names_of_an_image": lambda: (
            SIGN + b"<div class=h-card><img class='" + NAMES.replace(b"p-", b"u-") + b"' src=a alt='" + b"b" * 900_000
        ),
        "includes": lambda: (
            SIGN
            + b"<div class=vcard itemref='"
            + many(50_000, lambda n: f"i{n} ")
            + b"'>x</div>"
            + many(50_000, lambda n: f"<b id=i{n}></b>")
        ),
        "includes_that_overlap": lambda: (
            SIGN
            + many(300, lambda n: f"<div class=vcard itemref=i{n}>x</div>")
            + many(300, lambda n: f"<div id=i{n}>")
            + b"<i>x</i>" * 100_000
        ),
        "names_in_names": lambda: SIGN + b"<div class=h-card>" + b"<div class=p-name>" * 500 + b"words " * 100_000,
        "classes": lambda: SIGN + b"<p class='" + many(100_000, lambda n: f"h-x{letters(n)} ") + b"'>x</p>",
        "properties": lambda: (
            b"<div class=h-card><p class='" + many(52_000, lambda n: f"p-a{letters(n)} ") + b"'>x</p>"
        ),
        "flat": lambda: SIGN + b"<p class=h-card>x</p>" * 30_000,
        "values": lambda: SIGN + b"<div class=h-event><p class=dt-start>" + b"<i class=value>10:00</i>" * 40_000,
        "relations": lambda: SIGN + b"<div class=h-entry>" + b"<a rel='tag bookmark me' href=/x>y</a>" * 30_000,
        "old_and_new": lambda: (
            SIGN + b"<div class='vcard hentry vevent'>" * 400 + b"<i class='fn summary url'>x</i>" * 9_000
        ),
        "images": lambda: SIGN + b"<div class='h-card'>" * 400 + b"<img src=a alt=b>" * 9_000,
    },
    "opengraph": {
        "images": lambda: b"<meta property=og:image content=/a.png><meta property=og:image:width content=1>" * 30_000,
        "deep_names": lambda: b"<meta property='og" + b":a" * 200_000 + b"' content=x>",
    },
    "twitter": {"cards": lambda: many(52_000, lambda n: f"<meta name='twitter:a{n}' content=x>")},
    "dublin-core": {
        "schemas": lambda: many(
            30_000, lambda n: f"<link rel=schema.d{n} href='http://d/{n}#'><meta name=d{n}.x content=y>"
        ),
        "same": lambda: b"<meta name=DC.title content=x>" * 52_000,
    },
}

HOLDS: dict[str, str] = {}
"""Those that are not bounded yet, as "syntax mass", and the reason."""
