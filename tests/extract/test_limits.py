# ruff: noqa: E501
"""A limit that is reached leaves facts out; it never adds a fact that the page does not state."""

import sys

import pytest
from tests.extract.pages import ADDRESS

from gossamer.extract import meta_tags as tags
from gossamer.extract import microdata, terms
from gossamer.extract.jsonld import local as jsonld_local
from gossamer.extract.jsonld import reader as jsonld
from gossamer.extract.microformats import rdf as microformats_rdf
from gossamer.extract.microformats import reader as microformats
from gossamer.extract.microformats import values as microformats_names
from gossamer.extract.page import extract
from gossamer.extract.rdfa import entailment, scope
from gossamer.extract.rdfa import reader as rdfa
from gossamer.extract.source import HostLanguage, Source
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.parse.xml import parse_xml
from gossamer.values.page import Triple
from gossamer.values.url import Url

S = "http://schema.org/"
V = f'vocab="{S}"'
LONG = "x" * 9000


def facts(page: str, host: HostLanguage = HostLanguage.HTML) -> list[Triple]:
    body = page.encode()
    survey = scan_html(parse_html(body).tree).survey() if host is HostLanguage.HTML else parse_xml(body)
    assert survey is not None
    return extract(survey, Url(ADDRESS), 1, body, host=host, reads_roles=True, is_thorough=True).triples


def is_within(few: list[Triple], many: list[Triple]) -> bool:
    """Whether the blank nodes of `few` can be renamed so that all its facts are in `many`."""
    every = set(many)

    def fits(at: int, names: dict[str, str]) -> bool:
        if at == len(few):
            return True
        for other in every:
            renamed = dict(names)
            if all(_matches(one, two, renamed) for one, two in zip(few[at], other, strict=True)) and fits(
                at + 1, renamed
            ):
                return True
        return False

    return fits(0, {})


def _matches(one: str, other: str, names: dict[str, str]) -> bool:
    if one[0] != "_" or other[0] != "_":
        return one == other
    if one not in names and other in names.values():
        return False
    return names.setdefault(one, other) == other


def card(name: str, inside: str = "") -> str:
    return f'<div class="h-card"><b class="p-name">{name}</b> and more {inside}</div>'


PREFIXES = " ".join(f"p{n}: http://p/{n}#" for n in range(4))
OG = '<meta property="og:image" content="/1.png"><meta property="{names}" content="{two}">'
WIDTH = '<meta property="og:image:width" content="7">'
LIST = f'<div {V}><b property="l" inlist>1</b><b property="l" inlist>2</b><b property="l" inlist>3</b></div>'
COPIES = (
    f'<div {V}><p resource="#t"><link property="rdfa:copy" href="#p"><b property="name">T</b></p>'
    '<p resource="#p" typeof="rdfa:Pattern"><b property="a">1</b><b property="b">2</b></p></div>'
)
ITEMS = (
    '<div class="h-entry"><p class="p-author h-card"><b class="p-name">A</b> words</p>'
    '<p class="p-author h-card"><b class="p-name">B</b> words</p></div>'
)
INCLUDING = '<p class="vcard"><a class="include" href="#i"></a></p><p id="i"><b class="fn">Fred</b></p>'
JSON_LD = '<script type="application/ld+json">{"@context": "https://schema.org", %s}</script>'

