"""Properties of the facts of any page: pages are generated at random from the attributes of each syntax.

`fuzz.sound` does the checks: nothing is raised, a strict parser reads the facts as N-Triples, each has its place, a
second reading finds the same, and no blank node keeps the name that the page gave it.
"""

import json
from collections.abc import Callable
from html import escape

import pytest
from fuzz.sound import CAPTURE, check_page, check_reader, page_address, read, survey_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.extract.meta_tags import OPEN_GRAPH, TWITTER
from gossamer.extract.page import READERS, extract
from gossamer.extract.source import SYNTAXES
from gossamer.extract.terms import HTML_LITERAL, XML_LITERAL

Element = tuple[str, dict[str, str], list["Element | str"]]

ADDRESSES = st.sampled_from(
    ["", "#", "#a", "a b", "/x?y=1", "http://e.example/", "http://e.example/ü<>", "//", "javascript:1", "mailto:a@b",
     "http://[", "_:", "_:b", "[_:b]", "[]", "[a:b]", "a:b", "%", "%zz", "\x00", "http://e.example/\ud7ff", "x" * 9000]
)  # fmt: skip
MOMENTS = st.sampled_from(
    ["2001", "2001-02", "2001-02-30", "2001-02-03T04:05:06Z", "25:00", "P1Y", "P", "-1", "3pm", ""]
)
LANGUAGES = st.sampled_from(["en", "", "de-AT", "x" * 70, "en us", "ü", "i-klingon"])
WORDS = st.text(max_size=12) | st.sampled_from(['"', "\\", "\n\r\t", "\u2028", "\x7f\x85", "a\u0000b", "  ", "🙂"])


def named(*names: str) -> st.SearchStrategy[str]:
    """Several names in one attribute, some of them invalid."""
    return st.lists(st.sampled_from(names) | st.text(max_size=6), max_size=3).map(" ".join)


TERMS = named("name", "schema:name", "dc:title", "a:b", "_:p", "http://v.example/p", "rdfa:copy", "license", ":next")
KINDS = named(
    "Person", "schema:Thing", "rdfa:Pattern", "xsd:date", "rdf:XMLLiteral", "rdf:HTML", "http://t.example/T", "_:t"
)
CLASSES = named("h-card", "h-entry", "h-adr", "p-name", "u-url", "u-photo", "dt-start", "e-content", "vcard", "fn",
                "value", "hentry", "entry-title", "value-title", "p-", "h-", "h-x-y", "bday")  # fmt: skip
IDS = named("a", "b", "c")
FLAG = st.just("")

