"""G1 to G9 and X4: structured data with remote references, cycles, or endless content."""

from collections.abc import Callable

from tests.hostile.behaviour import Request, Write, behaviour, makes, page, sends, whole
from tests.hostile.masses import MASSES, many

LD = b'<script type="application/ld+json">'
END = b"</script>"
HEAD = b"<title>Facts</title><p>words</p>"

for _label, _context in (
    ("remote", "http://m5-xhtml-file.test/context.jsonld"),
    ("private", "http://10.0.0.1/context.jsonld"),
    ("file", "file:///etc/passwd"),
    ("redirecting", "http://d6-redirect-301.test/"),
):
    sends(
        f"G1-context-{_label}",
        whole(HEAD + LD + b'{"@context":["%s","http://schema.org"],"name":"x"}' % _context.encode() + END),
        says=f"a JSON-LD context that is {_label}",
    )
sends(
    "G1-vocabulary",
    whole(HEAD + b'<p vocab="http://169.254.169.254/" profile="http://10.0.0.1/" typeof=T property=p>x'),
    says="an RDFa vocabulary at a private IP address",
)
sends(
    "G1-import",
    whole(HEAD + LD + b'{"@context":{"@version":1.1,"@import":"http://127.0.0.1/c"},"a":1}' + END),
    says="@import of a context on this machine",
)

DEEP: dict[str, Callable[[], bytes]] = {
    "G2-context-cycle": lambda: b'{"@context":{"a":"b","b":"a","c":{"@id":"c","@context":{"@id":"c"}}},"a":1}',
    "G2-nested-contexts": lambda: b'{"@context":{"x":"http://x/"},"x":' * 10_000 + b"1" + b"}" * 10_000,
    "G2-scoped-contexts": lambda: (
        b'{"@context":' + b'{"a":{"@id":"http://a/","@context":' * 5_000 + b"{}" + b"}}" * 5_000 + b',"a":{}}'
    ),
    "G2-nested-arrays": lambda: b"[" * 100_000 + b"]" * 100_000,
    "G2-nan": lambda: b'{"@context":"http://schema.org","price":NaN,"x":1e999999,"y":-Infinity}',
    "G2-duplicate-keys": lambda: b"{" + b'"@id":"http://a/",' * 100_000 + b'"@id":"b"}',
    "G2-chained-terms": lambda: (
        b'{"@context":{"@vocab":"http://v/"'
        + many(16_000, lambda n: f',"t{n}":"t{n + 1}:x"')
        + b',"t16000":"http://end/"},"t0":"x"}'
    ),
    "G2-many-types": lambda: (
        b'{"@context":{'
        + b",".join(b'"T%d":{"@id":"http://t/%d","@context":{"a":"http://a/%d"}}' % (n, n, n) for n in range(5_000))
        + b'},"@type":['
        + b",".join(b'"T%d"' % n for n in range(5_000))
        + b'],"a":1}'
    ),
    "G2-long-number": lambda: b'{"http://a/":' + b"9" * 1_000_000 + b"}",
    "G2-surrogates": lambda: b'{"http://a/":"' + b"\\ud800" * 100_000 + b'"}',
    "G3-list-items": lambda: (
        b'{"http://p/":{"@list":[' + b",".join(b'{"@id":"http://i/%d"}' % n for n in range(400_000)) + b"]}}"
    ),
    "G3-blank-nodes": lambda: b'{"http://p/":[' + b"{}," * 1_000_000 + b"{}]}",
    "G3-long-literal": lambda: b'{"http://p/":"' + b"x" * 10_000_000 + b'"}',
    "G3-included": lambda: b'{"@id":"http://a/","@included":' * 3_000 + b"{}" + b"}" * 3_000,
    "G4-odd-names": lambda: (
        b'{"@id":"http://a/> <http://evil/","http://p/ q":"x","javascript:alert(1)":"y","http://p/\\n":{"@id":"'
        + b"a" * 100_000
        + b'"}}'
    ),
    "G8-poison": lambda: (
        b'{"@graph":['
        + b",".join(
            b'{"@id":"_:n%d","http://knows/":[%s]}'
            % (one, b",".join(b'{"@id":"_:n%d"}' % other for other in range(60) if other != one))
            for one in range(60)
        )
        + b"]}"
    ),
}
for _name, _make in DEEP.items():
    makes(_name, lambda make=_make: HEAD + LD + make() + END, f"JSON-LD: {_name[3:].replace('-', ' ')}")

sends(
    "G5-prefixes",
    whole(
        HEAD
        + b'<div prefix="a: b: b: a: _: http://x/ xsd: http://evil/" typeof="a:T"><p property="_:p b:q xsd:s">x</p>'
    ),
    says="a cycle of prefixes, _: and xsd: redefined",
)
sends("G6-blank-label", whole(HEAD + b'<p about="_:a" property="http://p/">x</p>'), says="the blank node _:a")
sends(
    "G7-about-others",
    whole(
        HEAD
        + LD
        + b'{"@context":{"owl":"http://www.w3.org/2002/07/owl#"},"@id":"http://books.demo.test/",'
        + b'"owl:sameAs":[{"@id":"http://evil/"}],"http://schema.org/name":"stolen"}'
        + END
    ),
    says="facts about another site's pages",
)


@behaviour("G9-changing-facts")
async def changing_facts(write: Write, request: Request) -> None:
    """Different facts at each fetch."""
    write.write(page("Facts", body=f'<i vocab="http://schema.org/" typeof=Thing property=name>{request.times}</i>'))


CHOSEN = {
    "rdfa": ("prefixes", "hanging", "copies_of_copies", "html_in_html", "markup_in_markup", "long_name"),
    "json-ld": ("scripts", "keys", "contexts", "named_graphs", "broken_strings"),
    "microdata": ("references_to_all", "references_that_overlap", "rings", "items_in_items"),
    "microformats": ("markup_in_markup", "names_of_each", "includes_that_overlap", "items_in_items"),
    "opengraph": ("images", "deep_names"),
    "dublin-core": ("schemas",),
}
"""Of the masses, those that are or were the most expensive."""
for _syntax, _names in CHOSEN.items():
    for _name in _names:
        makes(
            f"G3-{_syntax}-{_name.replace('_', '-')}",
            lambda make=MASSES[_syntax][_name]: HEAD + make(),
            f"{_syntax}: {_name.replace('_', ' ')}",
        )
makes(
    "X4-chained-terms",
    lambda: (
        HEAD
        + LD
        + b'{"@context":{'
        + b",".join(b'"a%d":{"@id":"a%d:x"}' % (n, n + 1) for n in range(16_000))
        + b'},"a0":"x"}'
        + END
    ),
    "a context of 16,000 terms, each defined by the next",
)
makes(
    "X4-chained-prefixes",
    lambda: (
        HEAD
        + LD
        + b'{"@context":{'
        + b",".join(b'"p%d":{"@id":"p%d:","@prefix":true}' % (n, n + 1) for n in range(16_000))
        + b'},"p0:a":{"@type":"p0:T"}}'
        + END
    ),
    "16,000 prefixes, each written with the next",
)