LIMITS = {
    "prefixes": (scope, "MOST_PREFIXES", 2, f'<p prefix="{PREFIXES}"><b property="p0:x p3:x">x</b><a rel="p0:y" href="p3:y">'
                 '</a><i about="[p3:z]" property="p0:n">n</i><u property="p0:d" datatype="p3:t">1</u></p>'),
    "prefixes declared again": (scope, "MOST_PREFIXES", 1, '<div prefix="a: http://1/"><p prefix="b: http://2/ a: http://3/">'
                                '<b property="a:x">x</b></p></div>'),
    "names": (scope, "MOST_NAMES", 1, f'<p {V} typeof="A B" property="schema:a schema:b">x</p>'),
    "letters of a page": (rdfa, "MOST_CHARACTERS", 60, LIST + f'<p {V}><b property="a">{"w" * 50}</b></p>'),
    "markup": (rdfa, "MOST_MARKUP", 60, f'<p {V}><b property="a" datatype="rdf:HTML"><i>1</i></b><b property="l" inlist '
               'datatype="rdf:HTML"><i>1</i><i>2</i><i>3</i><i>4</i></b></p>'),
    "copies": (rdfa, "MOST_COPIES", 2, COPIES),
    "letters of cards": (tags, "MOST_CHARACTERS", 5, OG.format(names="og:image", two="/2.png") + WIDTH),
    "letters of items": (microdata, "MOST_CHARACTERS", 5, f'<p itemscope itemtype="{S}T"><b itemprop="a">123456</b><b '
                         'itemprop="b">7</b></p>'),
    "steps": (microdata, "MOST_STEPS", 1, f'<p itemscope itemtype="{S}T" itemref="r"><b itemprop="a">1</b></p><p id="r">'
              '<b itemprop="b">7</b><b itemprop="c">8</b></p>'),
    "texts in texts": (microdata, "DEEPEST", 1, f'<p itemscope itemtype="{S}T"><b itemprop="a">1<i itemprop="b">2</i></b></p>'),
    "items": (microformats, "MOST_ITEMS", 2, ITEMS),
    "includes": (microformats, "MOST_INCLUDED", 1, INCLUDING),
    "letters of microformats": (microformats, "MOST_CHARACTERS", 12, card("Ann") + card("Bo", '<a class="u-url">http://u/</a>')),
    "class names": (microformats_names, "MOST_NAMES", 2, card("Ann", '<p class="a b p-org h-card"><i class="p-name">Z</i></p>')),
    "script size": (jsonld, "LARGEST_SCRIPT", 40, JSON_LD % '"name": "x"' + JSON_LD % '"a": {"b": "c"}'),
    "script depth": (jsonld_local, "DEEPEST", 2, JSON_LD % '"a": {"b": {"c": {"d": "e"}}}'),
    "script parts": (jsonld, "MOST_PARTS", 1, JSON_LD % '"@graph": [{"a": "1"}, {"@id": "#x", "@reverse": 5}, {"b": "2"}]'),
    "script members": (jsonld, "MOST_MEMBERS", 1, JSON_LD % '"@reverse": 5, "a": "1", "b": "2"'),
    "context work": (jsonld_local, "MOST_CONTEXT_WORK", 3, '<script type="application/ld+json">{"@context": {"a": "http://a/",'
                     '"b": "http://b/"}, "a": 1, "b": {"@context": {"a": "http://c/"}, "a": 2}}</script>'),
    "language": (terms, "_LONGEST_TAG", 2, f'<p {V} lang="en-GB"><b property="a">1</b><i property="l" inlist>2</i></p>'
                 f'<p lang="en-GB" itemscope itemtype="{S}T"><b itemprop="b">3</b></p>'
                 '<meta lang="en-GB" property="og:title" content="t"><meta lang="en-GB" name="DC.title" content="t">'),
}  # fmt: skip
"""Module, limit, the value it is set to, and a page that reaches it."""


@pytest.mark.parametrize("name", LIMITS)
def test_facts_within_a_limit_are_also_stated_without_the_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, limit, value, page = LIMITS[name]
    whole = facts(page)
    monkeypatch.setattr(module, limit, value)
    for cached in (terms._suffix, scope.terms_named, microformats_names._remembered):
        cached.cache_clear()
    cut = facts(page)
    monkeypatch.undo()
    for cached in (terms._suffix, scope.terms_named, microformats_names._remembered):
        cached.cache_clear()
    assert len(cut) < len(whole), "the limit was not reached"
    assert is_within(cut, whole), [fact for fact in cut if fact not in whole]