ATTRIBUTES: dict[str, dict[str, st.SearchStrategy[str]]] = {
    "rdfa": {
        "about": ADDRESSES, "resource": ADDRESSES, "href": ADDRESSES, "src": ADDRESSES, "property": TERMS, "rel": TERMS,
        "rev": TERMS, "typeof": KINDS, "datatype": KINDS, "content": WORDS, "datetime": MOMENTS, "inlist": FLAG,
        "vocab": ADDRESSES, "lang": LANGUAGES, "xml:lang": LANGUAGES, "role": named("main", "a:b"), "id": IDS,
        "prefix": named("a:", "http://p.example/#", "_:", "dc:"), "xmlns:a": ADDRESSES,
    },
    "microdata": {
        "itemscope": FLAG, "itemtype": named("http://schema.org/Person", "http://t.example/a#b", "x"),
        "itemid": ADDRESSES, "itemprop-reverse": named("name", "a:b"),
        "itemprop": named("name", "url", "http://p.example/q", "a:b"), "itemref": IDS, "id": IDS, "href": ADDRESSES,
        "src": ADDRESSES, "content": WORDS, "datetime": MOMENTS, "value": WORDS, "lang": LANGUAGES,
    },
    "microformats": {
        "class": CLASSES, "href": ADDRESSES, "src": ADDRESSES, "alt": WORDS, "title": WORDS, "datetime": MOMENTS,
        "rel": named("me", "tag", "bookmark"), "value": WORDS, "id": IDS, "lang": LANGUAGES,
    },
    "opengraph": {
        "property": named("og:title", "og:image", "og:image:width", "article:tag", "fb:app_id", "og:"),
        "content": WORDS | ADDRESSES,
        "name": named("og:title", "og:url"), "prefix": named("og:", "http://ogp.me/ns#"), "lang": LANGUAGES,
    },
    "twitter": {
        "name": named("twitter:card", "twitter:image", "twitter:", "twitter:a b"), "property": named("twitter:site"),
        "content": WORDS | ADDRESSES,
    },
    "dublin-core": {
        "name": named("DC.title", "dcterms.created", "DC.date.x", "DC.", "dc.x y"), "content": WORDS | MOMENTS,
        "scheme": named("URI", "DCTERMS.W3CDTF"), "rel": named("schema.DC", "DC.relation", "schema.dcterms"),
        "href": ADDRESSES, "lang": LANGUAGES,
    },
}  # fmt: skip
TAGS = {
    "rdfa": ("div", "span", "a", "img", "p", "time", "ol", "b"),
    "microdata": ("div", "span", "a", "img", "time", "data", "meter", "object", "link", "meta"),
    "microformats": ("div", "span", "a", "img", "time", "abbr", "object", "area", "data", "p"),
}
CARDS = tuple(f"<{prefix}:" for prefix in (*OPEN_GRAPH, *TWITTER))
MARKUP_LITERALS = (f"^^{HTML_LITERAL}", f"^^{XML_LITERAL}")
MARKUP = tuple(name for name in SYNTAXES if name != "json-ld")


def elements(name: str) -> st.SearchStrategy[Element]:
    tags = st.sampled_from(TAGS.get(name, ("meta", "link")))
    attributes = st.fixed_dictionaries({}, optional=ATTRIBUTES[name])

    def around(inner: st.SearchStrategy[Element]) -> st.SearchStrategy[Element]:
        return st.tuples(tags, attributes, st.lists(inner | WORDS, max_size=4))

    return st.recursive(st.tuples(tags, attributes, st.just([])), around, max_leaves=10)


def written(element: Element | str, reverse: bool = False, more: str = "") -> str:
    """The element as markup; `reverse` reverses the attributes, `more` adds some to every element."""
    if isinstance(element, str):
        return escape(element)
    tag, attributes, inside = element
    order = list(attributes.items())
    listed = "".join(f' {key}="{escape(value)}"' for key, value in (order[::-1] if reverse else order))
    within = "".join(written(one, reverse, more) for one in inside)
    return f"<{tag}{listed}{more}>" + ("" if tag in ("meta", "link", "img", "area") else f"{within}</{tag}>")


def page(*parts: str) -> bytes:
    return f"<!DOCTYPE html><html><head></head><body>{''.join(parts)}</body></html>".encode("utf-8", "replace")


def pages(name: str) -> st.SearchStrategy[list[Element]]:
    return st.lists(elements(name), min_size=1, max_size=4)


def found_in(name: str, body: bytes) -> list[str]:
    """The facts; literals that are markup contain all attributes as written, so only their presence is compared."""
    facts = read(name, body).triples
    return sorted(f"{one} {two} {'markup' if three.endswith(MARKUP_LITERALS) else three}" for one, two, three in facts)


def for_each_markup(check: Callable[[str, list[Element]], None]) -> Callable[[str], None]:
    def check_syntax(name: str) -> None:
        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        @given(pages(name))
        def check_drawn(drawn: list[Element]) -> None:
            check(name, drawn)

        check_drawn()

    return pytest.mark.parametrize("name", MARKUP)(check_syntax)


@for_each_markup
def test_facts_of_random_pages_are_sound(name: str, drawn: list[Element]) -> None:
    body = page(*map(written, drawn))
    check_reader(name, body)
    check_page(body)


@for_each_markup
def test_the_order_of_attributes_is_irrelevant(name: str, drawn: list[Element]) -> None:
    assert found_in(name, page(*map(written, drawn))) == found_in(name, page(*[written(one, True) for one in drawn]))


@for_each_markup
def test_attributes_of_no_syntax_are_ignored(name: str, drawn: list[Element]) -> None:
    more = ' data-property="x" aria-label="y" style="z" onclick="1"'
    assert found_in(name, page(*map(written, drawn))) == found_in(
        name, page(*[written(one, False, more) for one in drawn])
    )


@for_each_markup
def test_markup_of_no_syntax_around_the_facts_is_ignored(name: str, drawn: list[Element]) -> None:
    facts = [written(one) for one in drawn]
    around = '<!-- c --><nav data-x="1"><p>words <b>and</b> <i>more</i></p></nav>'
    assert found_in(name, page(*facts)) == found_in(name, page(around, *facts, around))


@for_each_markup
def test_a_page_truncated_anywhere_is_still_sound(name: str, drawn: list[Element]) -> None:
    body = page(*map(written, drawn))
    for part in range(1, 4):
        check_reader(name, body[: len(body) * part // 4])


KEYS = st.sampled_from(
    ["@context", "@id", "@type", "@value", "@list", "@set", "@graph", "@reverse", "@language", "@index", "@included",
     "@nest", "@json", "@vocab", "@base", "@container", "@import", "@direction", "@version", "name", "url", "image",
     "schema:name", "http://p.example/q", "_:p", "", "@", "@none"]
) | st.text(max_size=4)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | ADDRESSES | LANGUAGES
    | st.sampled_from(["https://schema.org", "http://schema.org/", "@id", "@vocab", "@list", "@json"])
)  # fmt: skip
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=14
)


def scripts(*texts: str) -> bytes:
    return page(*[f'<script type="application/ld+json">{text.replace("</", "<")}</script>' for text in texts])


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_facts_of_random_scripts_are_sound(value: object) -> None:
    check_reader("json-ld", scripts(json.dumps(value)))
    check_page(scripts(json.dumps(value, ensure_ascii=False)))


@settings(max_examples=100, deadline=None)
@given(JSON, st.text(max_size=6), st.integers(0, 99))
def test_a_script_with_an_error_in_the_middle_is_still_sound(value: object, stray: str, percent: int) -> None:
    text = json.dumps({"@context": "https://schema.org", "name": value})
    at = len(text) * percent // 100
    check_reader("json-ld", scripts(text[:at] + stray + text[at:], text[:at]))


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_a_broken_script_does_not_affect_the_next(value: object) -> None:
    good = '{"@id":"http://good.example/","http://p.example/q":"kept"}'
    kept = '<http://good.example/> <http://p.example/q> "kept"'
    body = scripts(json.dumps(value)[:-1] + "{", good)
    assert kept in found_in("json-ld", body)


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_markup_around_scripts_is_ignored(value: object) -> None:
    script = scripts(json.dumps(value)).decode("utf-8", "replace")
    assert found_in("json-ld", script.encode()) == found_in(
        "json-ld", script.replace("<body>", "<body><p>a<i>b</i><!-- c -->").encode()
    )


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.tuples(*[elements(name) for name in MARKUP]))
def test_syntaxes_together_find_the_same_as_each_alone(drawn: tuple[Element, ...]) -> None:
    body = page(*map(written, drawn), '<script type="application/ld+json">{"http://p.example/q":{}}</script>')
    together, address = check_page(body), page_address()
    for bit, name in enumerate(SYNTAXES):
        alone = extract(survey_of(body), address, CAPTURE, body, address, syntaxes=(name,)).triples
        if name == "rdfa":  # RDFa leaves undeclared cards to their own readers
            alone = [fact for fact in alone if not fact.predicate.startswith(CARDS)]
        assert sum(1 for bits in together.stated_in if bits >> bit & 1) == len(alone), name


def test_every_extractor_has_properties() -> None:
    assert set(READERS) <= {*ATTRIBUTES, "json-ld"}