LONG_NAMES = {
    "about": f'<p {V}><b about="/{{}}" property="name">x</b></p>',
    "resource": f'<p {V}><b resource="/{{}}" property="a">x</b><b resource="/{{}}" typeof="T"><i property="n">y</i></b></p>',
    "rel": f'<p {V}><a rel="a" href="/{{}}"><i property="n">z</i></a></p>',
    "vocabulary": f'<div {V}><p vocab="http://v/{{}}/" typeof="T"><b property="name">x</b></p></div>',
    "prefix": '<p prefix="p: http://p/{}"><b property="p:x">x</b><a rel="schema:a" resource="p:y"></a></p>',
    "datatype": f'<p {V}><b property="a" datatype="http://t/{{}}">1</b><b property="b" datatype="{{}}">2</b></p>',
    "list": f'<p {V}><a rel="l" inlist href="/{{}}"></a><a rel="l" inlist href="/2"></a></p>',
    "copy": COPIES.replace('resource="#t"', 'resource="#{}"'),
    "itemid": f'<p itemscope itemtype="{S}T" itemid="/{{}}"><b itemprop="a">1</b></p>',
    "itemtype": f'<div itemscope itemtype="{S}T"><p itemprop="p" itemscope itemtype="http://o/{{}} {S}U"><b itemprop="a">1</b>'
    "</p></div>",
    "itemprop": f'<p itemscope itemtype="{S}T"><a itemprop="a" href="/{{}}">1</a><b itemprop="http://b/{{}}">2</b></p>',
    "image": OG.format(names="og:image", two="/{}") + '<meta property="og:image:secure_url" content="/3.png">' + WIDTH,
    "card": '<div class="h-card"><a class="u-uid" href="/{}">x</a><a class="p-name u-url" href="/{}">Ann</a></div>',
    "scheme": '<link rel="schema.X" href="http://x/{}"><meta name="X.a" content="1"><link rel="DC.relation" href="/{}">',
}


@pytest.mark.parametrize("name", LONG_NAMES)
def test_a_name_that_is_too_long_is_not_confused_with_another(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = LONG_NAMES[name].replace("{}", LONG)
    cut = facts(page)
    for module in (terms, scope, microdata, tags, microformats_rdf):
        monkeypatch.setattr(module, "LONGEST_IRI", 1 << 20)
    monkeypatch.setattr(scope, "_SHORT", 1 << 20)
    scope.terms_named.cache_clear()
    whole = facts(page)
    monkeypatch.undo()
    scope.terms_named.cache_clear()
    assert len(cut) < len(whole), "the limit was not reached"
    assert is_within(cut, whole), [fact for fact in cut if fact not in whole]


def test_without_its_base_an_element_states_nothing_with_relative_iris() -> None:
    page = f'<r xml:base="http://a/{LONG}"><p about="b" property="schema:n">x</p><p about="http://c/" property="schema:n">y</p></r>'
    stated = [fact for fact in facts(page, HostLanguage.XML) if fact.predicate == f"<{S}n>"]
    assert stated == [Triple("<http://c/>", f"<{S}n>", '"y"')]


@pytest.mark.parametrize(
    "page",
    [
        LIST,
        COPIES,
        ITEMS,
        OG.format(names="og:image", two="/2.png") + WIDTH,
        f'<p itemscope itemtype="{S}T"><b itemprop="a">1</b><i itemprop="b" itemscope><u itemprop="c">2</u></i></p>',
        JSON_LD % '"a": {"@list": ["1", "2", {"b": "3"}]}',
        '<i role="a b"></i><i role="c"></i>',
        '<meta name="DC.title" content="a"><meta name="DC.date" content="b">',
    ],
)
def test_any_smaller_number_of_facts_is_a_subset_of_all(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = facts(page)
    for most in range(1, len(whole)):
        monkeypatch.setattr(sys.modules["gossamer.extract.page"], "Source", _with_at_most(most))
        assert is_within(facts(page), whole), most


def _with_at_most(most: int) -> object:
    def made(*given: object, **named: object) -> Source:
        return Source(*given, at_most=most, **named)  # type: ignore[arg-type]

    return made


def test_conclusions_cut_at_a_limit_are_all_true(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = [Triple("<urn:a>", entailment.RDF_TYPE, "<urn:1>"), Triple("<d>", entailment.USES_VOCABULARY, "<urn:v>")]
    chain = [Triple(f"<urn:{n}>", entailment.SUB_CLASS, f"<urn:{n + 1}>") for n in range(1, 9)]
    whole = entailment.expanded(stated, {"urn:v": chain})
    for limit in ("MOST_ADDED", "MOST_RELATIONS"):
        monkeypatch.setattr(entailment, limit, 3)
        cut = entailment.expanded(stated, {"urn:v": chain})
        monkeypatch.undo()
        assert len(cut) < len(whole) and set(cut) <= set(whole)
